"""A live catalogue that hears of others, slow and obvious: items that are known and not here, iterators, news."""

from .catalogue import HERE, WITHDRAWN, CatalogueModel, Known

ABSENT = "absent"  # known from the past or from news, and never given as an item


class LiveCatalogueModel(CatalogueModel):
    """What `manyarms.Bandit` should know of its items, wherever they and what is known of them come from."""

    def __init__(self, keys, segments, **terms):
        self.to_come = []  # what an iterator has not given yet, in its order
        self.news_to_come = []  # by whom else has not heard of it: number of the decision, key, plays, reward
        self.came = set()  # how absent items have come
        super().__init__(keys, segments, **terms)

    # Items from elsewhere.

    def hear(self, key, plays, reward):
        if key not in self.items:
            self.items[key] = Known(state=ABSENT)
        self.observe(key, plays, reward)

    def observe(self, key, plays, reward):
        if plays:
            super().observe(key, plays, reward)

    def add(self, keys, first=False):
        for key in keys:
            if key in self.items and self.items[key].state == ABSENT:
                self.items[key].state = WITHDRAWN  # and comes as such an item does
                self.came.add("added")
        super().add(keys, first)

    def can_add(self, keys):
        is_gone = [key not in self.items or self.items[key].state in (WITHDRAWN, ABSENT) for key in keys]
        return all(is_gone) and len(set(keys)) == len(keys)

    # Iterators.

    def may_come(self, key):
        return key not in self.items or self.items[key].state == ABSENT

    def take(self, key):
        """An iterator has given it; what was withdrawn stays so."""
        self.to_come.remove(key)
        if self.may_come(key):
            if key in self.items:
                self.came.add("taken")
            self.items[key] = self.items.get(key) or Known()
            self.items[key].state = HERE
            self.place(key, first=False)

    def may_be_taken(self, among=None, exclude=None, where=None, segment=None):
        """What may be asked for as soon as it is taken."""
        wanted = [key for key in self.to_come if self.may_come(key)]
        return [
            key
            for key in wanted
            if (among is None or key in among)
            and (exclude is None or key not in exclude)
            and (where is None or where(key))
            and (segment is None or self.segments[segment](key))
        ]

    # News.

    def close(self, identity, reward):
        super().close(identity, reward)
        if reward is not None:
            self.tell_of(identity, 1, reward)

    def correct(self, identity, reward):
        self.tell_of(identity, 0, reward - self.decisions[identity].reward)
        super().correct(identity, reward)

    def tell_of(self, identity, plays, reward):
        self.news_to_come.append((identity, self.decisions[identity].key, plays, reward))

    def news(self):
        """With a timeout, of decisions before all that are open; and of sums that as many rewards can have."""
        order = {identity: number for number, identity in enumerate(self.decisions)}
        waiting = [order[identity] for identity in self.open()] if self.timeout is not None else []
        is_ripe = {identity: order[identity] < min(waiting, default=len(order)) for identity, *_ in self.news_to_come}
        sums = {}
        for identity, key, plays, reward in self.news_to_come:
            if is_ripe[identity]:
                before = sums.get(key, (0, 0.0))
                sums[key] = before[0] + plays, before[1] + reward
        told = {key: sums[key] for key in sums if sums[key][0] and 0.0 <= sums[key][1] <= sums[key][0]}
        self.news_to_come = [one for one in self.news_to_come if not (is_ripe[one[0]] and one[1] in told)]
        return told
