"""Pictures of paths and marginals, in scikit-learn's Display style."""

from .displays import MarginalsDisplay, PathDisplay, add_legend, label_colors

__all__ = ["MarginalsDisplay", "PathDisplay", "add_legend", "label_colors"]
