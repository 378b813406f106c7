"""The arena: its tables, its ratios against a plain twin, its page and its command."""

import dataclasses
import inspect
import itertools
import json
import math
import re
import sys
import types

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms import bases, policies
from manyarms.cli import main
from manyarms.cli.options import written_out
from manyarms.contract import begin, pull
from manyarms.lab.arena import catalogue
from manyarms.lab.arena import page as arena_page
from manyarms.lab.arena import scores as arena_scores
from manyarms.lab.arena.arena import LEAGUES, OWN, Arena, arena, chosen_contests, enter, new_arena
from manyarms.lab.arena.scores import Scores, geometric_mean, worst
from manyarms.lab.arena.subsampled import BASES, LEFT_OUT, must_be_told, unlisted
from manyarms.lab.arena.tables import (
    ARENA,
    CHANGES,
    CONTESTS,
    ENTRANTS,
    GROUPS,
    HALVES,
    HINDSIGHT,
    NEEDED,
    NOISES,
    NOTHING,
    QUICK_ENTRANTS,
    STAR,
    Entrant,
    newcomer,
    quick_contests,
    told_of_change,
)
from manyarms.lab.figures.figures import save
from manyarms.lab.pages.html import write_page
from manyarms.lab.running.costs import nanoseconds_an_arm
from manyarms.streams import replication_key
from tests.browser import chromium, opened
from tests.reference import arena as slow

arena_module = sys.modules["manyarms.lab.arena.arena"]  # lab.arena is the function

# ---------------------------------------------------------------- the tables


def types_of(drift):
    """The types of a drift and its parts."""
    parts = getattr(drift, "drifts", ())
    return {type(drift)}.union(*map(types_of, parts))


def test_everything_is_somewhere_in_the_contests():
    worlds = [contest.world for contest in CONTESTS]
    assert len(set(worlds)) >= 64
    betas = {world.reservoir.beta for world in worlds}
    assert min(betas) == 0.3
    assert max(betas) == 4.0
    assert set().union(*(types_of(world.drift) for world in worlds)) == {
        ma.Still, ma.Rotting, ma.Rising, ma.Phases, ma.Crash, ma.JumpAt, ma.Turnover, ma.Adversary, ma.RandomWalk,
        ma.Fatigue,
    }  # fmt: skip
    rates = {world.drift.rate for world in worlds if isinstance(world.drift, ma.Rotting)}
    assert "1/t" in rates
    assert any(str(rate).endswith("%") for rate in rates)
    constant = [
        contest.world.drift.rate * contest.horizon
        for contest in CONTESTS
        if isinstance(contest.world.drift, ma.Rotting) and not isinstance(contest.world.drift.rate, str)
    ]
    assert min(constant) <= 1.0
    assert max(constant) >= 1000.0
    mixed = [world.drift for world in worlds if isinstance(world.drift, ma.Phases)]
    assert any(types_of(drift) >= {ma.Rotting, ma.Rising} for drift in mixed)
    assert any(
        drift.drifts[0].rate < drift.drifts[1].rate > drift.drifts[2].rate
        for drift in mixed
        if ma.Rising not in types_of(drift)
    )
    assert {type(world.noise) for world in worlds} == {ma.Bernoulli, ma.GapUniform, ma.BetaNoise}
    assert {world.noise.concentration for world in worlds if isinstance(world.noise, ma.BetaNoise)} == {1.0, 50.0}
    horizons = [contest.horizon for contest in CONTESTS]
    assert set(horizons) == {10**4, 10**5, 10**6, 10**7}
    assert horizons.count(10**7) <= 4
    assert horizons.count(10**5) + horizons.count(10**6) > len(horizons) / 2
    assert {contest.change for contest in CONTESTS} == set(CHANGES)
    assert {contest.noise for contest in CONTESTS} == set(NOISES)


def test_the_worlds_of_the_papers_figure_are_there():
    for beta in (0.8, 1.0, 1.2):
        wanted = ma.World(ma.PowerLaw(beta), ma.Rotting("1/t"), ma.GapUniform())
        assert [contest.horizon for contest in CONTESTS if contest.world == wanted] == [100_000]


def test_the_halves_differ():
    tuning, test = ([contest for contest in CONTESTS if contest.half == half] for half in HALVES)
    assert len(tuning) + len(test) == len(CONTESTS)
    assert min(len(tuning), len(test)) >= 24
    assert not {contest.beta for contest in tuning} & {contest.beta for contest in test}
    assert {contest.change for contest in tuning} & {contest.change for contest in test} == {"still"}
    kinds = [set().union(*(types_of(contest.world.drift) for contest in half)) for half in (tuning, test)]
    assert kinds[1] - kinds[0] == {ma.Turnover, ma.Adversary, ma.RandomWalk, ma.Fatigue}
    assert {type(contest.world.noise) for contest in tuning} == {ma.Bernoulli, ma.GapUniform}


def test_names_are_unique_also_as_folders():
    whole = new_arena()
    assert len({contest.name for contest in CONTESTS}) == len(CONTESTS)
    assert len({study.name for study in whole.studies.values()}) == len(CONTESTS)


def test_quick_has_many_worlds_of_few_types():
    contests = quick_contests()
    assert len({contest.world for contest in contests}) == len(contests) >= 24
    assert {contest.half for contest in contests} == set(HALVES)
    assert len({(type(c.world.drift.start()), type(c.world.noise)) for c in contests}) <= 4
    assert STAR in {entrant.name for entrant in QUICK_ENTRANTS}
    assert {entrant.told for entrant in QUICK_ENTRANTS} == set(GROUPS)


def test_studies_are_built_once_and_duels_found_once(monkeypatch):
    built, found = [], []
    study, duel = arena_module.Study, Scores._duel
    monkeypatch.setattr(arena_module, "Study", lambda *args: built.append(args) or study(*args))
    monkeypatch.setattr(Scores, "_duel", lambda self, *args: found.append(args[:2]) or duel(self, *args))
    part, scores = made_up(quick=True, only="wear")
    assert part.studies is part.studies
    arena_page.arena_page(part, scores, STAR)
    arena_page.heat_figures(scores)
    assert len(built) == len(part.contests)
    groups = len(arena_scores.rivals_of(scores, STAR) | arena_scores.policies_in_hindsight(scores))
    assert len(found) == len(part.contests) * (len(part.entrants) + groups)


def is_told(policy):
    """Whether a policy is told anything about the world or the run."""
    beta, horizon = getattr(policy, "beta", "auto"), getattr(policy, "horizon", "doubling")
    return beta != "auto" or horizon != "doubling"


def test_entrants_are_told_what_their_group_says():
    assert {entrant.told for entrant in ENTRANTS} == set(GROUPS)
    [star] = [entrant for entrant in ENTRANTS if entrant.name == STAR]
    assert star.told == NOTHING
    for contest, entrant in itertools.product(CONTESTS, ENTRANTS):
        policies = entrant.policies(contest)
        assert all(getattr(policy, "beta", contest.beta) in (contest.beta, "auto") for policy in policies.values())
        if entrant.told == NOTHING:
            assert not any(is_told(policy) for policy in policies.values())
        else:
            assert all(is_told(policy) for policy in policies.values())
        assert entrant.told != HINDSIGHT or len(policies) >= 8


def test_who_stays_away_is_slow_and_takes_part_in_most_short_contests():
    for entrant in ENTRANTS:
        entered = [contest for contest in CONTESTS if entrant.policies(contest)]
        if len(entered) < len(CONTESTS):
            [policy] = entrant.policies(entered[0]).values()
            assert nanoseconds_an_arm(policy) > 0.0, entrant.name
            assert len(entered) >= 30


@pytest.mark.parametrize("league", LEAGUES.values(), ids=lambda league: league.name)
def test_no_policy_and_no_base_of_the_package_is_forgotten(league):
    """One that is added enters by itself if it needs no more than beta; else it is listed, or LEFT_OUT has it."""
    known = {
        spec
        for module in (policies, bases)
        for name in module.__all__
        if not inspect.isabstract(spec := getattr(module, name))
    }
    there = set().union(
        *(
            types_in(policy)
            for entrant in league.entrants
            for c in league.contests
            for policy in entrant.policies(c).values()
        )
    )
    may_stay_away = set(LEFT_OUT)
    if league.name == "catalogue":
        may_stay_away |= {kind for kind in known if set(kind.about.told) & set(catalogue.UNKNOWN)}
    assert known - there <= may_stay_away
    assert there <= known - set(LEFT_OUT)
    assert all(LEFT_OUT.values())
    assert len(LEFT_OUT) <= 2
    assert len(known - there) <= 6


def test_what_nobody_has_listed_enters_by_itself():
    class Fresh(ma.UniformPlay, abstract=True):
        pass

    room = types.SimpleNamespace(__all__=["UniformPlay", "Fresh", "CBT", "Policy"], Fresh=Fresh, CBT=ma.CBT)
    room.UniformPlay, room.Policy = ma.UniformPlay, ma.Policy
    assert unlisted(room, {ma.CBT}) == [ma.UniformPlay, Fresh]
    [entrant] = newcomer(Fresh, must_be_told(Fresh))
    assert (entrant.name, entrant.told) == ("Fresh", NOTHING)
    [told] = newcomer(ma.CBT, must_be_told(ma.CBT))
    contest = CONTESTS[0]
    assert told.policies(contest) == {"CBT": ma.CBT(beta=contest.beta)}
    assert must_be_told(ma.Blackbox) == ["base", "beta"]
    assert newcomer(ma.Blackbox, must_be_told(ma.Blackbox)) == []


def types_in(policy):
    """The type of a policy, and those of the bases in it."""
    base = getattr(policy, "base", None)
    running = policy.running_base() if isinstance(policy, ma.SSUCB) else base
    return {type(policy)} | (types_in(running) if running is not None else set())


def test_what_is_told_of_change_is_v():
    for contest in CONTESTS:
        told = {name: told_of_change(base, contest) for name, base in BASES.items()}
        for name in ("SWUCB", "DUCB", "CUSUMUCB", "MUCB", "Exp3S"):
            assert told[name].changes == max(round(contest.falls), 1)
        assert told["Rexp3"].variation == max(contest.falls, 1.0)
        assert told["KLUCBPlusPlus"] == BASES["KLUCBPlusPlus"]


@pytest.mark.once
@pytest.mark.parametrize("change", CHANGES)
def test_the_variation_that_is_told_is_what_one_arm_after_another_loses(change):
    # One perfect arm after another, each until it has lost nearly all or made its jump.
    horizon = 20_000
    contest = next(contest for contest in CONTESTS if contest.change == change)
    contest = dataclasses.replace(contest, horizon=horizon)
    world = ma.World(ma.Empirical([1.0]), contest.world.drift, ma.Exact())
    state = begin(world.start(1), replication_key(0, 0))
    arm, lost = 0, 0.0
    for round in range(1, horizon + 1):
        state, mean, after, _ = pull(state, 0, arm, round)
        lost += max(mean - after, 0.0)
        arm += after <= (0.75 if "jump" in change else 0.05)
    if change == "rotting by a share":  # arms are kept although they are worn: a bound from above
        assert lost < contest.falls < 10.0 * lost
    elif change in ("walk", "crashes to fresh"):  # stops at 1, where half of the moves end; or falls to where it was
        assert lost <= contest.falls * 1.05
    else:
        assert contest.falls == pytest.approx(lost, rel=0.35, abs=0.5)


# ---------------------------------------------------------------- ratios


def entrant_of(name, told=NEEDED, policies=1):
    one = ma.UniformPlay()
    many = {f"setting {place}": one for place in range(policies)}
    return Entrant(name, told, lambda contest: many if policies > 1 else one)


def scores_of(table, told=None):
    """Scores from ``table[contest][entrant]``, lists of lists of regrets; contests are the first of the real ones."""
    contests = CONTESTS[: len(table)]
    sizes = {name: len(policies) for regrets in table for name, policies in regrets.items()}
    entrants = [entrant_of(name, (told or {}).get(name, NEEDED), size) for name, size in sizes.items()]
    played = {}
    for contest, regrets in zip(contests, table, strict=True):
        for entrant in entrants:
            for key, values in zip(entrant.policies(contest), regrets.get(entrant.name, ()), strict=False):
                played[contest.name, key] = np.array(values)
    return Scores.of(contests, entrants, played)


def ratios_of(scores):
    """By contest and entrant, its mean regret over the least of all others."""
    duels = ((duel, entrant.name) for entrant in scores.entrants for duel in scores.duels(entrant.name))
    return {(duel.contest.name, name): duel.ratio for duel, name in duels}


NAMES = "abcd"


@st.composite
def tables(draw, least=2):
    """Regrets of up to four entrants in up to three contests; b is a grid of three."""
    names = NAMES[: draw(st.integers(least, 4))]
    replications = draw(st.integers(2, 5))
    regrets = st.lists(st.floats(0.1, 1e6), min_size=replications, max_size=replications)
    return [
        {
            name: draw(st.lists(regrets, min_size=1 + 2 * (name == "b"), max_size=1 + 2 * (name == "b")))
            for name in names
        }
        for _ in range(draw(st.integers(1, 3)))
    ]


quickly = settings(derandomize=True, deadline=None, max_examples=60)


def assert_close(found, wanted):
    assert tuple(found) == pytest.approx(tuple(wanted), rel=1e-4)  # student_t has five digits for few replications


@quickly
@given(table=tables(), rivals=st.sets(st.sampled_from(NAMES), min_size=1))
def test_ratios_are_those_of_the_twin(table, rivals):
    scores = scores_of(table)
    # An interval may be wider than floats allow: its logarithm is what both compute.
    for name in table[0]:
        for chosen in (set(NAMES), rivals):
            if not (set(table[0]) & chosen) - {name}:
                assert scores.duels(name, chosen) == []
                continue
            for duel, contest in zip(scores.duels(name, chosen), table, strict=True):
                rival, log_ratio, moves = slow.log_ratio_and_moves(contest, name, chosen)
                assert slow.mean(slow.best_of(contest[rival])) == pytest.approx(
                    slow.mean(slow.best_of(contest[duel.rival]))
                )
                assert duel.log_ratio == pytest.approx(log_ratio, abs=1e-9)
                if duel.rival == rival:
                    assert duel.moves == pytest.approx(np.array(moves), abs=1e-9)
                    assert_close(duel.ratio, slow.ratio(contest, name, chosen))
            duels = scores.duels(name, chosen)
            if [duel.rival for duel in duels] == [slow.best_other(contest, name, chosen)[0] for contest in table]:
                assert_close(geometric_mean(duels), slow.geometric_mean(table, name, chosen))
            assert worst(duels).log_ratio == max(duel.log_ratio for duel in duels)


@quickly
@given(table=tables())
def test_exactly_one_entrant_is_ahead_in_each_contest(table):
    scores = scores_of(table)
    for place, contest in enumerate(scores.contests):
        means = sorted(slow.mean(slow.best_of(policies)) for policies in table[place].values())
        assume(means[0] < means[1])
        ratios = [ratios_of(scores)[contest.name, name].value for name in table[place]]
        assert sum(ratio < 1.0 for ratio in ratios) == 1
        # And it is ahead by as much as the second is behind.
        assert min(ratios) == pytest.approx(1.0 / sorted(ratios)[1])


@quickly
@given(table=tables(), factors=st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3))
def test_scaling_the_regrets_of_a_contest_changes_no_ratio(table, factors):
    scaled = [
        {name: [[factor * value for value in values] for values in policies] for name, policies in contest.items()}
        for contest, factor in zip(table, factors, strict=False)
    ]
    before, after = ratios_of(scores_of(table)), ratios_of(scores_of(scaled))
    for key, ratio in before.items():
        assert tuple(after[key]) == pytest.approx(tuple(ratio), rel=1e-6)


@quickly
@given(table=tables(), factor=st.floats(1.01, 100.0))
def test_a_worse_entrant_changes_no_ratio_but_its_own(table, factor):
    # Worse than all: an entrant that is second best would be the best rival of the first.
    more = [
        contest | {"z": [[factor * value for value in max(map(slow.best_of, contest.values()), key=slow.mean)]]}
        for contest in table
    ]
    before, after = ratios_of(scores_of(table)), ratios_of(scores_of(more))
    for (contest, name), ratio in before.items():
        assert after[contest, name] == ratio
    for contest, regrets in zip(CONTESTS, more, strict=False):
        best = min(slow.mean(slow.best_of(policies)) for name, policies in regrets.items() if name != "z")
        assert after[contest.name, "z"].value == pytest.approx(slow.mean(regrets["z"][0]) / best)


def test_intervals_hold_the_truth_as_often_as_they_say():
    # Ratio 2 in three contests with common luck. Of 400 intervals at 95 % some 380 hold it, and fewer than 363 or more
    # than 394 with a chance of one in ten thousand.
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        luck = generator.lognormal(0.0, 0.3, 40)
        table = [
            {
                "a": [(2.0 * luck * generator.lognormal(0.0, 0.2, 40)).tolist()],
                "c": [(luck * generator.lognormal(0.0, 0.2, 40)).tolist()],
            }
            for _ in range(3)
        ]
        ratio = geometric_mean(scores_of(table).duels("a"))
        held += ratio.low < 2.0 < ratio.high
    assert 363 <= held <= 394


def test_who_is_not_there_is_left_out():
    table = [
        {"a": [[2.0, 2.0]], "c": [[1.0, 1.0]], "d": [[4.0, 4.0]]},
        {"a": [[3.0, 3.0]], "c": [[1.0, 1.0]]},
    ]
    scores = scores_of(table)
    assert geometric_mean(scores.duels("a")).value == pytest.approx(math.sqrt(6.0))
    assert [duel.contest for duel in scores.duels("d")] == [CONTESTS[0]]
    board = arena_scores.leaderboard(scores)
    assert [row["entrant"] for row in board] == ["c", "a", "d"]  # d was not in all
    assert [row["first in"] for row in board] == ["2 of 2", "0 of 2", "0 of 1"]
    assert board[0]["all"] == "0.41 (0.41–0.41)"
    assert board[1]["worst in"] == CONTESTS[1].name
    assert {row["test half"] for row in board} == {"–"}


def test_who_is_tied_for_the_first_place_is_first():
    scores = scores_of([{"a": [[1.0, 3.0]], "c": [[2.0, 2.0]], "d": [[9.0, 9.0]]}])
    found = {row["entrant"]: row["first in"] for row in arena_scores.leaderboard(scores)}
    assert found == {"a": "1 of 1", "c": "1 of 1", "d": "0 of 1"}


def test_one_replication_has_no_intervals():
    scores = scores_of([{"a": [[2.0]], "c": [[1.0]]}])
    assert str(scores.duels("a")[0].ratio) == "2.00"
    assert "nan" not in str(arena_scores.leaderboard(scores))


def test_the_star_is_held_against_each_group():
    told = {
        "a": NOTHING,
        "c": NOTHING,
        "Elimination, x": HINDSIGHT,
        "Elimination, y": HINDSIGHT,
        "Blackbox, z": HINDSIGHT,
    }
    regrets = {"a": 6.0, "c": 4.0, "told": 2.0, "Elimination, x": 3.0, "Elimination, y": 1.0, "Blackbox, z": 12.0}
    scores = scores_of([{name: [[value, value]] for name, value in regrets.items()}], told)
    found = {row["against the best of"]: row["all"].split()[0] for row in arena_scores.star_rows(scores, "a")}
    assert found == {
        "all others": "6.00",
        "those told nothing": "1.50",
        "those told what they need": "3.00",
        "those in hindsight": "6.00",
        "Elimination in hindsight": "6.00",
        "Blackbox in hindsight": "0.50",
    }
    [row] = arena_scores.contest_rows(scores, "a")
    assert row["best other"] == "Elimination, y"
    assert [section.heading for section in arena_scores.findings(scores, "a")] == [
        "Leaderboard",
        "a against its rivals",
        "a, contest by contest",
    ]
    assert len(arena_scores.findings(scores, "not there")) == 1


def test_the_best_of_a_grid_counts_and_is_named():
    scores = scores_of([{"a": [[2.0, 2.0]], "b": [[5.0, 5.0], [1.0, 1.0], [3.0, 3.0]]}])
    assert ratios_of(scores)[CONTESTS[0].name, "a"].value == 2.0
    assert scores.chosen[CONTESTS[0].name, "b"] == "setting 1"
    assert scores.chosen[CONTESTS[0].name, "a"] == ""
    [row] = [row for row in arena_scores.rows(scores) if row["entrant"] == "b"]
    assert (row["setting"], row["ratio"], row["regret"]) == ("setting 1", 0.5, 1.0)


def test_regrets_that_have_no_ratio_are_refused():
    with pytest.raises(ValueError, match=r"mean regret of 'a' in the contest 'still.*' is 0"):
        scores_of([{"a": [[0.0, 0.0]], "c": [[1.0, 1.0]]}])
    with pytest.raises(ValueError, match="different numbers of replications"):
        scores_of([{"a": [[1.0, 1.0]], "c": [[1.0]]}])


# ---------------------------------------------------------------- who takes part


def test_ones_own_policies_take_part():
    mine = {"same": ma.UniformPlay(), "told": lambda contest: ma.Elimination(contest.beta)}
    found = new_arena(mine, quick=True, half="test", only="still")
    assert {contest.half for contest in found.contests} == {"test"}
    assert all(contest.is_still for contest in found.contests)
    assert [entrant.name for entrant in found.entrants][-2:] == ["same", "told"]
    cells = {cell.policy_name: cell for cell in found.studies[found.contests[0]].cells}
    assert cells["told"].policy == ma.Elimination(found.contests[0].beta)
    entered = enter("mine", ma.UniformPlay())
    try:
        assert entered in new_arena().entrants
        with pytest.raises(ValueError, match="there is an entrant called 'mine'; choose another name"):
            enter("mine", ma.UniformPlay())
    finally:
        OWN.remove(entered)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: new_arena({"x": 3}), "'x' must be a policy or a function of the contest, not 3"),
        (lambda: new_arena({"x": ma.UniformPlay}), "'x' must be a policy or a function"),
        (lambda: new_arena({3: ma.UniformPlay()}), "must be a text, not 3"),
        (lambda: new_arena({"x": lambda contest: contest.beta}), "'x' must play a policy in the contest 'still"),
        (lambda: new_arena({"CBT": ma.UniformPlay()}), "two of the entrants are called 'CBT'"),
        (lambda: new_arena(half="best"), "half must be one of 'tuning', 'test', not 'best'"),
        (lambda: new_arena(replications=0), "replications must be a whole number of at least 1, not 0"),
        (
            lambda: enter("x", ma.UniformPlay(), told="all"),
            "told must be one of 'nothing', 'what it needs', 'hindsight'",
        ),
        (lambda: new_arena({"x": ma.Oracle()}), "the entrant 'x' plays Oracle("),
        (
            lambda: new_arena({"x": lambda contest: ma.Oracle()}),
            "which sees means; give a policy that sees only rewards",
        ),
        (lambda: enter("x", ma.Oracle()), "which sees means"),
        (lambda: enter("x", lambda contest: {"y": ma.Oracle()}), "the entrant 'x: y' plays Oracle("),
        (lambda: new_arena({"x": lambda contest: {}}), "the entrant 'x' gives no policy in any contest; let it"),
        (lambda: enter("x", lambda contest: {}), "the entrant 'x' gives no policy in any contest; let it"),
        (
            lambda: new_arena({"x": lambda contest: 1 / 0}),
            f"the entrant 'x' fails in the contest {CONTESTS[0].name!r}: ZeroDivisionError: division by zero; mend",
        ),
        (lambda: enter("x", lambda contest: contest.zebra), "the entrant 'x' fails in the contest 'still"),
        (lambda: arena([ma.UniformPlay()]), "entrants must be policies by name, such as {'mine': policy}, not ["),
        (lambda: arena(ma.UniformPlay()), "entrants must be policies by name, such as {'mine': policy}, not Uniform"),
        (lambda: arena(only=5), "only must be a text such as 'fatigue', not 5; leave it out for all contests"),
        (lambda: arena(only=""), "only must be a text such as 'fatigue', not ''"),
        (lambda: arena(rivals="nothing"), r"rivals must be texts such as ['Elimination', 'nothing'], not 'nothing'"),
        (lambda: arena(rivals=[" "]), r"rivals must be texts such as ['Elimination', 'nothing'], not [' ']"),
        (lambda: Arena((), ENTRANTS), "there are no contests"),
        (lambda: Arena(CONTESTS, ()), "there are no entrants"),
    ],
)
def test_what_cannot_be_is_refused(build, words):
    before = list(OWN)
    with pytest.raises(ValueError, match=re.escape(words)):
        build()
    assert before == OWN


def test_an_entrant_may_stay_away_from_some_contests():
    def short(contest):
        return {"it": ma.UniformPlay()} if contest.horizon == 10**4 else {}

    found = new_arena({"short": short}, only="T = 10^7")  # also from all of a part
    assert not any("short" in cell.policy_name for study in found.studies.values() for cell in study.cells)


def test_rivals_are_chosen_by_name_or_by_what_they_are_told():
    names = {told: {one.name for one in ENTRANTS if one.told == told} for told in GROUPS}
    found = {one.name for one in new_arena(rivals=["NOTHING", "ucb), warm"]).entrants}
    assert found == names[NOTHING] | {name for name in names[HINDSIGHT] if "UCB), warm" in name}
    mine = new_arena({"mine": ma.UniformPlay()}, quick=True, rivals=["ssucb"], only="still")
    assert [one.name for one in mine.entrants] == [STAR, "SSUCB", "mine"]
    with pytest.raises(LookupError, match=r"no entrant has 'zebra' in its name; .*'what it needs'"):
        new_arena(rivals=["SSUCB", "zebra"])


def test_contests_are_chosen_by_half_and_text():
    assert chosen_contests() == CONTESTS
    assert len(chosen_contests(only="T = 10^7")) == 3
    assert chosen_contests(only="t = 10^7") == chosen_contests(only="T = 10^7")
    assert chosen_contests(only="FATIGUE") == chosen_contests(only="fatigue")
    with pytest.raises(LookupError, match=r"no contest has 'zebra' in its name.*manyarms arena --dry-run has all"):
        chosen_contests(only="zebra")
    with pytest.raises(LookupError, match="manyarms arena --quick --half test --dry-run has all"):
        chosen_contests(quick=True, half="test", only="zebra")


# ---------------------------------------------------------------- the page and the command


def made_up(**part):
    """The arena, or a part of it, with regrets that nobody played."""
    whole = new_arena(replications=4, **part)
    generator = np.random.default_rng(0)
    played = {
        (contest.name, cell.policy_name): generator.lognormal(5.0, 1.0) * generator.lognormal(0.0, 0.1, 4)
        for contest in whole.contests
        for cell in whole.studies[contest].cells
    }
    return whole, Scores.of(whole.contests, whole.entrants, played)


@pytest.mark.parametrize("heats", arena_page.HEATS.values())
def test_the_colours_are_in_order_and_every_ratio_has_one(heats):
    bounds = [heat.below for heat in heats]
    assert bounds == sorted(bounds)
    assert 1.0 in bounds
    assert len(arena_page.heat_labels(heats)) == len(bounds)
    places = [arena_page.heat_of(ratio, heats) for ratio in (1e-9, 0.999, 1.0, 3.0, 1e9)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, len(bounds) - 1)

    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for heat in heats:  # the contrast that small text needs
        for field, ink in (heat.light, heat.dark):
            low, high = sorted(map(luminance, (field, ink)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (field, ink)


@pytest.mark.once
def test_the_page_has_every_ratio_and_loads_nothing(tmp_path):
    whole, scores = made_up()
    path = write_page(tmp_path / "arena.html", arena_page.arena_page(whole, scores, STAR, "manyarms arena <&>"))
    page = path.read_text(encoding="utf-8")
    assert "manyarms arena &lt;&amp;&gt;" in page
    assert "http:" not in page.replace("http-equiv", "")
    with chromium() as browser:
        for scheme in ("light", "dark"):
            with opened(browser, path, color_scheme=scheme) as shown:
                cells = shown.locator(".heat tbody:not(.means) td[class^=h]")
                assert cells.count() == len(ratios_of(scores))
                assert shown.locator(".heat tbody:not(.means) td.star").count() == len(CONTESTS)
                assert shown.locator(".heat .means td[class^=h]").count() == len(ENTRANTS)
                title = cells.first.get_attribute("title")
                assert re.fullmatch(r".*: [\d.]+ \([\d.]+–[\d.]+\) times .*", title)
                wide = shown.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
                assert wide  # what is too wide scrolls in its own place


@pytest.mark.once
def test_intervals_are_read_by_touch_and_by_keys_and_tables_say_where_they_go_on(tmp_path):
    whole, scores = made_up(only="wear 4")
    path = write_page(tmp_path / "arena.html", arena_page.arena_page(whole, scores, STAR))
    with chromium() as browser, opened(browser, path, viewport={"width": 400, "height": 800}, has_touch=True) as shown:
        field, line = shown.locator(".heat tbody:not(.means) td[title]").nth(1), shown.locator(".reading")
        assert "its interval" in line.inner_text()
        field.tap()
        assert line.inner_text() == f"{whole.contests[0].name}. {field.get_attribute('title')}"
        assert re.search(r"\([\d.]+–[\d.]+\)", line.inner_text())
        box = line.bounding_box()
        assert box["y"] + box["height"] <= 800  # in sight
        shown.keyboard.press("ArrowRight")  # of a field that was not reached by keys, nothing
        shown.locator(".heat td[tabindex='0']").focus()
        shown.keyboard.press("ArrowDown")
        assert line.inner_text().startswith(f"{whole.contests[1].name}. ")
        shown.keyboard.press("ArrowLeft")
        assert STAR in line.inner_text()
        assert shown.locator("#heat .hint").is_visible()
        assert shown.locator(".added .hint").first.is_visible()
        assert shown.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.once
@pytest.mark.parametrize("replications", [1, 2])
def test_a_page_of_one_replication_speaks_of_no_intervals(replications):
    whole = new_arena(only="wear 4", replications=replications)
    cells = [(contest.name, cell.policy_name) for contest in whole.contests for cell in whole.studies[contest].cells]
    regrets = np.random.default_rng(0).lognormal(5.0, 1.0, (len(cells), replications))
    scores = Scores.of(whole.contests, whole.entrants, dict(zip(cells, regrets, strict=True)))
    page = arena_page.arena_page(whole, scores, STAR)
    assert ("interval" in page) == ("95 %" in page) == (replications > 1)


@pytest.mark.once
def test_the_figures_have_every_ratio(tmp_path, monkeypatch):
    part, scores = made_up(only="wear")
    figures = arena_page.heat_figures(scores)
    assert len(figures) == math.ceil(len(ENTRANTS) / arena_page.MOST_ACROSS)
    numbers = 0
    for panel in (figure.axes[0] for figure in figures):
        texts = [text.get_text() for text in panel.texts]
        assert {contest.name for contest in part.contests} <= set(texts)
        assert sum(entrant.name in texts for entrant in ENTRANTS) <= arena_page.MOST_ACROSS
        numbers += sum(bool(re.fullmatch(r"[\d.,]+", text)) for text in texts)
    assert numbers == len(ratios_of(scores)) + len(ENTRANTS)
    first, second = (save(figures[0], tmp_path / f"{name}.png").read_bytes() for name in "ab")
    assert first == second
    monkeypatch.setattr(arena_page, "save", lambda figure, path: path.name)
    assert arena_page.write_figures(scores, tmp_path)[:2] == ["arena-1.png", "arena-1.svg"]
    monkeypatch.setattr(arena_page, "MOST_ACROSS", len(ENTRANTS))
    assert arena_page.write_figures(scores, tmp_path) == ["arena.png", "arena.svg", "arena.pdf"]


def test_a_dry_run_says_what_there_is_to_do(tmp_path, capsys):
    assert main(["arena", "--dry-run", "--half", "test", "--json", "--folder", str(tmp_path)]) == 0
    *contests, total = json.loads(capsys.readouterr().out)
    assert len(contests) == sum(contest.half == "test" for contest in CONTESTS)
    assert total["contest"] == "all"
    assert total["cells left"] == sum(row["cells"] for row in contests)
    assert total["rounds"] == sum(row["rounds"] for row in contests)
    assert not list(tmp_path.iterdir())
    assert main(["arena", "--dry-run", "--only", "Fatigue", "--folder", str(tmp_path)]) == 0
    assert "Seconds are without compiling" in capsys.readouterr().out


def test_quick_has_a_folder_of_its_own(monkeypatch):
    folders = []
    monkeypatch.setattr(Arena, "run", lambda self, folder, **where: folders.append(str(folder)))
    monkeypatch.setattr(Arena, "plan", lambda self, folder, **where: folders.append(str(folder)) or [])
    arena()
    arena(quick=True)
    arena(quick=True, folder="there")
    for words in ([], ["--quick"], ["--quick", "--folder", "there"]):
        assert main(["arena", "--dry-run", "--json", *words]) == 0
    assert folders == ["results/arena", "results/arena-quick", "there"] * 2


def test_a_seed_of_nothing_is_in_the_command():
    assert written_out("arena", quick=True, half=None, seed=0) == "manyarms arena --quick --seed 0"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "zebra"], "no contest has 'zebra' in its name"),
        (["--replications", "0"], "replications must be a whole number of at least 1, not 0"),
        (["--import", "no_such_module"], "there is no module 'no_such_module'"),
        (["--only", ""], "only must be a text such as 'fatigue', not ''"),
        (["--only", "zebra", "--quick"], "manyarms arena --quick --dry-run has all of them"),
        (["--out", "folder"], "--out 'folder' is a folder; give a file such as folder/arena.html"),
        (["--out", "page.png"], "--out 'page.png' must end in .html or .htm"),
        (["--out", "file/page.html"], "file: Not a directory; give a file such as arena.html in another folder"),
        (["--out", ""], "--out '' names nothing; give a file such as arena.html"),
        (["--figures", "file"], "--figures 'file' is a file; give a folder such as figures"),
        (["--figures", "file/in"], "file: Not a directory; give a folder such as figures in another folder"),
        (["--figures", ""], "--figures '' names nothing; give a folder such as figures"),
        (["--folder", "file"], "--folder 'file' is a file; give a folder such as results/arena"),
        (["--json", "--out", "page.html"], "writes neither page nor figures; leave out --json or --out"),
        (["--json", "--figures", "new"], "writes neither page nor figures; leave out --json or --figures"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_played(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    monkeypatch.setattr(Arena, "run", lambda *_, **__: pytest.fail("a contest was played"))
    assert main(["arena", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


@pytest.mark.compiled
def test_a_part_of_the_quick_arena_is_run_and_kept_and_shown(tmp_path, capsys, monkeypatch):
    [grid] = [entrant for entrant in QUICK_ENTRANTS if entrant.name.startswith("Elimination, warm")]
    few = (*(entrant for entrant in QUICK_ENTRANTS if entrant.name in (STAR, "UniformPlay", "Elimination")), grid)
    monkeypatch.setitem(arena_module.LEAGUES, False, dataclasses.replace(ARENA, quick_entrants=few))
    folder = tmp_path / "results"
    command = ["arena", "--quick", "--only", "still, beta 0.4", "--replications", "3", "--folder", str(folder)]
    assert main([*command, "--figures", str(tmp_path / "figures")]) == 0
    out = capsys.readouterr().out
    for words in ("Leaderboard", f"{STAR} against its rivals", grid.name, "1 of 1"):
        assert words in out
    page = (folder / "arena.html").read_text(encoding="utf-8")
    assert "manyarms arena --quick --only &#x27;still, beta 0.4&#x27; --replications 3" in page
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    files = {path: path.stat().st_mtime_ns for path in folder.glob("*/cells/*.parquet")}
    [contest] = chosen_contests(quick=True, only="still, beta 0.4")
    assert len(files) == 3 + len(grid.policies(contest))
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert sum(row["ratio"] < 1.0 for row in rows) == 1
    # The same numbers as a simulation, and as the Python function with somebody else beside them.
    result = ma.simulate(ma.UniformPlay(), contest.world, contest.horizon, replications=3, seed=1)
    wanted = result.final_regret("UniformPlay")
    [row] = [row for row in rows if row["entrant"] == "UniformPlay"]
    assert row["regret"] == pytest.approx(wanted.mean())
    scores = arena({"mine": ma.UniformPlay()}, tmp_path / "own", quick=True, only="still, beta 0.4", replications=3)
    np.testing.assert_array_equal(scores.totals[contest.name, "mine"], wanted)
