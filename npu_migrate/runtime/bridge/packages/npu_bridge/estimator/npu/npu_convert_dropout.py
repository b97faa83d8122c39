"""Stand-in for the vendor's module of this name: importing it would make Keras drop on the NPU.

Here Keras's own Dropout does the same, so there is nothing to replace.
"""
