"""The experiments of the paper, run again: ``python -m benchmarks.paper NAME``."""
