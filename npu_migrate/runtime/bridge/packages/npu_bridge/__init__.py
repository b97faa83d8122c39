"""Stand-in of npu-migrate for the vendor's package of this name; see npu_migrate.runtime."""
