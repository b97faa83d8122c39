"""What the tool costs, as ratios: ``python -m benchmarks``."""
