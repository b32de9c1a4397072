"""Pictures of paths, models and rules, in scikit-learn's Display style."""

from .controllers import ControllerDisplay
from .durations import DurationDisplay
from .history import HistoryDisplay
from .jumps import JumpPathDisplay
from .marginals import MarginalsDisplay
from .overview import SequenceDisplay
from .paths import PathDisplay
from .prevalence import PrevalenceDisplay
from .rules import ExplanationDisplay, RuleCostDisplay
from .segments import SegmentConfusionDisplay
from .style import add_legend, label_colors
from .survival import SurvivalDisplay
from .transitions import TransitionDisplay

__all__ = [
    "ControllerDisplay",
    "DurationDisplay",
    "ExplanationDisplay",
    "HistoryDisplay",
    "JumpPathDisplay",
    "MarginalsDisplay",
    "PathDisplay",
    "PrevalenceDisplay",
    "RuleCostDisplay",
    "SegmentConfusionDisplay",
    "SequenceDisplay",
    "SurvivalDisplay",
    "TransitionDisplay",
    "add_legend",
    "label_colors",
]
