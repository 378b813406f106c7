"""Results: tables, frames and pictures hold the numbers that were found."""

import json
import math
import sys

import markdown_it  # which rich brings
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.stats

import manyarms as ma
from manyarms.checks import BUSY_WORLD
from manyarms.intervals import mean_and_half_width, student_t
from manyarms.results import COLOURS, LONGEST_FACT, STYLES, Result, fields_of
from manyarms.specs import spec_from_json
from manyarms.tables import Table
from manyarms.trace import COLUMNS

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")  # after the choice of the backend

QUICK = ma.Elimination(beta=1.0, preset="published", threshold=0.1)


@pytest.fixture(scope="module")
def result():
    policies = {"quick": QUICK, "uniform": ma.UniformPlay()}
    return ma.simulate(policies, BUSY_WORLD, 120, 6, seed=4, checkpoints=[1, 30, 60], log=True, threads=1)


@pytest.fixture
def empty(result):
    """As after a Ctrl-C before any replication of the second policy was finished."""
    values = {"quick": result["quick"][:1], "uniform": result["uniform"][:0]}
    replications = {"quick": np.array([0]), "uniform": np.array([], dtype=np.int64)}
    return Result(
        policies=result.policies,
        world=result.world,
        horizon=result.horizon,
        seed=result.seed,
        checkpoints=result.checkpoints,
        values=values,
        replications=replications,
        logs={"quick": {}, "uniform": {}},
        is_complete=False,
    )


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_what_was_asked_for_is_kept(result):
    assert (result.world, result.horizon, result.seed, result.is_complete) == (BUSY_WORLD, 120, 4, True)
    assert result.checkpoints.tolist() == [1, 30, 60, 120]
    assert result.policies == {"quick": QUICK.replace(horizon=120), "uniform": ma.UniformPlay()}
    assert {name: places.tolist() for name, places in result.replications.items()} == {
        "quick": [0, 1, 2, 3, 4, 5],
        "uniform": [0, 1, 2, 3, 4, 5],
    }
    assert result["quick"].shape == (6, 4, 9)


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_by_name(result, column):
    place = COLUMNS.index(column)
    assert (result.curve("quick", column) == result.values["quick"][:, :, place]).all()
    assert (result.final("quick", column) == result.values["quick"][:, -1, place]).all()


def test_columns_are_what_the_log_adds_up_to(result):
    for number in range(6):
        log = result.log("quick", number)
        for place, end in enumerate(result.checkpoints):
            assert result.curve("quick")[number, place] == pytest.approx((1 - log.mean[:end]).sum(), rel=1e-12)
            assert result.curve("quick", "reward")[number, place] == log.reward[:end].sum()
        assert result.final("quick", "restarts")[number] >= log.episode[-1] - 1
        assert result.final("quick", "blocks")[number] >= log.block[-1]
        assert result.final("quick", "arms")[number] > log.arm.max()


def test_episodes_are_restarts_and_one(result):
    assert (result.curve("quick", "episodes") == result.curve("quick", "restarts") + 1).all()
    assert result.final("quick", "episodes").max() > 1
    assert (result.final("uniform", "episodes") == 1).all()


def test_final_regret(result):
    assert (result.final_regret("quick") == result["quick"][:, -1, 0]).all()
    assert (result.final_regret("uniform") > 0).all()


@pytest.mark.parametrize(
    "lookup",
    [
        lambda result: result["Quick"],
        lambda result: result.curve("Quick"),
        lambda result: result.final("Quick"),
        lambda result: result.final_regret("Quick"),
        lambda result: result.log("Quick"),
    ],
)
def test_unknown_policies_are_named(result, lookup):
    with pytest.raises(KeyError, match="no policy 'Quick' in this result; there are quick, uniform"):
        lookup(result)


def test_unknown_columns_and_logs_are_named(result):
    with pytest.raises(KeyError, match=r"no column 'Regret'; there are regret, reward, .* and episodes"):
        result.curve("quick", "Regret")
    with pytest.raises(KeyError, match="no log of replication 6 of 'quick'"):
        result.log("quick", 6)
    plain = ma.simulate(QUICK, BUSY_WORLD, 20, threads=1)
    with pytest.raises(KeyError, match="no log of replication 0 of 'Elimination'; simulate with log=True"):
        plain.log("Elimination")


# Summaries.


def test_a_summary_has_means_and_intervals(result):
    rows = result.summary().rows
    assert [row["policy"] for row in rows] == ["quick", "uniform"]
    for row in rows:
        regrets = result.final_regret(row["policy"])
        assert row["replications"] == 6
        assert row["mean regret"] == pytest.approx(regrets.mean())
        low, high = scipy.stats.t.interval(0.95, 5, regrets.mean(), scipy.stats.sem(regrets))
        assert row["± 95 %"] == pytest.approx((high - low) / 2, rel=1e-4)
        rewards = result.final(row["policy"], "reward") / 120
        assert row["reward a round"] == pytest.approx(rewards.mean())
        low, high = scipy.stats.t.interval(0.95, 5, rewards.mean(), scipy.stats.sem(rewards))
        assert row["± 95 % a round"] == pytest.approx((high - low) / 2, rel=1e-4)
        for column in ("restarts", "blocks", "arms", "V", "V_R", "L", "L_R"):
            assert row[column] == pytest.approx(result.final(row["policy"], column).mean())


def test_regret_comes_first_only_where_it_is_counted_from_the_best_mean():
    columns = {}
    for top, world in {
        "best": ma.World(ma.PowerLaw(1.0)),
        "told": ma.World(ma.PowerLaw(1.0, top=0.3), top=0.3),
        "unknown": ma.World(ma.PowerLaw(1.0, top=0.3)),
        "listed": ma.World(ma.Empirical([0.1, 0.2])),
    }.items():
        columns[top] = list(ma.simulate(ma.UniformPlay(), world, 50, 2, seed=1).summary().rows[0])[2:6]
    regret, reward = ["mean regret", "± 95 %"], ["reward a round", "± 95 % a round"]
    assert columns["best"] == columns["told"] == regret + reward
    assert columns["unknown"] == columns["listed"] == reward + regret


def test_the_reward_a_round_is_the_average_so_far(result):
    np.testing.assert_allclose(
        result.curve("quick", "reward a round") * result.checkpoints, result.curve("quick", "reward")
    )
    assert result.plot(column="reward a round").get_ylabel() == "reward a round"


def test_a_summary_of_nothing(empty):
    one, none = empty.summary().rows
    assert one["replications"] == 1
    assert one["mean regret"] == empty.final_regret("quick")[0]
    assert math.isnan(one["± 95 %"])
    assert none["replications"] == 0
    assert math.isnan(none["mean regret"])
    assert math.isnan(none["V"])
    assert str(empty.summary()).splitlines()[2].split() == ["uniform", "0"] + ["-"] * 11


def test_repr_has_the_summary(result):
    lines = repr(result).splitlines()
    assert lines[0] == "<Result of quick, uniform; horizon 120, seed 4>"
    assert "\n".join(lines[1:]) == str(result.summary())
    assert len(lines) == 4


def test_a_table_is_aligned():
    table = Table([{"policy": "A", "n": 1234567, "x": 0.123456}, {"policy": "longer", "n": 3, "x": 12345.6}])
    assert str(table).splitlines() == [
        "policy          n       x",
        "A       1,234,567  0.1235",
        "longer          3  12,346",
    ]
    assert str(Table([])) == "(nothing)"
    assert str(Table([{"x": math.nan}])) == "x\n-"


def test_a_table_as_html():
    html = Table([{"policy": "A", "x": 0.5}])._repr_html_()
    assert "<th>policy</th><th>x</th>" in html
    assert "<tr><td>A</td><td>0.5</td></tr>" in html


NAMES = ["plain", "a_b", "50 % & more", "a|b", r"a\|b", "*x* [y](z)", "<b>&lt;", "$5 ~ `c`", "#1 {x^2}", "two\nlines"]


def rows_named(names):
    return [{"policy": name, "V_R": 1234.56 * place, "± 95 %": math.nan} for place, name in enumerate(names, -1)]


def test_a_table_in_markdown_says_what_the_table_says():
    # Read by a parser of CommonMark with GitHub's tables.
    markdown = Table(rows_named(NAMES)).to_markdown()
    tokens = markdown_it.MarkdownIt().enable("table").parse(markdown)
    cells = ["".join(part.content for part in token.children) for token in tokens if token.type == "inline"]
    lines = [cells[place : place + 3] for place in range(0, len(cells), 3)]
    numbers = ["-1,235", "0", "1,235", "2,469", "3,704", "4,938", "6,173", "7,407", "8,642", "9,876"]
    wanted = [[name.replace("\n", " "), number, "-"] for name, number in zip(NAMES, numbers, strict=True)]
    assert lines == [["policy", "V_R", "± 95 %"], *wanted]
    assert markdown.splitlines()[1] == "| :--- | ---: | ---: |"
    assert Table([]).to_markdown() == "(nothing)"


def test_a_table_in_latex():
    lines = Table(rows_named(NAMES)).to_latex().splitlines()
    assert lines[:4] == [r"\begin{tabular}{lrr}", r"\toprule", r"policy & V\_R & $\pm$ 95 \% \\", r"\midrule"]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert [line.removesuffix(r" & - \\").rpartition(" & ")[::2] for line in lines[4:-2]] == [
        ("plain", "$-$1,235"),
        (r"a\_b", "0"),
        (r"50 \% \& more", "1,235"),
        (r"a\textbar{}b", "2,469"),
        (r"a\textbackslash{}\textbar{}b", "3,704"),
        (r"{*}x{*} {[}y](z)", "4,938"),
        (r"\textless{}b\textgreater{}\&lt;", "6,173"),
        (r"\$5 \textasciitilde{} `c`", "7,407"),
        (r"\#1 \{x\textasciicircum{}2\}", "8,642"),
        ("two lines", "9,876"),
    ]
    assert Table([]).to_latex() == "(nothing)"


def test_a_summary_can_be_put_into_a_paper(result):
    summary = result.summary()
    head, _, *lines = summary.to_markdown().splitlines()
    assert head.startswith(r"| policy | replications | mean regret | ± 95 % |")
    assert [line.split(" | ")[0] for line in lines] == ["| quick", "| uniform"]
    assert summary.to_latex().count(r"\\") == 3


@pytest.mark.parametrize("degrees", [*range(1, 40), 100, 1000, 10**6])
def test_student_t(degrees):
    assert student_t(degrees) == pytest.approx(scipy.stats.t.ppf(0.975, degrees), rel=1e-4)


def test_mean_and_half_width():
    values = np.array([1.0, 2.0, 3.0, 6.0])
    mean, half_width = mean_and_half_width(values)
    assert mean == 3.0
    assert half_width == pytest.approx(scipy.stats.t.ppf(0.975, 3) * scipy.stats.sem(values), rel=1e-4)
    assert mean_and_half_width(np.array([2.0]))[0] == 2.0
    assert math.isnan(mean_and_half_width(np.array([2.0]))[1])


# Frames.


def test_a_frame_has_a_row_for_everything(result):
    frame = result.to_frame()
    assert list(frame.columns)[:12] == ["policy", "replication", "round", *COLUMNS]
    assert len(frame) == 2 * 6 * 4
    assert frame["replication"].tolist() == [number for _ in range(2) for number in range(6) for _ in range(4)]
    assert frame["round"].tolist() == [1, 30, 60, 120] * 12
    for name in ("quick", "uniform"):
        part = frame[frame["policy"] == name]
        for column in COLUMNS:
            assert part[column].to_numpy().reshape(6, 4).tolist() == result.curve(name, column).tolist()
    for column in ("replication", "round", "restarts", "blocks", "arms", "L", "L_R"):
        assert pd.api.types.is_integer_dtype(frame[column])
    grouped = frame[frame["round"] == 120].groupby("policy")["regret"].mean()
    assert grouped["quick"] == pytest.approx(result.final_regret("quick").mean())


def test_a_frame_can_be_grouped_by_the_fields_of_policies():
    told = {f"{beta} {width}": ma.Subsample(ma.UCB(width), beta, arms=5) for beta in (0.5, 1) for width in (1, 2)}
    policies = told | {"sure": ma.Subsample(ma.Greedy(), beta=1.0)}
    found = ma.simulate(policies, BUSY_WORLD, 40, 3, seed=4, threads=1)
    frame = found.to_frame()
    last = frame[frame["round"] == 40]
    grouped = last.groupby(["policy.beta", "policy.base.width"])["regret"].mean()
    assert list(grouped.index) == [(0.5, 1.0), (0.5, 2.0), (1.0, 1.0), (1.0, 2.0)]
    assert grouped[0.5, 2.0] == pytest.approx(found.final_regret("0.5 2").mean())
    assert last.groupby("policy.base.type")["regret"].size().to_dict() == {"UCB": 12, "Greedy": 3}
    assert frame["policy.arms"].isna().equals(frame["policy"] == "sure")  # missing, where a policy does without
    assert set(frame["policy.horizon"]) == {40}  # as it was played
    assert set(frame["policy.type"]) == {"Subsample"}


def test_a_frame_says_all_of_the_world(result):
    frame = result.to_frame()
    for column, value in {
        "horizon": 120,
        "seed": 4,
        "world.type": "World",
        "world.top": 1.0,
        "world.reservoir.type": type(BUSY_WORLD.reservoir).__name__,
        "world.noise.type": "Bernoulli",
    }.items():
        assert set(frame[column]) == {value}
    assert len(frame.columns) == len(set(frame.columns))


def test_fields_that_are_lists_are_texts_that_stay_short():
    phases = ma.Phases([ma.Still(), ma.Crash(0.5)], ends=[7])
    found = fields_of("drift", phases)
    assert [spec_from_json(drift) for drift in json.loads(found["drift.drifts"])] == [ma.Still(), ma.Crash(0.5)]
    assert found["drift.ends"] == "[7]"
    many, others = ([place / 10_000 for place in range(last)] for last in (9_999, 10_000))
    texts = [fields_of("it", ma.Empirical(means))["it.means"] for means in (many, others)]
    assert texts[0] != texts[1]
    assert all(len(text) < LONGEST_FACT + 12 for text in texts)


def test_a_frame_of_an_interrupted_run(empty):
    frame = empty.to_frame()
    assert frame["policy"].unique().tolist() == ["quick"]
    assert len(frame) == 4


def test_a_frame_needs_pandas(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install 'manyarms\[lab\]'"):
        result.to_frame()


# Pictures, by their data.


@pytest.mark.parametrize("column", ["regret", "reward", "arms", "V"])
def test_curves_are_means_and_bands_are_intervals(result, axes, column):
    assert result.plot(axes, column) is axes
    assert [line.get_label() for line in axes.lines] == ["quick", "uniform"]
    for name, line, band in zip(result.policies, axes.lines, axes.collections, strict=True):
        curves = result.curve(name, column)
        assert line.get_xdata().tolist() == [0, 1, 30, 60, 120]
        assert line.get_ydata().tolist() == [0.0, *curves.mean(axis=0).tolist()]
        edges = band.get_paths()[0].vertices
        half_width = student_t(5) * curves[:, -1].std(ddof=1) / math.sqrt(6)
        last = edges[edges[:, 0] == 120][:, 1]
        assert last.max() == pytest.approx(curves[:, -1].mean() + half_width)
        assert last.min() == pytest.approx(curves[:, -1].mean() - half_width)
    assert axes.get_xlabel() == "round"
    assert axes.get_ylabel() == column
    assert axes.get_xlim() == (0, 120)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["quick", "uniform"]


def test_names_with_dollars_and_underscores_are_in_the_legend_as_they_are():
    names = ["$5 a day", "a_b$", "_mine"]
    figure, axes = plt.subplots()
    ma.simulate({name: ma.UniformPlay() for name in names}, BUSY_WORLD, 5, threads=1).plot(axes)
    figure.canvas.draw()  # a formula that cannot be read would be an error here
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [text.replace("\\$", "$").strip("\u200b") for text in shown] == names
    assert all("$" not in text.replace("\\$", "") for text in shown)
    plt.close(figure)


def test_a_plot_makes_its_own_axes(result):
    axes = result.plot()
    try:
        assert len(axes.lines) == 2
        axes.figure.canvas.draw()
    finally:
        plt.close(axes.figure)


def test_one_replication_has_no_band_and_none_no_curve(empty, axes):
    empty.plot(axes)
    assert [line.get_label() for line in axes.lines] == ["quick"]
    assert len(axes.collections) == 0
    assert axes.lines[0].get_ydata().tolist() == [0.0, *empty.curve("quick")[0].tolist()]


def test_many_policies_can_be_told_apart(axes):
    policies = {f"p{number}": ma.UniformPlay() for number in range(len(COLOURS) + 2)}
    ma.simulate(policies, BUSY_WORLD, 5, checkpoints=1, log=True, threads=1).plot(axes)
    looks = [(line.get_color(), line.get_linestyle()) for line in axes.lines]
    assert len(set(looks)) == len(policies)
    assert looks[len(COLOURS)] == (COLOURS[0], STYLES[1])


def test_an_unknown_column_is_not_drawn(result, axes):
    with pytest.raises(KeyError, match="no column 'Regret'"):
        result.plot(axes, "Regret")


def test_a_plot_needs_matplotlib(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plot needs matplotlib: pip install 'manyarms\[lab\]'"):
        result.plot()
