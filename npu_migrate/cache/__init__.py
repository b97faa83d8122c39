"""Remembers what checks found: the same check of the same files need not look at them again."""
