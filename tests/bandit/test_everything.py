"""The whole interface of a live bandit, in any order, against a slow model of its catalogue."""

import json
import random

import pytest

import manyarms as ma
from tests.reference.catalogue import HERE, PAUSED, WITHDRAWN, Known
from tests.reference.live_catalogue import ABSENT, LiveCatalogueModel

SEGMENTS = {"even": lambda key: key % 2 == 0, "few": lambda key: key % 7 == 3}
REWARDS = (0.0, 0.25, 0.5, 1.0)  # sums of these are exact
MOST_ITEMS = 60
MOST_HEARD_OF = 40  # beside those
FULL_LOOK = 20  # operations from one look at everything to the next
FORGETFUL = 400  # decisions of the past that the model is asked about


GONE = Known(state=WITHDRAWN)

WEIGHTS = {
    "ask": 40, "tell": 40, "tell_the_newest": 20, "forget": 5, "correct": 5, "expire": 4, "add": 4, "withdraw": 4,
    "pause": 4, "restore": 9, "observe": 3, "warm": 1, "save_and_load": 1, "recover": 2, "repeat": 3, "refused": 5,
    "supply": 4, "hear": 3, "news": 2,
}  # fmt: skip
"""How often each operation is done."""


def without_scratch(bandit):
    """A snapshot; but for the room in which `Forager` works out what to ask for, which a journal does not follow."""
    values = bandit.to_json()
    values.pop("checksum")
    for name in ("draft", "cells", "likelihood", "belief"):
        values["state"].get("grid", {}).pop(name, None)
    return values


class Source:
    """An iterator of what is to come in the model, which notes what it gave; it may have more later."""

    def __init__(self, model):
        self.model, self.given = model, []

    def __iter__(self):
        return self

    def __next__(self):
        for key in list(self.model.to_come):
            if key in self.given:
                continue
            if self.model.items.get(key, GONE).state not in (HERE, PAUSED):
                self.given.append(key)
                return key
            self.model.to_come.remove(key)  # it would be refused
        raise StopIteration


class Everything:
    """A bandit and the model do the same; the bandit writes a journal, dies and is recovered, is saved and loaded."""

    def __init__(self, policy, seed, folder, **terms):
        self.dice = random.Random(seed)
        self.folder, self.files, self.now, self.fresh, self.heard_of = folder, 0, 0.0, 12, 0
        model_terms = {name: terms.get(name) for name in ("pending", "timeout", "on_timeout")}
        self.model = LiveCatalogueModel([], SEGMENTS, **model_terms, correctable=terms.get("correctable", 0))
        self.journal = self.new_file("journal")
        self.source = Source(self.model)
        terms |= {"segments": SEGMENTS, "clock": self.clock, "journal": self.journal}
        keys = list(range(self.fresh))
        if seed % 3 == 0:
            self.model.add(keys)
            self.bandit = ma.Bandit(policy, seed, items=keys, **terms)
            self.bandit.add(self.source)
        else:  # with a past, of items that are here and of others; from a list, or all from an iterator
            self.model.add(keys if seed % 3 == 1 else [])
            self.model.to_come += [] if seed % 3 == 1 else keys
            past = [(key, 5, 1.25) for key in (3, 7, 12, 13, 14)]
            for row in past:
                self.model.hear(*row)
            self.fresh += 3
            self.bandit = ma.Bandit.from_history(
                policy, past, seed, items=keys if seed % 3 == 1 else self.source, **terms
            )
            if seed % 3 == 1:
                self.bandit.add(self.source)
        self.hows, self.refusals = {}, 0
        self.acts = [getattr(self, name) for name, weight in WEIGHTS.items() for _ in range(weight)]

    def clock(self):
        return self.now

    def new_file(self, kind):
        self.files += 1
        return self.folder / f"{kind}-{self.files}"

    def some(self, most):
        keys = list(self.model.items)
        return self.dice.sample(keys, min(len(keys), self.dice.randrange(most + 1)))

    def any_key(self):
        return self.dice.choice(list(self.model.items))

    def any_open(self):
        waiting = self.model.open()
        return self.dice.choice(waiting) if waiting else None

    def any_wish(self):
        wish = {}
        kind = self.dice.randrange(8)
        if kind in (0, 4):
            wish["among"] = [*self.some(8), *self.dice.choice(([], [-5], self.model.to_come[:2]))]
            if not wish["among"]:
                wish["among"] = [-5]  # a key that nobody knows is passed over
        if kind in (1, 4):
            wish["exclude"] = self.some(30)
        if kind == 2:
            part = self.dice.randrange(3)
            wish["where"] = lambda key: key % 3 == part
        if kind in (3, 5):
            wish["segment"] = self.dice.choice(list(SEGMENTS))
        if kind == 5:
            wish["exclude"] = self.some(10)
        return wish

    # Operations.

    def ask(self):
        self.now += self.dice.choice((0.0, 0.0, 0.5, 3.0))
        self.model.look(self.now)
        wish = self.any_wish()
        if not self.model.eligible(wish) and not self.model.may_be_taken(**wish):
            self.refusals += 1
            with pytest.raises(ma.NoMoreItems):
                self.bandit.ask(**wish)
            self.note_what_was_taken()
            return
        decision = self.bandit.ask(**wish)
        self.note_what_was_taken()
        first = self.model.first_untouched(wish)
        self.hows[decision.how] = self.hows.get(decision.how, 0) + 1
        known = self.model.items[decision.key]
        assert decision.key in self.model.eligible(wish)
        assert decision.item == decision.key
        assert decision.number == self.bandit.asked == len(self.model.decisions) + 1
        assert decision.id not in self.model.decisions
        assert decision.is_new == (known.asks == 0)
        assert 0.0 < decision.probability <= 1.0
        assert (decision.arm < 0) == (decision.how in (ma.How.OUTSIDE, ma.How.HOLDOUT))
        if known.asks == known.plays == 0 and decision.how != ma.How.HOLDOUT:
            assert decision.key == first
        assert not (decision.is_out_of_stock and first is not None)
        self.model.asked(decision, self.now if self.model.timeout is not None else 0.0)

    def note_what_was_taken(self):
        for key in self.source.given:
            self.model.take(key)
        self.source.given.clear()

    def tell(self, newest=False):
        self.model.look(self.now)
        identity = self.model.open()[-1:] or [None] if newest else [self.any_open()]
        if identity[0] is not None:
            reward = self.dice.choice(REWARDS)
            assert self.bandit.tell(identity[0], reward) in self.model.tell(identity[0], reward)

    def tell_the_newest(self):
        self.tell(newest=True)

    def repeat(self):
        if self.model.decisions:
            self.model.look(self.now)
            identity = self.dice.choice(list(self.model.decisions)[-FORGETFUL:])
            reward = self.dice.choice(REWARDS)
            assert self.bandit.tell(identity, reward) in self.model.tell(identity, reward)

    def forget(self):
        if self.model.decisions:
            identity = self.any_open() or self.dice.choice(list(self.model.decisions)[-FORGETFUL:])
            assert self.bandit.forget(identity) == self.model.forget(identity)

    def correct(self):
        if self.model.correctable and self.model.rewarded:
            identity = self.dice.choice(self.model.rewarded[-3 * self.model.correctable :])
            reward = self.dice.choice(REWARDS)
            if self.model.can_correct(identity):
                assert self.bandit.correct(identity, reward) in ("corrected", "ignored")
                self.model.correct(identity, reward)
            else:
                with pytest.raises(KeyError, match="not among the last"):
                    self.bandit.correct(identity, reward)

    def expire(self):
        if self.model.timeout is not None:
            self.now += self.dice.choice((0.0, 2.0, 9.0))
            assert self.bandit.expire() == self.model.look(self.now)

    def add(self):
        fresh = range(self.fresh, self.fresh + self.dice.randrange(4)) if len(self.model.items) < MOST_ITEMS else ()
        keys = [*fresh, *(key for key in self.some(2) if self.dice.random() < 0.5)]
        if self.dice.random() < 0.3:
            keys = [*fresh, *(key for key, known in self.model.items.items() if known.state == ABSENT)]
        self.dice.shuffle(keys)
        first = self.dice.random() < 0.5
        if self.model.can_add(keys):
            self.fresh += len(fresh)
            self.bandit.add(keys, first=first)
            self.model.add(keys, first)
        else:
            before = self.bandit.to_json()
            with pytest.raises(ValueError, match="there already, and nothing was added"):
                self.bandit.add(keys, first=first)
            assert self.bandit.to_json() == before

    def supply(self):
        """An iterator has more: new items, and some that are known."""
        left = MOST_ITEMS - len({*self.model.items, *self.model.to_come})
        fresh = range(self.fresh, self.fresh + min(self.dice.randrange(4), max(left, 0)))
        self.fresh += len(fresh)
        self.model.to_come += [*fresh, *(key for key in self.some(4) if key not in self.model.to_come)]

    def hear(self):
        """News of items that are here, that are not, and that may come."""
        rows = []
        for key in {*self.some(3), *self.model.to_come[:1]}:
            plays = self.dice.randrange(9)
            rows.append([key, plays, plays * self.dice.choice(REWARDS)])
        if self.dice.random() < 0.2 and self.heard_of < MOST_HEARD_OF:
            rows.append([self.fresh, 4, 1.0])
            if self.dice.random() < 0.5:
                self.model.to_come.append(self.fresh)
            self.fresh += 1
            self.heard_of += 1
        self.bandit.hear(rows)
        for row in rows:
            self.model.hear(*row)

    def news(self):
        assert {key: tuple(counts) for key, *counts in self.bandit.news()} == self.model.news()

    def withdraw(self):
        key = self.any_key()
        self.bandit.withdraw(key)
        self.model.set_aside(key, WITHDRAWN)

    def pause(self):
        key = self.any_key()
        self.bandit.pause(key)
        self.model.set_aside(key, PAUSED)

    def restore(self):
        away = [key for key, known in self.model.items.items() if known.state != HERE]
        key = self.dice.choice(away) if away else self.any_key()
        self.bandit.restore(key)
        self.model.restore(key)

    def observe(self):
        key = self.any_key()
        if self.dice.random() < 0.3 and len(self.model.items) < MOST_ITEMS:
            key, self.fresh = self.fresh, self.fresh + 1
            self.bandit.add([key])
            self.model.add([key])
        plays = self.dice.randrange(1, 9)
        reward = plays * self.dice.choice(REWARDS)
        self.bandit.observe(key, plays, reward)
        self.model.observe(key, plays, reward)

    def warm(self):
        self.bandit.warm()

    def refused(self):
        """Wrong words of all kinds: an error, and nothing is changed."""
        before = self.bandit.to_json()
        for act in (
            lambda: self.bandit.withdraw("nobody"),
            lambda: self.bandit.restore([1]),
            lambda: self.bandit.observe(0, 1, 2.0),
            lambda: self.bandit.ask(segment="nobody"),
            lambda: self.bandit.ask(among="0"),
            lambda: self.bandit.tell("ba9876543210-1", 1.0),
            lambda: self.bandit.add([self.any_key(), {}]),
        ):
            with pytest.raises((KeyError, TypeError, ValueError)):
                act()
        assert self.bandit.to_json() == before

    def save_and_load(self):
        path = self.new_file("snapshot")
        self.bandit.save(path)
        self.bandit.close()
        self.journal.unlink()
        self.journal = self.new_file("journal")
        before = self.bandit.to_json()
        self.bandit = ma.Bandit.load(path, segments=SEGMENTS, clock=self.clock, journal=self.journal)
        assert self.bandit.to_json() == before
        self.bandit.add(self.source)
        path.unlink()

    def recover(self):
        self.bandit.close()
        before = json.dumps(without_scratch(self.bandit))
        self.bandit = ma.Bandit.recover(self.journal, segments=SEGMENTS, clock=self.clock)
        assert json.dumps(without_scratch(self.bandit)) == before
        self.bandit.add(self.source)

    # What always holds.

    def look_at_everything(self):
        bandit, model = self.bandit, self.model
        assert bandit.open_decisions == model.open()
        assert (bandit.asked, bandit.told, bandit.timed_out) == (len(model.decisions), model.told, model.timed_out)
        items = bandit._catalogue.items
        assert set(items) == set(model.items)
        waiting_for = {}
        for identity in model.open():
            key = model.decisions[identity].key
            waiting_for[key] = waiting_for.get(key, 0) + 1
        for key, known in model.items.items():
            item = items[key]
            assert (item.state, item.asks, item.plays, item.reward) == (
                known.state, known.asks, known.plays, known.reward,
            ), key  # fmt: skip
            assert item.open == waiting_for.get(key, 0), key
        assert [item.key for item in bandit._catalogue.waiting if not (item.asks or item.plays)] == [
            key for key in model.untouched if model.items[key].state == HERE
        ]
        here = sorted(key for key, known in model.items.items() if known.state == HERE)
        assert sorted(item.key for item in bandit._catalogue.here.items) == here
        arms = bandit._catalogue.arms
        assert all(item.arm == arm for arm, item in arms.items())
        assert sum(item.arm is not None for item in items.values()) == len(arms)

    def run(self, operations):
        for number in range(operations):
            self.dice.choice(self.acts)()
            if number % FULL_LOOK == 0:
                self.look_at_everything()
        self.recover()
        self.look_at_everything()
        self.bandit.close()


GREEDY = ma.Subsample(ma.Greedy(), beta=1.0, arms=5)
RUNS = [
    *((ma.UniformPlay(), 13_000, terms) for terms in ({}, {"timeout": 8.0}, {"holdout": 0.2})),
    (GREEDY, 13_000, {"timeout": 8.0, "on_timeout": 0.25, "correctable": 20}),
    (GREEDY, 13_000, {"timeout": 8.0, "pending": 0.5, "correctable": 5, "holdout": 0.1}),
    (ma.Subsample(ma.Greedy(), beta=1.0, arms=5, horizon=100_000), 13_000, {"correctable": 5}),
    (ma.Elimination(beta=1.0, threshold=0.1, horizon=256), 8_000, {"timeout": 8.0}),
    (ma.Blackbox(ma.UCB(), beta=1.0, threshold=0.3), 5_000, {"holdout": 0.1}),
    (ma.CBT(beta=1.0), 5_000, {}),
    (ma.Forager(), 2_500, {"timeout": 8.0}),
    (ma.Forager(), 2_500, {"holdout": 0.2, "timeout": 8.0, "on_timeout": 0.0}),
]


def test_there_are_a_hundred_thousand_operations():
    assert sum(operations for _, operations, _ in RUNS) >= 100_000


@pytest.mark.once
@pytest.mark.parametrize("seed", range(len(RUNS)))
def test_everything_in_any_order_agrees_with_the_model(seed, tmp_path):
    policy, operations, terms = RUNS[seed]
    machine = Everything(policy, seed, tmp_path, **terms)
    machine.run(operations)
    assert machine.refusals > 0
    assert machine.model.came == {"added", "taken"}
    wanted = {ma.How.PLANNED} | ({ma.How.HOLDOUT} if terms.get("holdout") else set())
    assert wanted <= set(machine.hows)
