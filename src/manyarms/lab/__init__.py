"""The lab: studies, their runner, result files, figures, reports, and single runs explained."""

from .arena.arena import Arena, arena, enter
from .arena.page import heat_figure
from .arena.tables import Contest
from .explain.explain import Explanation, explain, explain_result, explain_study
from .figures.figures import difference_figure, growth_figure, regret_figure, save_all
from .pages.report import FINDINGS, Section, file_of, findings, read_results, write_report
from .questions import lower_bound as _lower_bound  # noqa: F401, it adds a study
from .questions.figure_1 import figure_1
from .questions.rates import rates_figure
from .running.bar import run_with_bar
from .running.cluster import cluster_executor
from .running.files import BadFile, CellResult, read_all, read_result, summary
from .running.runner import Progress, plan, run
from .studies.modules import needed_modules
from .studies.study import NAMED_STUDIES, Cell, Study, find_study, named_study, parse_study, read_study, study_names

__all__ = [
    "FINDINGS",
    "NAMED_STUDIES",
    "Arena",
    "BadFile",
    "Cell",
    "CellResult",
    "Contest",
    "Explanation",
    "Progress",
    "Section",
    "Study",
    "arena",
    "cluster_executor",
    "difference_figure",
    "enter",
    "explain",
    "explain_result",
    "explain_study",
    "figure_1",
    "file_of",
    "find_study",
    "findings",
    "growth_figure",
    "heat_figure",
    "named_study",
    "needed_modules",
    "parse_study",
    "plan",
    "rates_figure",
    "read_all",
    "read_result",
    "read_results",
    "read_study",
    "regret_figure",
    "run",
    "run_with_bar",
    "save_all",
    "study_names",
    "summary",
    "write_report",
]
