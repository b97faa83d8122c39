"""The stand-in for the vendor's packages, for machines without an NPU."""
