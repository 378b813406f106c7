"""The lab: studies, their runner, result files, figures, reports, and single runs explained."""

from .arena.arena import Arena as Arena
from .arena.arena import arena as arena
from .arena.arena import enter as enter
from .arena.page import heat_figures as heat_figures
from .arena.tables import Contest as Contest
from .explain.explain import Explanation as Explanation
from .explain.explain import explain as explain
from .explain.explain import explain_result as explain_result
from .explain.explain import explain_study as explain_study
from .figures.figures import difference_figure as difference_figure
from .figures.figures import growth_figure as growth_figure
from .figures.figures import regret_figure as regret_figure
from .figures.figures import save_all as save_all
from .pages.report import FINDINGS as FINDINGS
from .pages.report import Section as Section
from .pages.report import file_of as file_of
from .pages.report import findings as findings
from .pages.report import read_results as read_results
from .pages.report import write_report as write_report
from .planning.plan import Plan as Plan
from .planning.plan import plan as plan
from .questions import bayati as _bayati  # noqa: F401, it adds studies, as all of these
from .questions import coins as _coins  # noqa: F401
from .questions import corrupted as _corrupted  # noqa: F401
from .questions import kim as _kim  # noqa: F401
from .questions import lower_bound as _lower_bound  # noqa: F401
from .questions import remark_bounds as _remark_bounds  # noqa: F401
from .questions import remarks as _remarks  # noqa: F401
from .questions import simple_regret as _simple_regret  # noqa: F401
from .questions.figure_1 import figure_1 as figure_1
from .questions.figure_1_june import figure_1_june as figure_1_june
from .questions.late import late_figure as late_figure
from .questions.rates import rates_figure as rates_figure
from .running.cluster import cluster_executor as cluster_executor
from .running.contents import BadFile as BadFile
from .running.files import CellResult as CellResult
from .running.files import read_all as read_all
from .running.files import read_result as read_result
from .running.files import summary as summary
from .running.frames import to_frame as to_frame
from .running.runner import Progress as Progress
from .running.runner import plan_of_study as plan_of_study
from .running.runner import run as run
from .running.runner import run_with_bar as run_with_bar
from .studies.modules import needed_modules as needed_modules
from .studies.study import NAMED_STUDIES as NAMED_STUDIES
from .studies.study import Cell as Cell
from .studies.study import Study as Study
from .studies.study import find_study as find_study
from .studies.study import named_study as named_study
from .studies.study import parse_study as parse_study
from .studies.study import read_study as read_study
from .studies.study import study_names as study_names
