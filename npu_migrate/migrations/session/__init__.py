"""Sessions, Estimators and Keras (NPU4xx), with the precision that they compute in."""
