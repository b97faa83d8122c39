"""Loss scaling (NPU1xx): optimizers, managers, and what travels with them."""
