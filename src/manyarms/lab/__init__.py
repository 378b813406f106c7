"""The lab: studies, their runner and result files."""

from .bar import run_with_bar
from .cluster import cluster_executor
from .figure_1 import figure_1
from .files import BadFile, CellResult, read_result, summary
from .runner import Progress, plan, run
from .study import Cell, Study, find_study, named_study, parse_study, read_study, study_names

__all__ = [
    "BadFile",
    "Cell",
    "CellResult",
    "Progress",
    "Study",
    "cluster_executor",
    "figure_1",
    "find_study",
    "named_study",
    "parse_study",
    "plan",
    "read_result",
    "read_study",
    "run",
    "run_with_bar",
    "study_names",
    "summary",
]
