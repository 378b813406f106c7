"""Figures: they show the numbers of the results, in the sizes of journals, with the same bytes every time."""

import itertools
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manyarms as ma
from manyarms.intervals import means_and_half_widths
from manyarms.lab.figures.figures import (
    MARKERS,
    WIDTHS,
    apart,
    difference_figure,
    growth_figure,
    regret_figure,
    save,
    save_all,
)
from manyarms.lab.figures.statistics import Grid, difference, slope_over_horizons
from manyarms.lab.running.files import CellResult
from manyarms.lab.studies.study import Study
from manyarms.results import COLOURS
from manyarms.trace import COLUMNS

pytestmark = pytest.mark.once

POLICIES = {"one": ma.UniformPlay(), "two": ma.SSUCB(beta=1.0), "three": ma.Elimination(beta=1.0)}
WORLDS = {"still": ma.World(ma.PowerLaw(beta=1.0)), "rotting": ma.World(ma.PowerLaw(beta=1.0), ma.Rotting())}


def made_up(study):
    """Results of a study with numbers that look like some, without playing it."""
    results = []
    for index, cell in enumerate(study.cells):
        luck = 1.0 + 0.2 * np.random.default_rng(index).random((study.replications, 1, 1))
        values = luck * (1 + index % 3) * study.rounds_kept(cell)[:, None] ** 0.7 * np.ones(len(COLUMNS))
        results.append(CellResult(study, index, 0, values))
    return results


@pytest.fixture(scope="module")
def results():
    return made_up(Study.of("made-up", POLICIES, WORLDS, [1000, 5000, 20_000], 8, checkpoints=30))


def named_lines(panel):
    return {line.get_label(): line for line in panel.lines if not line.get_label().startswith("_")}


def test_curves_are_means_in_the_palette_s_colours(results):
    figure = regret_figure(results)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["still", "rotting"]
    cells = Grid(results).at("rotting", 20_000)
    lines = named_lines(figure.axes[1])
    assert list(lines) == list(POLICIES)
    for place, (name, line) in enumerate(lines.items()):
        means, _ = means_and_half_widths(cells[name].column("regret"))
        np.testing.assert_array_equal(line.get_xdata(), [0, *cells[name].rounds])
        np.testing.assert_array_equal(line.get_ydata(), [0.0, *means])
        assert (line.get_color(), line.get_marker()) == (COLOURS[place], MARKERS[place])
    assert len(figure.axes[1].collections) == 3  # bands
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(POLICIES)


def test_one_world_one_horizon_one_column(results):
    figure = regret_figure(results, "rotting", 1000, width="column", log=True)
    [panel] = figure.axes
    assert figure.get_figwidth() == WIDTHS["column"]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert named_lines(panel)["one"].get_xdata()[-1] == 1000
    assert regret_figure(results, width=5).get_figwidth() == 5.0


def test_thousands_are_set_apart(results):
    [panel] = regret_figure(results, "still").axes
    assert [text.get_text() for text in panel.get_xticklabels()] == ["0", "5,000", "10,000", "15,000", "20,000"]


def test_growth_says_its_slopes(results):
    figure = growth_figure(results, "still")
    [panel] = figure.axes
    fit = slope_over_horizons(Grid(results).over_horizons("still", "two"))
    texts = [text.get_text() for text in panel.texts]
    assert any(text.startswith(f"{fit.slope:.3f} ± 0.") for text in texts)
    assert len(texts) == 4
    assert [text.get_text() for text in panel.get_xticklabels()] == ["1,000", "5,000", "20,000"]


def test_differences_are_marked_where_they_are_clear(results):
    figure = difference_figure(results, "two", horizon=5000)
    cells = Grid(results).at("still", 5000)
    panel = figure.axes[0]
    assert [text.get_text() for text in panel.get_yticklabels()] == ["one", "three"]
    marks = [container[0] for container in panel.containers]
    for mark, name in zip(marks, ("one", "three"), strict=True):
        found = difference(cells[name], cells["two"])
        assert mark.get_xdata() == [found.mean]
        assert (mark.get_markerfacecolor() != "white") == found.is_clear
    assert panel.get_xlabel() == "regret minus that of two"


def test_what_is_not_there_is_named(results):
    with pytest.raises(LookupError, match="no world 'x' in these results; there are still, rotting"):
        regret_figure(results, "x")
    with pytest.raises(LookupError, match="no horizon 7 in these results; there are 1000, 5000, 20000"):
        regret_figure(results, horizon=7)
    with pytest.raises(LookupError, match="no policy 'x' in these results"):
        difference_figure(results, "x")
    with pytest.raises(ValueError, match="width must be inches or one of column, page, not 'wide'"):
        regret_figure(results, width="wide")
    with pytest.raises(ValueError, match="made-up has one horizon"):
        growth_figure([result for result in results if result.cell.horizon == 1000])
    one = [result for result in results if result.cell.policy_name == "one"]
    with pytest.raises(ValueError, match="made-up has one policy"):
        difference_figure(one, "one")
    without = [result for result in results if (result.cell.policy_name, result.cell.horizon) != ("one", 1000)]
    with pytest.raises(ValueError, match="one was not played over horizon 1,000"):
        difference_figure(without, "one", horizon=1000)


def test_one_replication_has_no_bands():
    worlds = {"below": ma.World(ma.PowerLaw(beta=1.0), top=0.5)}
    figure = regret_figure(made_up(Study.of("one", POLICIES, worlds, [100], 1)))
    assert len(figure.axes[0].collections) == 0


def test_names_are_only_ever_text(tmp_path):
    names = ["_hidden", "a $x^2$ b", "costs $5", "$\\bad{", "100 % \\alpha_1"]
    policies = {name: ma.SSUCB(beta=1.0, horizon=10 + place) for place, name in enumerate(names)}
    results = made_up(Study.of("named", policies, dict.fromkeys(names, WORLDS["still"]), [100, 1000], 3))
    for figure in (regret_figure(results), growth_figure(results), difference_figure(results, names[0])):
        assert [panel.get_title(loc="left") for panel in figure.axes] == names
        for legend in figure.legends:
            assert [text.get_text() for text in legend.get_texts()] == names
        assert not any(text.get_parse_math() for text in figure.findobj(mpl.text.Text))
        save(figure, tmp_path / "figure.svg")
    assert len(regret_figure(results).legends) == len(growth_figure(results).legends) == 1
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == names[1:]


def test_control_characters_in_names_are_written_out(tmp_path):
    figure = mpl.figure.Figure()
    figure.suptitle("\x1b[31mred")
    words = "".join(ElementTree.parse(save(figure, tmp_path / "red.svg")).getroot().itertext())  # else it is no XML
    assert r"\x1b[31mred" in words or figure.get_suptitle() == r"\x1b[31mred"


def test_colours_belong_to_the_place_in_the_study(results):
    some = [result for result in results if result.cell.policy_name != "one"]
    lines = named_lines(regret_figure(some, "still").axes[0])
    bars = {bar.get_label(): bar[0] for bar in growth_figure(some, "still").axes[0].containers}
    for drawn in (lines, bars):
        looks = {name: (line.get_color(), line.get_marker()) for name, line in drawn.items()}
        assert looks == {"two": (COLOURS[1], MARKERS[1]), "three": (COLOURS[2], MARKERS[2])}
    [bar] = difference_figure(some, "two", "still").axes[0].containers
    assert bar[0].get_color() == COLOURS[2]


def test_the_user_s_own_settings_stay(results):
    before = dict(mpl.rcParams)
    regret_figure(results)
    assert dict(mpl.rcParams) == before


def test_all_figures_are_files_with_the_same_bytes_every_time(tmp_path, results):
    some = [result for result in results if result.cell.horizon != 5000]
    paths = save_all(some, tmp_path / "a", ("svg", "pdf"))
    names = {f"{name}.{format}" for name in NAMES for format in ("svg", "pdf")}
    assert {path.name for path in paths} == {path.name for path in (tmp_path / "a").iterdir()} == names
    save_all(some[::-1], tmp_path / "b", ("svg", "pdf"))
    for path in paths:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
        assert b"<dc:date>" not in path.read_bytes()
    pictures = [save(regret_figure(results, "still"), tmp_path / f"{name}.png") for name in "ab"]
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


NAMES = ("regret-T1000", "regret-T20000", "differences-T1000", "differences-T20000", "growth")


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12).map(sorted), st.floats(0.01, 0.2))
def test_labels_are_moved_apart_in_order_and_around_their_places(places, gap):
    moved = apart(places, gap)
    assert len(moved) == len(places)
    assert all(high - low >= gap - 1e-9 for low, high in itertools.pairwise(moved))
    assert sum(moved) == pytest.approx(sum(places))
    if all(high - low >= gap for low, high in itertools.pairwise(places)):
        assert moved == pytest.approx(places)
