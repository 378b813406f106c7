"""The arena of catalogues: its tables, its scores in rewards, its page and its command."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest

import manyarms as ma
from manyarms.cli import main
from manyarms.lab.arena import page as arena_page
from manyarms.lab.arena import scores as arena_scores
from manyarms.lab.arena.arena import LEAGUES, chosen_contests, new_arena
from manyarms.lab.arena.catalogue import (
    CATALOGUE,
    CHANGES,
    CONTESTS,
    FEEDBACKS,
    NOISES,
    QUICK_ENTRANTS,
    RESERVOIRS,
    SIZES,
    CatalogueContest,
    prior_of,
)
from manyarms.lab.arena.leagues import GROUPS, HALVES, HINDSIGHT, MOST_SECONDS, NOTHING, TEST, TUNING
from manyarms.lab.arena.scores import Scores, geometric_mean, worst
from manyarms.lab.pages.html import write_page
from manyarms.lab.running.costs import seconds_beyond
from manyarms.measures.values import law_of
from tests.browser import chromium, opened
from tests.lab.arena.test_arena import is_told, types_of

ENTRANTS = CATALOGUE.entrants

# ---------------------------------------------------------------- the tables


def test_everything_is_somewhere_in_the_contests():
    worlds = [contest.world for contest in CONTESTS]
    assert 50 <= len(set(worlds)) <= len(CONTESTS) <= 70
    assert set().union(*(types_of(world.drift) for world in worlds)) == {
        ma.Still, ma.Rotting, ma.Rising, ma.Crash, ma.Stages, ma.Turnover, ma.Fatigue,
    }  # fmt: skip
    assert {world.drift.to for world in worlds if isinstance(world.drift, ma.Crash)} == {0.0, "fresh"}
    assert {type(world.feedback) for world in worlds} == {ma.AtOnce, ma.Batches, ma.Conversions}
    assert {type(world.noise) for world in worlds} == {ma.Bernoulli, ma.BetaNoise}
    assert {contest.horizon for contest in CONTESTS} == {10**4, 10**5, 10**6}
    factors = {world.reservoir.factor for world in worlds if isinstance(world.reservoir, ma.Trending)}
    assert min(factors) < 1.0 < max(factors)
    for half in HALVES:
        here = [contest for contest in CONTESTS if contest.half == half]
        assert {contest.reservoir for contest in here} == set(RESERVOIRS[half])
        assert {contest.change for contest in here} == set(CHANGES[half])
        assert {contest.answers for contest in here} == set(FEEDBACKS[half])
        assert {contest.noise for contest in here} == set(NOISES)


def test_means_are_those_of_catalogues():
    laws = {name: law_of(reservoir) for table in RESERVOIRS.values() for name, reservoir in table.items()}
    means = [law.mean for law in laws.values()]
    assert min(means) == pytest.approx(0.002, rel=0.01)
    assert 0.25 < max(means) < 0.31
    tops = [reservoir.top for table in RESERVOIRS.values() for reservoir in table.values() if reservoir.top < 1.0]
    assert (min(tops), max(tops)) == (0.05, 0.9)
    for name, law in laws.items():  # names say what is in them
        share = float(re.search(r"([\d.]+)(?: %)?$", name)[1]) / (100.0 if name.endswith("%") else 1.0)
        if " of " in name:
            assert law.mean == pytest.approx(share, rel=0.02)
        elif " to " in name:
            assert law.means.max() == pytest.approx(share, rel=0.01)
        else:
            rare = int(re.search(r"one in (\d+)", name)[1])
            assert law.weights[law.means > 0.6 * share].sum() == pytest.approx(1 / rare, rel=0.03)


def test_the_halves_have_no_reservoir_and_no_rate_in_common():
    assert not set(RESERVOIRS[TUNING].values()) & set(RESERVOIRS[TEST].values())
    assert set(CHANGES[TUNING]) & set(CHANGES[TEST]) == {"still"}
    drifts = [{contest.world.drift for contest in CONTESTS if contest.half == half} for half in HALVES]
    assert drifts[0] & drifts[1] == {ma.Still()}
    factors = [
        {contest.world.reservoir.factor for contest in CONTESTS if contest.half == half and "newcomers" in contest.name}
        for half in HALVES
    ]
    assert not factors[0] & factors[1]
    assert min(sum(contest.half == half for contest in CONTESTS) for half in HALVES) >= 24


def test_names_are_unique_also_as_folders():
    whole = new_arena(catalogue=True)
    assert len({contest.name for contest in CONTESTS}) == len(CONTESTS)
    assert len({study.name for study in whole.studies.values()}) == len(CONTESTS)


def test_entrants_are_told_nothing_or_stand_in_hindsight():
    assert {entrant.told for entrant in ENTRANTS} == {NOTHING, HINDSIGHT}
    assert len({entrant.name for entrant in ENTRANTS}) == len(ENTRANTS)
    for contest, entrant in itertools.product(CONTESTS, ENTRANTS):
        policies = entrant.policies(contest)
        if entrant.told == NOTHING:
            assert not any(is_told(policy) for policy in policies.values())
        else:
            assert {policy.arms for policy in policies.values()} <= set(SIZES)
    assert {CATALOGUE.star, "UniformPlay"} <= {entrant.name for entrant in ENTRANTS}


def test_who_stays_away_is_slow():
    away = {entrant.name for entrant in ENTRANTS for contest in CONTESTS if not entrant.policies(contest)}
    assert away == {"Subsample(Thompson), auto", "OSE", "PROSE"}
    sizes = {}
    for contest, entrant in itertools.product(CONTESTS, ENTRANTS):
        if entrant.name.endswith("best size"):
            policies = entrant.policies(contest).values()
            assert all(seconds_beyond(policy, contest.world, contest.horizon) <= MOST_SECONDS for policy in policies)
            sizes.setdefault(entrant.name, set()).update(policy.arms for policy in policies)
    assert sizes.pop("META, best size") == {16, 64, 256}  # it takes no more
    for name, found in sizes.items():
        assert found == set(SIZES[:4] if name.startswith("Thompson") else SIZES)


def test_the_right_prior_has_the_moments_of_the_reservoir():
    contest = next(contest for contest in CONTESTS if contest.reservoir == "clicks of 5 %")
    assert prior_of(contest) == pytest.approx((1.2, 23.0), rel=1e-3)
    for contest in CONTESTS:
        (a, b), law = prior_of(contest), law_of(RESERVOIRS[contest.half][contest.reservoir])
        assert a / (a + b) == pytest.approx(law.mean)
        assert a * b / (a + b) ** 2 / (a + b + 1.0) == pytest.approx(law.variance)
    [right] = [entrant for entrant in ENTRANTS if "right prior" in entrant.name]
    assert {policy.base.prior for policy in right.policies(contest).values()} == {prior_of(contest)}


def test_every_contest_has_an_upper_value_between_random_arms_and_the_best():
    for contest in CONTESTS:
        said = contest.settings()
        best = contest.world.reservoir.top if "novelty" not in contest.change else 1.0
        assert said["A fresh arm"] < said["Upper value"] < best
    # Late answers change nothing for a player who sees means.
    late = next(contest for contest in CONTESTS if contest.answers)
    assert late.upper_value == dataclasses.replace(late, answers="").upper_value


def test_contests_know_beta_where_there_is_one():
    assert {contest.beta for contest in CONTESTS if contest.reservoir == "clicks to 8 %"} == {3.0}
    assert {contest.beta for contest in CONTESTS if contest.reservoir == "one in 100 at 25 %"} == {None}


def test_quick_is_a_part_of_few_types():
    contests = CATALOGUE.quick_contests
    assert {contest.half for contest in contests} == set(HALVES)
    assert len({contest.world for contest in contests}) == len(contests) >= 8
    assert len({type(contest.world.drift.start()) for contest in contests}) == 2
    assert {entrant.told for entrant in QUICK_ENTRANTS} == {NOTHING, HINDSIGHT}
    assert GROUPS[1] not in {entrant.told for entrant in ENTRANTS}


# ---------------------------------------------------------------- scores in rewards


def scores_of(rewards):
    """Scores of a contest from the rewards of some entrants, two replications alike."""
    contest = CONTESTS[0]
    entrants = [entrant for entrant in ENTRANTS if entrant.name in rewards]
    played = {
        (contest.name, name): np.full(2, float(rewards[entrant.name]))
        for entrant in entrants
        for name in entrant.policies(contest)
    }
    return Scores.of([contest], entrants, played, CATALOGUE)


REWARDS = {
    "Forager": 300,
    "UniformPlay": 100,
    "Greedy, best of 5": 200,
    "SSUCB, best of 5": 240,
    "KLUCB, best of 5": 50,
}


def test_more_is_better():
    scores = scores_of(REWARDS)
    board = arena_scores.leaderboard(scores)
    assert [row["entrant"] for row in board][:3] == ["Forager", "SSUCB, best of 5", "Greedy, best of 5"]
    row = board[0]
    assert row["best subsample"].startswith("1.25")
    assert row["random arms"].startswith("3.00")
    assert row["upper value"].startswith(arena_scores.ratio_text(300 / CONTESTS[0].upper_value))
    assert row["ahead in"] == "1 of 1"
    assert board[1]["best subsample"].startswith("1.20")  # over the best other one
    assert board[2]["ahead in"] == "0 of 1"
    assert board[-1]["entrant"] == "KLUCB, best of 5"
    [uniform] = [row for row in board if row["entrant"] == "UniformPlay"]
    assert uniform["random arms"] == "–"


def test_the_worst_is_where_least_is_earned_and_the_best_of_a_grid_earns_most():
    contests = CONTESTS[:2]
    forager, greedy = (entrant for entrant in ENTRANTS if entrant.name in ("Forager", "Greedy, best of 5"))
    played = {(contest.name, "Forager"): np.array([6.0, 6.0]) for contest in contests}
    for contest, most in zip(contests, (4.0, 12.0), strict=True):
        for place, name in enumerate(greedy.policies(contest)):
            played[contest.name, name] = np.array([most, most]) / (1 + abs(place - 2))
    scores = Scores.of(contests, (forager, greedy), played, CATALOGUE)
    duels = scores.duels("Forager")
    assert [duel.ratio.value for duel in duels] == pytest.approx([1.5, 0.5])
    assert [duel.lead > 0.0 for duel in duels] == [True, False]
    assert worst(duels).contest == contests[1]
    assert geometric_mean(duels).value == pytest.approx(np.sqrt(0.75))
    assert scores.chosen[contests[0].name, greedy.name] == "256 arms"


def test_the_star_is_held_against_every_yardstick():
    scores = scores_of(REWARDS)
    found = {row["against the best of"]: row["all"].split()[0] for row in arena_scores.star_rows(scores, "Forager")}
    assert found["best subsample"] == found["all others"] == "1.25"
    assert found["random arms"] == found["those told nothing"] == "3.00"
    assert found["Greedy in hindsight"] == "1.50"
    [row] = arena_scores.contest_rows(scores, "Forager")
    assert row["reward a round"] == 300 / CONTESTS[0].horizon
    headings = [section.heading for section in arena_scores.findings(scores, "Forager")]
    assert headings == ["Leaderboard", "Forager against its rivals", "Forager, contest by contest"]
    [row] = [row for row in arena_scores.rows(scores) if row["entrant"] == "Forager"]
    assert (row["reward"], row["upper_value"]) == (300.0, CONTESTS[0].upper_value)
    assert (row["ratio"], row["best_other"]) == (pytest.approx(1.25), "SSUCB, best of 5")


# ---------------------------------------------------------------- the page and the command


def made_up(**part):
    """The catalogue, or a part of it, with rewards that nobody earned."""
    whole = new_arena(catalogue=True, replications=4, **part)
    generator = np.random.default_rng(0)
    played = {
        (contest.name, cell.policy_name): generator.lognormal(5.0, 0.3) * generator.lognormal(0.0, 0.1, 4)
        for contest in whole.contests
        for cell in whole.studies[contest].cells
    }
    return whole, Scores.of(whole.contests, whole.entrants, played, CATALOGUE)


@pytest.mark.once
def test_the_page_has_every_ratio_and_loads_nothing(tmp_path):
    whole, scores = made_up()
    path = write_page(tmp_path / "catalogue.html", arena_page.arena_page(whole, scores, CATALOGUE.star))
    page = path.read_text(encoding="utf-8")
    assert "<h1>catalogue</h1>" in page
    assert "http:" not in page.replace("http-equiv", "")
    for words in ("Upper value", "Who earns more stands above 1, in blue", "1.3 and more", "Trending"):
        assert words in page
    wanted = sum(len(scores.main_duels(entrant.name)) for entrant in whole.entrants)
    with chromium() as browser, opened(browser, path) as shown:
        assert shown.locator(".heat tbody:not(.means) td[class^=h]").count() == wanted
        assert shown.locator(".heat tbody:not(.means) td.star").count() == len(CONTESTS)


@pytest.mark.once
def test_the_figure_has_every_ratio():
    part, scores = made_up(only="wear")
    panels = [figure.axes[0] for figure in arena_page.heat_figures(scores)]
    texts = [text.get_text() for panel in panels for text in panel.texts]
    assert {contest.name for contest in part.contests} <= set(texts)
    numbers = [text for text in texts if re.fullmatch(r"[\d.,]+", text)]
    rows = sum(len(scores.main_duels(entrant.name)) for entrant in part.entrants)
    assert len(numbers) == rows + sum(bool(scores.main_duels(entrant.name)) for entrant in part.entrants)


def test_the_command_has_both_arenas(tmp_path, capsys):
    assert main(["arena", "--catalogue", "--dry-run", "--json", "--folder", str(tmp_path)]) == 0
    *contests, total = json.loads(capsys.readouterr().out)
    assert [row["contest"] for row in contests] == [contest.name for contest in CONTESTS]
    assert total["rounds"] == sum(row["rounds"] for row in contests)
    assert main(["arena", "--catalogue", "--only", "zebra", "--quick"]) == 2
    assert "manyarms arena --catalogue --quick --dry-run has all of them" in capsys.readouterr().err
    assert [LEAGUES[True].folder(quick) for quick in (False, True)] == ["results/catalogue", "results/catalogue-quick"]
    assert chosen_contests(only="novelty", catalogue=True) != chosen_contests(catalogue=True)


@pytest.mark.compiled
def test_a_part_is_run_and_kept_and_shown(tmp_path, capsys, monkeypatch):
    few = tuple(e for e in QUICK_ENTRANTS if e.name in (CATALOGUE.star, "UniformPlay", "Greedy, best of 3"))
    monkeypatch.setitem(LEAGUES, True, dataclasses.replace(CATALOGUE, quick_entrants=few))
    command = ["arena", "--catalogue", "--quick", "--only", "still, clicks to 30 %", "--replications", "3"]
    assert main([*command, "--folder", str(tmp_path)]) == 0
    assert "Leaderboard" in capsys.readouterr().out
    page = (tmp_path / "catalogue.html").read_text(encoding="utf-8")
    assert "manyarms arena --catalogue --quick --only &#x27;still, clicks to 30 %&#x27; --replications 3" in page
    assert main([*command, "--folder", str(tmp_path), "--json"]) == 0
    rows = {row["entrant"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == {entrant.name for entrant in few if entrant.told == NOTHING}  # no other subsample is there
    # Means of the arms that were played, added up; nobody has more than the upper value.
    [contest] = chosen_contests(quick=True, only="still, clicks to 30 %", catalogue=True)
    result = ma.simulate(ma.UniformPlay(), contest.world, contest.horizon, replications=3, seed=1)
    wanted = contest.horizon - result.final_regret("UniformPlay")
    assert rows["UniformPlay"]["reward"] == pytest.approx(wanted.mean())
    assert rows["UniformPlay"]["reward"] == pytest.approx(0.12 * contest.horizon, rel=0.03)
    assert all(row["reward"] < row["upper_value"] for row in rows.values())


def test_a_contest_is_what_its_name_says():
    contest = CatalogueContest(TEST, "newcomers better", "clicks to 30 %", 10**5, answers="batches")
    assert contest.name == "newcomers better, clicks to 30 %, batches, T = 10^5"
    assert contest.world == ma.World(
        ma.Trending(ma.PowerLaw(1.5, top=0.3), 2.5, 10**5), feedback=ma.Batches(100), noise=ma.Bernoulli()
    )
    assert not contest.is_still
