"""Our own speed and memory over commits: ``cd benchmarks/asv && asv run``."""
