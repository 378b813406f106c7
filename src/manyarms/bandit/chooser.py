"""What to ask for next: the policy's plan if that may be asked for, else the best that may.

A plan cannot always be followed: its item was withdrawn, this visitor may not see it, or it wants a fresh item and
there is none. Then the policy says which of its arms that may be asked for is best (``ask_among``), or that a fresh one
is better, which it takes in (``draw``) if it can. What it can do nothing with is asked for outside of it, and its plan
passed over.
"""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..contract import VERBS, Choice, ask_among, draw, no_choice, recall, recommend, release, supply
from ..specs import plain_number
from ..streams import bits_at, follow, index_below, replication_key, stream_key, uniform
from .catalogue import Catalogue
from .decisions import Asked, Decision, How, NoMoreItems, Open
from .ids import Ids
from .items import WITHDRAWN, Item
from .listener import Listener
from .progress import Progress
from .times import Timeline
from .turns import deed
from .wishes import Wish

TRIES = 64
"""So often an item is drawn at random before all are looked through for those that may be asked for."""

MANY = 1000
"""So much more early news than there are open decisions is not kept waiting."""

CATALOGUE_STREAM = 0x6361746C  # beside those of `manyarms.streams`


class Mask(NamedTuple):
    """Which of the policy's slots have items that may be asked for, of all or of a segment; and for how long."""

    version: int  # while the catalogue has this one,
    arms: Any  # and these arms are in the slots
    known: Any  # slots whose items may be asked for
    unbound: Any  # slots whose arms have no item yet
    are_all_known: bool
    are_all_possible: bool  # or have no item yet


class Chooser(Listener):
    """A listener with a catalogue."""

    holdout: float
    timeout: float | None
    on_empty: str
    _catalogue: Catalogue
    _ids: Ids
    _progress: Progress
    _timeline: Timeline

    def _begin(self) -> None:
        super()._begin()
        self._ids = Ids()
        self._progress = Progress(bool(self.holdout))
        self._is_supplied = True  # whether the policy thinks that there are fresh items
        self._stock_seen = (0, 0)  # how the stock was when it was last looked at for that
        self._arms_seen = 0  # how many arms had been drawn when let-go ones were last looked for
        self._masks: dict[str | None, Mask] = {}  # by segment; None for all items
        self._attempts = 0  # asks that were begun, whatever came of them
        self._looked_for: tuple[Any, Item | None] = (None, None)
        self._key = stream_key(replication_key(self.seed, self.replication), CATALOGUE_STREAM, 0)

    def _write(self, *event: Any) -> None:
        """Into the journal, if there is one."""

    # ------------------------------------------------------------ deciding, which changes nothing but the stock

    def _next_ask(self, wish: Wish | None) -> Asked:
        """What to ask for."""
        self._attempts += 1
        if not self._is_supplied and self._catalogue.sources:
            self._catalogue.first_waiting(None)  # an iterator may have more by now
        own = self._own_ask(wish)
        if not self.holdout:
            return own
        round = self.asked + 1
        item, shares = self._at_random(wish, round)
        if uniform(bits_at(self._key, round, 0)) >= self.holdout:
            at_random = shares if own.key == item.key or shares < 1.0 else 0.0
            return own._replace(probability=(1.0 - self.holdout) * own.probability + self.holdout * at_random)
        probability = (1.0 - self.holdout) * self._own_chance(own, item, wish) + self.holdout * shares
        return Asked(How.HOLDOUT, no_choice(round), item.key, probability, False)

    def _own_ask(self, wish: Wish | None) -> Asked:
        """What the policy would ask for."""
        plan = Choice(*map(plain_number, self._kernels.ask(self._held, self.asked + 1)))
        item = self._item_for(plan.arm, wish)
        if item is None or (self.policy.is_random and self._catalogue.has_items and not self._may_be_any(wish)):
            return self._instead_of(plan, wish)
        return Asked(How.PLANNED, plan, item.key, self._item_chance(plan), False)

    def _may_be_any(self, wish: Wish | None) -> bool:
        """Whether all of the policy's arms may be asked for: only then are its own probabilities right."""
        arms = self.policy.arms_in_slots(self._held)
        if wish is None:
            mask = self._mask(arms, None)
            return mask.are_all_known or (mask.are_all_possible and self._first_waiting(None) is not None)
        return bool(self._allowed(arms, wish, self._first_waiting(wish) is not None)[0].all())

    def _item_chance(self, choice: Choice) -> float:
        """The probability of an item, given that of its slot: all slots without an item would have got the same one."""
        if choice.probability == 1.0 or choice.arm in self._catalogue.arms or not self._catalogue.has_items:
            return choice.probability
        unbound = self._mask(self.policy.arms_in_slots(self._held), None).unbound
        return min(choice.probability * int(unbound.sum()), 1.0)

    def _own_chance(self, own: Asked, item: Item, wish: Wish | None) -> float:
        """The probability with which the policy itself would have asked for an item, when it asked for ``own``."""
        if own.key == item.key:
            return own.probability
        if own.choice.slot < 0 or not self.policy.is_random:
            return 0.0
        arms = self.policy.arms_in_slots(self._held)
        fresh = self._first_waiting(wish)
        allowed, _ = self._allowed(arms, wish, fresh is not None)
        slots = np.flatnonzero(self._mask(arms, None).unbound).tolist() if item is fresh else [self._slot_of(item)]
        return sum(self.policy.chance_of(self._held, slot, allowed) for slot in slots if slot >= 0)

    def _at_random(self, wish: Wish | None, round: int) -> tuple[Item, float]:
        """Any item that may be asked for, and the probability of each; of items without an end, the next one."""
        fresh = self._first_waiting(wish) if self._catalogue.sources else None
        if fresh is not None and not fresh.asks:
            return fresh, 1.0
        return self._any(wish, round), 1.0 / self._number_here(wish)

    def _item_for(self, arm: int, wish: Wish | None) -> Item | None:
        """The item that an arm stands for, or will stand for; None if it may not be asked for."""
        catalogue = self._catalogue
        item = catalogue.arms.get(arm)
        if item is not None:
            return item if item.is_here and (wish is None or wish.admits(item)) else None
        if not catalogue.has_items:
            return Item(arm) if arm >= 0 and wish is None else None
        return self._first_waiting(wish) if arm >= 0 else None

    def _first_waiting(self, wish: Wish | None) -> Item | None:
        """The next item of the stock that may be asked for; those that the policy has let go are in it by then.

        It is looked for once for each ask, though it may be needed twice.
        """
        catalogue = self._catalogue
        ask = (self._attempts, wish, catalogue.version, catalogue.front, catalogue.behind)
        if self._looked_for[0] != ask:
            found = catalogue.first_waiting(wish)
            if found is None and self._counts.arms != self._arms_seen:
                self._write("prune")
                self._prune()
                found = catalogue.first_waiting(wish)
            # Looking may have taken in items, or put some back.
            ask = (self._attempts, wish, catalogue.version, catalogue.front, catalogue.behind)
            self._looked_for = (ask, found)
        return self._looked_for[1]

    def _instead_of(self, plan: Choice, wish: Wish | None) -> Asked:
        """What to ask for if the plan cannot be followed."""
        fresh = self._first_waiting(wish) if self._catalogue.has_items else None
        wanted_fresh = plan.arm >= 0 and plan.arm not in self._catalogue.arms
        if wanted_fresh and fresh is None and self.on_empty == "raise":
            raise NoMoreItems(
                f"a fresh item is needed, but none of the {len(self._catalogue.items):,} items is left for this ask; "
                "add some with Bandit.add, or let it go on with what it knows: on_empty='go on'. Nothing is lost: ask "
                "again then"
            )
        arms = self.policy.arms_in_slots(self._held)
        allowed, unbound = self._allowed(arms, wish, fresh is not None)
        can_draw = fresh is not None and (unbound >= 0 or self.policy.can_draw(self._held))
        choice = no_choice(plan.round)
        if allowed.any():
            choice = Choice(*map(plain_number, self._kernels.ask_among(self._held, plan.round, allowed, can_draw)))
        is_out = wanted_fresh and fresh is None
        if choice.slot >= 0:
            item = self._catalogue.arms.get(choice.arm) or fresh
            assert item is not None
            return Asked(How.ELIGIBLE, choice, item.key, self._item_chance(choice), is_out)
        if can_draw:
            assert fresh is not None
            if unbound >= 0:
                choice = plan._replace(slot=unbound, arm=int(arms[unbound]), probability=1.0)
                return Asked(How.ELIGIBLE, choice, fresh.key, 1.0, False)
            return Asked(How.DRAWN, plan, fresh.key, 1.0, False)
        if fresh is not None:
            return Asked(How.OUTSIDE, plan, fresh.key, 1.0, False)
        return Asked(How.OUTSIDE, plan, self._any(wish, plan.round).key, 1.0 / self._number_here(wish), is_out)

    def _recommended(self) -> Item | None:
        """The item of the arm that the policy would recommend, or else the best of its items that are here."""
        state, catalogue = self._state, self._catalogue
        choice = recommend(state, self.asked + 1)
        item = catalogue.arms.get(int(choice.arm))
        if item is not None and item.is_here:
            return item
        if not catalogue.has_items:
            return Item(int(choice.arm))
        known = self._mask(self.policy.arms_in_slots(state), None).known
        if not known.any():
            return None
        choice = ask_among(state, self.asked + 1, known, False)
        return catalogue.arms.get(int(choice.arm)) if choice.slot >= 0 else None

    def _allowed(self, arms: Any, wish: Wish | None, has_fresh: bool) -> tuple[Any, int]:
        """Of the policy's slots, those whose items may be asked for; and the first whose arm has no item yet."""
        mask = self._mask(arms, None if wish is None else wish.segment)
        known = mask.known
        if wish is not None and wish.among is not None:
            self._first_waiting(wish)  # which finds the arms, too
            known = known & np.isin(arms, wish.arms_among)
        if wish is not None and wish.exclude:
            known = known & ~np.isin(arms, self._arms_of(wish.exclude))
        if wish is not None and wish.where is not None:
            here = (self._catalogue.arms[int(arm)] for arm in arms[known])
            known = known.copy()
            known[known] = [bool(wish.where(item.shown)) for item in here]
        if not has_fresh or not mask.unbound.any():
            return known, -1
        return known | mask.unbound, int(mask.unbound.argmax())

    def _mask(self, arms: Any, segment: str | None) -> Mask:
        """For all items or those of a segment; found once for as long as it holds."""
        version = self._catalogue.version
        found = self._masks.get(segment)
        if found is None or found.version != version or not np.array_equal(found.arms, arms):
            items = [self._catalogue.arms.get(arm) for arm in arms.tolist()]
            known = [i is not None and i.is_here and (segment is None or segment in i.segments) for i in items]
            unbound = np.array([item is None for item in items], dtype=np.bool_) & (arms >= 0)
            may = np.array(known, dtype=np.bool_)
            found = Mask(version, arms.copy(), may, unbound, all(known), bool((may | unbound).all()))
            self._masks[segment] = found
        return found

    def _arms_of(self, keys: Iterable[Hashable]) -> list[int]:
        """The arms that stand for these items."""
        known = self._catalogue.items.get
        return [item.arm for key in keys if (item := known(key)) is not None and item.arm is not None]

    def _any(self, wish: Wish | None, round: int) -> Item:
        """Any item that is here and may be asked for."""
        here = self._catalogue.here
        bits = bits_at(self._key, round, 0)
        if wish is None or not wish.is_narrow:  # most items will do: draw until one does
            for attempt in range(1, TRIES if here.items else 1):
                item = here.items[index_below(follow(bits, attempt), len(here.items))]
                if wish is None or wish.admits(item):
                    return item
        some = here.items if wish is None else list(wish.all(here, self._catalogue.items.get))
        if not some:
            raise NoMoreItems(self._why_none(wish))
        return some[index_below(follow(bits, TRIES), len(some))]

    def _why_none(self, wish: Wish | None) -> str:
        """Why no item may be asked for, and what to do."""
        items = self._catalogue.items
        if not items:
            return "there are no items yet; add some with Bandit.add. Nothing is lost: ask again then"
        if wish is not None and wish.among is not None and not any(key in items for key in wish.among):
            keys = len(wish.among)
            return f"no item has any of the {keys:,} keys of among. Nothing is lost: add items, or ask for others"
        return (
            f"none of the {len(items):,} items may be asked for: they were withdrawn or paused, are known from "
            "elsewhere only, or this ask excludes them. Nothing is lost: add items, or ask for others"
        )

    def _number_here(self, wish: Wish | None) -> int:
        here = self._catalogue.here
        if wish is None:
            number = len(here.items)
        elif wish.is_narrow:
            number = sum(1 for _ in wish.all(here, self._catalogue.items.get))
        else:
            number = len(here.items) if wish.segment is None else here.numbers[wish.segment]
            number -= sum(1 for _ in wish.excluded(here, self._catalogue.items.get))
        return max(number, 1)

    # ------------------------------------------------------------ doing it

    @deed
    def _carry_out(self, asked: Asked, tag: str) -> Decision:
        """Make a decision of what is decided."""
        number = self.asked + 1
        self._tell_of_supply(asked.is_out_of_stock)
        choice = asked.choice
        if asked.how == How.DRAWN:
            slot = self._draw()
            arm = int(self.policy.arms_in_slots(self._held)[slot])
            choice = choice._replace(slot=slot, arm=arm, probability=1.0)
        elif asked.how in (How.OUTSIDE, How.HOLDOUT):
            if asked.how == How.OUTSIDE:
                self._pass_over(choice)
            choice = no_choice(number)
        item = self._item_of(choice, asked.key)
        is_new = item.asks == 0
        self.asked = number
        item.asked_for(number)
        if item.is_waiting:  # asked for outside of the policy, or at random: others have their turn
            self._catalogue.put(item, first=False)
        self._open.add(Open(choice, asked.key, asked.how, self._timeline.time))
        if self._progress.add_ask(number, is_new):
            self._progress.look(number, len(self.policy.kept_arms(self._held)))
        if len(self._catalogue.arms) >= self._catalogue.pruning:
            self._prune()
        return Decision(
            id=self._ids.give_out(number, tag),
            number=number,
            arm=choice.arm,
            is_new=is_new,
            probability=asked.probability,
            key=item.key,
            item=item.shown if self._catalogue.has_items else None,
            how=asked.how,
            is_out_of_stock=asked.is_out_of_stock,
        )

    def _draw(self) -> int:
        """The policy takes in a fresh arm; the slot of that."""
        state, slot = draw(self._state)
        assert slot >= 0, "a policy that can draw does"
        self._changed(state)
        return int(slot)

    def _item_of(self, choice: Choice, key: Hashable) -> Item:
        """The item of a choice, which its arm stands for from now on."""
        if choice.slot < 0:
            return self._catalogue.items[key]
        item = self._catalogue.arms.get(choice.arm)
        return self._bind(choice.arm, choice.slot, key) if item is None else item

    def _bind(self, arm: int, slot: int, key: Hashable) -> Item:
        """Let an arm stand for an item; the policy hears what is known of that from elsewhere."""
        item = self._catalogue.bind(arm, key)
        if item.plays and self._has_kernel("recall"):
            is_news = item.asks == 0 and not item.had_arm
            self._changed(recall(self._state, slot, item.plays, item.reward, is_news))
        item.had_arm = True
        return item

    def _has_kernel(self, name: str) -> bool:
        """Whether the policy can do more with a word than ignore it; to ask it costs a bit."""
        return type(self._held) in VERBS[name].kernels

    def _tell_of_supply(self, is_out: bool) -> None:
        """Let the policy know that fresh items have run out, or that there are some again."""
        stock = (self._catalogue.front, self._catalogue.behind)  # others whenever an item begins to wait
        if not self._is_supplied and stock == self._stock_seen:
            return
        self._stock_seen = stock
        has_fresh = (self._is_supplied and not is_out) or self._catalogue.has_waiting()
        if has_fresh != self._is_supplied:
            self._is_supplied = has_fresh
            if self._has_kernel("supply"):
                self._changed(supply(self._state, has_fresh))

    def _prune(self) -> None:
        """Look for arms that the policy has let go; their items may be asked for anew, and memory follows arms kept."""
        self._arms_seen = self._counts.arms
        kept = {int(arm) for arm in self.policy.kept_arms(self._held)}
        kept.update(one.choice.arm for one in self._open.all())
        self._catalogue.keep_only(kept, len(self._open))

    # ------------------------------------------------------------ what became of it

    def _close(self, one: Open, reward: float | None) -> None:
        """A decision is not open any more; its item knows of its reward, if it has one."""
        item = self._item_behind(one.key, one.choice.arm)
        if item is None:
            return
        item.open -= 1
        if reward is not None:
            self._credit(item, one.choice.round, one.how, 1, reward, reward * reward)
            if one.is_outside and item.arm is not None:
                self._recall(item, 1, reward)
        if item.state == WITHDRAWN:
            self._release(item)

    def _item_behind(self, key: Hashable, arm: int) -> Item | None:
        """The item of a decision, unless it is forgotten."""
        return self._catalogue.items.get(key) if self._catalogue.has_items else self._catalogue.arms.get(arm)

    def _credit(self, item: Item, round: int, how: How, plays: int, reward: float, squares: float) -> None:
        item.add(plays, reward, squares)
        if self._catalogue.has_items:
            if self.timeout is None:
                self._add_news(item.key, plays, reward)
            else:
                self._catalogue.early_news.append((round, item.key, plays, reward))
                if len(self._catalogue.early_news) > 2 * len(self._open) + MANY:
                    self._ripen_news()
        self._progress.add_reward(round, how == How.HOLDOUT, plays, reward, squares)

    def _ripen_news(self) -> None:
        """Add up what is known of decisions before the oldest that is open: of later ones, good news comes first."""
        oldest = None if self.timeout is None else self._open.oldest()
        early = self._catalogue.early_news
        self._catalogue.early_news = [] if oldest is None else [one for one in early if one[0] > oldest[0]]
        for number, key, plays, reward in early:
            if (oldest is None or number < oldest[0]) and key in self._catalogue.items:
                self._add_news(key, plays, reward)

    def _add_news(self, key: Hashable, plays: int, reward: float) -> None:
        before = self._catalogue.news.get(key, (0, 0.0))
        self._catalogue.news[key] = before[0] + plays, before[1] + reward

    def _recall(self, item: Item, plays: int, reward: float) -> None:
        """Let the policy know what was seen of one of its arms elsewhere."""
        slot = self._slot_of(item) if self._has_kernel("recall") else -1
        if slot >= 0:
            self._changed(recall(self._state, slot, plays, reward, True))

    def _slot_of(self, item: Item) -> int:
        """Where the policy has the arm of an item; -1 if nowhere."""
        if item.arm is None:
            return -1
        found = np.flatnonzero(self.policy.arms_in_slots(self._held) == item.arm)
        return int(found[0]) if found.size else -1

    def _release(self, item: Item) -> None:
        """The policy may forget the arm of a withdrawn item, once none of its asks is open; else it stays its arm."""
        if item.open == 0 and item.arm is not None:
            slot = self._slot_of(item)
            if slot >= 0:
                if not self._has_kernel("release"):
                    return  # what the policy knows of this arm is of no other item
                self._defer_newest()
                self._changed(release(self._state, slot))
            self._catalogue.unbind(item)
