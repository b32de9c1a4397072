"""The version, which saved models are marked with."""

__version__ = "0.1.0.dev0"
