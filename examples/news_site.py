"""A simulated news site: who gets the most clicks out of its headlines?

    python examples/news_site.py --seeds 10 --jobs 2

prints the clicks per 100,000 impressions of each chooser in each variant of the site, and draws `news-site.png`.

The site has 500 headlines in stock, and every 200 impressions its editors write another one. Most headlines are dull, a
few are good (click rates from 0.2 % to 12 %, 1.7 % on average), and each wears out with its own impressions: half of
its rate is gone after 7,000 of them. The variants:

1. *answers at once*: whether a visitor clicked is known before the next one comes;
2. *late answers*: a click comes 1 s to 30 min after its impression, and after 30 min it is known that none will come;
3. *the whole site*: late answers; some headlines are for one half of the visitors only; and editors withdraw headlines,
   one in ten of them within minutes.

Everything is drawn from the seed, each thing from numbers of its own: all choosers face the same headlines, visitors
and withdrawals. A visitor has a mood, a number from 0 to 1, and clicks on any headline whose rate exceeds it: whoever
shows this visitor a better headline is never worse off.
"""

import argparse
import concurrent.futures
import dataclasses
import heapq
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import manyarms as ma
from manyarms.lab.figures.figures import save, separate_thousands, styled
from manyarms.results import COLOURS
from manyarms.tables import Table

IMPRESSIONS = 200_000
PER_SECOND = 2.3
"""Impressions: the whole run takes about a day of the site's time."""

STOCK, WRITTEN_EVERY = 500, 200
"""Headlines at the start, and the impressions after which there is one more."""

PRIOR, LEAST, MOST = (1.2, 77.0), 0.002, 0.12
"""Click rates: a Beta distribution, cut at both ends."""

WEAR = 0.0001
"""With each impression of its own the rate of a headline loses this share: half of it is left after 7,000."""

SOONEST, TIMEOUT = 1.0, 1800.0
"""Seconds from an impression to its click, log-uniform; a click that has not come by the timeout will not come."""

LIFE, HASTY, HASTE = 100_000, 0.1, 200
"""Impressions until a headline is withdrawn, on average; this share of them go within so many."""

SEGMENTS = "AB"
AUDIENCES, SHARES = ("A", "B", "AB"), (0.25, 0.25, 0.5)
"""Whom headlines are for, and how many of them are."""

NEVER = np.iinfo(np.int64).max

# ---------------------------------------------------------------- the site


class Variant(NamedTuple):
    """What is hard about a site."""

    is_late: bool
    has_segments: bool
    has_withdrawals: bool


VARIANTS = {
    "answers at once": Variant(is_late=False, has_segments=False, has_withdrawals=False),
    "late answers": Variant(is_late=True, has_segments=False, has_withdrawals=False),
    "the whole site": Variant(is_late=True, has_segments=True, has_withdrawals=True),
}


@dataclasses.dataclass(frozen=True)
class Site:
    """All that will happen whatever is shown: headlines by their number, visitors by that of their impression."""

    variant: Variant
    wear: float
    rates: np.ndarray  # of the headlines when they are new
    written: np.ndarray  # the impression before which each is added
    withdrawn: np.ndarray  # and the one before which it is withdrawn
    audiences: np.ndarray  # "A", "B" or "AB"
    segments: np.ndarray  # of the visitors, "A" or "B"
    moods: np.ndarray  # a visitor clicks on what has a rate above this
    delays: np.ndarray  # seconds from an impression to its click, if there is one


def open_site(seed: int, variant: Variant, impressions: int = IMPRESSIONS, wear: float = WEAR) -> Site:
    """The site of a seed: its variants have the same headlines and visitors."""
    streams = (np.random.default_rng([seed, place]) for place in itertools.count())
    headlines = STOCK + (impressions - 1) // WRITTEN_EVERY
    written = np.maximum(0, np.arange(headlines) - STOCK + 1) * WRITTEN_EVERY
    rates = rates_of_headlines(next(streams), headlines)
    audiences = next(streams).choice(AUDIENCES, headlines, p=SHARES)
    withdrawn = written + lives_of_headlines(next(streams), headlines)
    segments = next(streams).choice(list(SEGMENTS), impressions)
    moods = next(streams).random(impressions)
    delays = SOONEST * (TIMEOUT / SOONEST) ** next(streams).random(impressions)
    if not variant.has_withdrawals:
        withdrawn = np.full(headlines, NEVER)
    if not variant.has_segments:
        audiences = np.full(headlines, SEGMENTS)
    return Site(variant, wear, rates, written, withdrawn, audiences, segments, moods, delays)


def rates_of_headlines(dice: np.random.Generator, headlines: int) -> np.ndarray:
    """Draws from the prior, those beyond its ends drawn again."""
    rates = dice.beta(*PRIOR, headlines)
    while np.any(is_out := (rates < LEAST) | (rates > MOST)):
        rates[is_out] = dice.beta(*PRIOR, is_out.sum())
    return rates


def lives_of_headlines(dice: np.random.Generator, headlines: int) -> np.ndarray:
    """Impressions of the site until each is withdrawn: soon if the editor thinks again, perhaps before it is shown."""
    is_hasty = dice.random(headlines) < HASTY
    lives = np.where(is_hasty, dice.integers(0, HASTE, headlines), dice.exponential(LIFE, headlines))
    return lives.astype(np.int64)


class Stock:
    """The headlines that can be shown now."""

    def __init__(self, site: Site) -> None:
        self.is_for = {segment: np.char.find(site.audiences, segment) >= 0 for segment in SEGMENTS}
        self.is_there = np.zeros(len(site.rates), dtype=bool)
        self.eligible: dict[str, np.ndarray] = {}  # by segment, the oldest first

    def change(self, added: Sequence[int], withdrawn: Sequence[int]) -> None:
        """Some come, some go."""
        self.is_there[added] = True
        self.is_there[withdrawn] = False
        self.eligible = {segment: np.flatnonzero(self.is_there & fits) for segment, fits in self.is_for.items()}


def by_impression(impressions: np.ndarray) -> dict[int, list[int]]:
    """The headlines to which something happens before an impression."""
    found: dict[int, list[int]] = {}
    for headline, impression in enumerate(impressions.tolist()):
        found.setdefault(impression, []).append(headline)
    return found


# ---------------------------------------------------------------- choosers


class Known(NamedTuple):
    """What a chooser may know of the site beforehand."""

    headlines: int  # all that there will be, so that arrays have room
    audiences: np.ndarray
    is_late: bool


class Chooser:
    """Something that decides what to show. Headlines are numbers, younger ones have greater ones."""

    def __init__(self, known: Known, dice: np.random.Generator) -> None:
        self.known = known
        self.dice = dice

    def add(self, headlines: Sequence[int]) -> None:
        """There are more headlines."""

    def withdraw(self, headline: int) -> None:
        """Show it no more; clicks on it may still come."""

    def choose(self, impression: int, now: float, segment: str, eligible: np.ndarray) -> int:
        """One of the eligible headlines, which stand in the order of their numbers."""
        raise NotImplementedError

    def tell(self, impression: int, headline: int, is_click: bool, now: float) -> None:
        """Whether this visitor has clicked: told when it is known."""


class Random(Chooser):
    """Any headline."""

    def choose(self, impression: int, now: float, segment: str, eligible: np.ndarray) -> int:
        """One of the eligible headlines."""
        return int(eligible[self.dice.integers(len(eligible))])


class Counting(Chooser):
    """Counts clicks and impressions without one, on top of those that the true prior is worth."""

    counts_at_once = True
    """An impression counts as no click until its click comes. If it counted when that is known, by the timeout, clicks
    would be heard of first: what is shown most would look best, and they earn hardly more than random ones."""

    def __init__(self, known: Known, dice: np.random.Generator) -> None:
        super().__init__(known, dice)
        self.clicks = np.full(known.headlines, PRIOR[0])
        self.misses = np.full(known.headlines, PRIOR[1])

    def best(self, eligible: np.ndarray) -> int:
        """One of the eligible headlines, by what was counted."""
        raise NotImplementedError

    def choose(self, impression: int, now: float, segment: str, eligible: np.ndarray) -> int:
        """One of the eligible headlines."""
        headline = int(self.best(eligible))
        self.misses[headline] += self.counts_at_once
        return headline

    def tell(self, impression: int, headline: int, is_click: bool, now: float) -> None:
        """Count it."""
        self.clicks[headline] += is_click
        self.misses[headline] += (not is_click) - self.counts_at_once


class EpsilonGreedy(Counting):
    """The headline with the best expected rate, and every now and then any of them."""

    epsilon = 0.3
    """The best here of 0.05, 0.1, 0.2, 0.3 and 0.4: with less, worn favourites stay for too long."""

    def best(self, eligible: np.ndarray) -> int:
        """One of the eligible headlines."""
        if self.dice.random() < self.epsilon:
            return self.dice.choice(eligible)
        clicks = self.clicks[eligible]
        return eligible[np.argmax(clicks / (clicks + self.misses[eligible]))]


class Thompson(Counting):
    """For each headline a rate as likely as what was counted makes it; the one with the greatest is shown."""

    newest: int | None = None
    """Looks at the youngest only, so many."""

    def best(self, eligible: np.ndarray) -> int:
        """One of the eligible headlines."""
        if self.newest is not None:
            eligible = eligible[-self.newest :]
        return eligible[np.argmax(self.dice.beta(self.clicks[eligible], self.misses[eligible]))]


class ThompsonOfNewest(Thompson):
    """The same with the 100 youngest headlines: old ones go, whether or not they are worn."""

    newest = 100


class ForagerChooser(Chooser):
    """What this package is for: told nothing of rates, wear or delays."""

    def __init__(self, known: Known, dice: np.random.Generator) -> None:
        super().__init__(known, dice)
        for_whom = {segment: np.char.find(known.audiences, segment) >= 0 for segment in SEGMENTS}
        agreed: dict[str, Any] = {"timeout": TIMEOUT, "on_timeout": 0.0} if known.is_late else {}
        self.bandit = ma.Bandit(
            ma.Forager(),
            int(dice.integers(2**63)),
            items=[],
            segments={segment: lambda headline, fits=fits: bool(fits[headline]) for segment, fits in for_whom.items()},
            **agreed,
        )
        self.bandit.warm()
        self.open: dict[int, str] = {}  # ids of decisions by impression

    def add(self, headlines: Sequence[int]) -> None:
        """There are more headlines."""
        self.bandit.add(headlines)

    def withdraw(self, headline: int) -> None:
        """Show it no more."""
        self.bandit.withdraw(headline)

    def choose(self, impression: int, now: float, segment: str, eligible: np.ndarray) -> int:
        """One of the eligible headlines, of which the bandit knows by itself."""
        decision = self.bandit.ask(segment=segment, now=now)
        self.open[impression] = decision.id
        return decision.key

    def tell(self, impression: int, headline: int, is_click: bool, now: float) -> None:
        """Pass it on; where answers are late, the bandit's own timeout says that there was no click."""
        decision = self.open.pop(impression)
        if is_click or not self.known.is_late:
            self.bandit.tell(decision, float(is_click), now=now)


def exchange_news(foragers: Sequence[Any], now: float) -> None:
    """Each tells all others what came of its headlines since it last did."""
    for one in foragers:
        if one.known.is_late:
            one.bandit.expire(now)
        for key, impressions, clicks in one.bandit.news():
            for other in foragers:
                if other is not one:
                    other.bandit.observe(key, impressions, clicks)


CHOOSERS: dict[str, type[Chooser]] = {
    "Forager": ForagerChooser,
    "Thompson, 100 newest": ThompsonOfNewest,
    "Thompson, all": Thompson,
    "epsilon-greedy": EpsilonGreedy,
    "random headline": Random,
}


class Oracle(Chooser):
    """The headline with the greatest rate at the moment, which only the site knows: about as good as can be."""

    def __init__(self, site: Site) -> None:
        # Without those of its class: it knows everything, and has no dice.
        self.rates = site.rates.copy()
        self.left = np.exp(-site.wear)

    def choose(self, impression: int, now: float, segment: str, eligible: np.ndarray) -> int:
        """One of the eligible headlines."""
        headline = eligible[np.argmax(self.rates[eligible])]
        self.rates[headline] *= self.left
        return int(headline)


ORACLE = "rates known"


# ---------------------------------------------------------------- playing


class Shown(NamedTuple):
    """What became of a run, by impression."""

    headlines: np.ndarray
    is_clicked: np.ndarray


class Answer(NamedTuple):
    """What will be known, and when; the order is that of time."""

    time: float
    impression: int
    headline: int
    is_click: bool


Exchange = Callable[[Sequence[Chooser], float], None]
"""What choosers tell each other, given all of them and the time."""


def play(site: Site, chooser: Chooser) -> Shown:
    """One chooser serves all visitors."""
    return play_in_processes(site, [chooser])


def play_in_processes(
    site: Site, choosers: Sequence[Chooser], exchange: Exchange | None = None, exchange_every: int = 1000
) -> Shown:
    """Each of n choosers serves every n-th visitor and hears of these only, as processes behind one address do.

    All of them are told of headlines that come and go. ``exchange`` is called after every ``exchange_every``
    impressions.
    """
    stock = Stock(site)
    added, withdrawn = by_impression(site.written), by_impression(site.withdrawn)
    segments = site.segments.tolist()
    audience = Audience(site)
    awaited: list[Answer] = []

    def tell_until(now: float) -> None:
        while awaited and awaited[0].time <= now:
            time, impression, headline, is_click = heapq.heappop(awaited)
            choosers[impression % len(choosers)].tell(impression, headline, is_click, time)

    for impression, segment in enumerate(segments):
        now = impression / PER_SECOND
        tell_until(now)
        if exchange is not None and impression and impression % exchange_every == 0:
            exchange(choosers, now)
        if impression in added or impression in withdrawn:
            change_stock(stock, choosers, added.get(impression, []), withdrawn.get(impression, []))
        eligible = stock.eligible[segment]
        headline = choosers[impression % len(choosers)].choose(impression, now, segment, eligible)
        if not stock.is_there[headline] or not stock.is_for[segment][headline]:
            raise ValueError(f"impression {impression}: headline {headline} cannot be shown to segment {segment} now")
        heapq.heappush(awaited, audience.see(impression, headline, now))
        if not site.variant.is_late:
            tell_until(now)
    return audience.shown


def change_stock(stock: Stock, choosers: Iterable[Chooser], added: Sequence[int], withdrawn: Sequence[int]) -> None:
    """Headlines come, and then some go, perhaps of those that came just now."""
    stock.change(added, withdrawn)
    for chooser in choosers:
        if added:
            chooser.add(added)
        for headline in withdrawn:
            chooser.withdraw(headline)


class Audience:
    """The visitors, and what wears out by being shown to them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.rates = site.rates.copy()
        self.left = float(np.exp(-site.wear))
        impressions = len(site.moods)
        self.shown = Shown(np.zeros(impressions, dtype=np.int64), np.zeros(impressions, dtype=bool))

    def see(self, impression: int, headline: int, now: float) -> Answer:
        """A visitor is shown a headline; when it will be known what came of it."""
        is_click = bool(self.site.moods[impression] < self.rates[headline])
        self.rates[headline] *= self.left
        self.shown.headlines[impression] = headline
        self.shown.is_clicked[impression] = is_click
        wait = 0.0
        if self.site.variant.is_late:
            wait = float(self.site.delays[impression]) if is_click else TIMEOUT
        return Answer(now + wait, impression, headline, is_click)


class Run(NamedTuple):
    """One chooser on one site."""

    chooser: str
    variant: str
    seed: int
    is_clicked: np.ndarray
    seconds: float

    @property
    def clicks(self) -> float:
        """Per 100,000 impressions."""
        return 100_000 * float(self.is_clicked.mean())


def run(
    name: str,
    variant: str,
    seed: int,
    impressions: int,
    wear: float = WEAR,
    processes: int = 1,
    exchange_every: int = 0,
) -> Run:
    """Open the site and let a chooser, or several, serve it; Foragers may tell each other what came of headlines."""
    site = open_site(seed, VARIANTS[variant], impressions, wear)
    if name == ORACLE:
        choosers: list[Chooser] = [Oracle(site)]
    else:
        known = Known(len(site.rates), site.audiences, site.variant.is_late)
        place = 100 + list(CHOOSERS).index(name)  # far from the numbers of the site
        dice = [np.random.default_rng([seed, place, process]) for process in range(processes)]
        choosers = [CHOOSERS[name](known, own) for own in dice]
    begun = time.perf_counter()
    exchange = exchange_news if name == "Forager" and exchange_every else None
    shown = play_in_processes(site, choosers, exchange, exchange_every or impressions)
    return Run(name, variant, seed, shown.is_clicked, time.perf_counter() - begun)


# ---------------------------------------------------------------- what came of it


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return statistics.mean(values), error


def chosen(runs: Iterable[Run], chooser: str, variant: str) -> list[Run]:
    """The runs of one chooser in one variant."""
    return [run for run in runs if (run.chooser, run.variant) == (chooser, variant)]


def table(runs: Sequence[Run]) -> Table:
    """Clicks per 100,000 impressions, and what a run takes."""
    rows = []
    for chooser in dict.fromkeys(run.chooser for run in runs):
        row: dict[str, Any] = {"chooser": chooser}
        for variant in dict.fromkeys(run.variant for run in runs):
            mean, error = mean_and_error([run.clicks for run in chosen(runs, chooser, variant)])
            row[variant] = f"{mean:,.0f} ± {error:,.0f}"
        row["seconds"] = statistics.mean(run.seconds for run in runs if run.chooser == chooser)
        rows.append(row)
    return Table(rows)


def picture(runs: Sequence[Run], seeds: int) -> Any:
    """Clicks over time in the last variant, and bars for all of them."""
    with styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 3.3), layout="constrained")
        over_time, bars = figure.subplots(1, 2, width_ratios=(1.25, 1))
        names = list(dict.fromkeys(run.chooser for run in runs))
        variants = list(dict.fromkeys(run.variant for run in runs))
        for place, name in enumerate(names):
            color = "#444444" if name == ORACLE else COLOURS[list(CHOOSERS).index(name)]
            draw_over_time(over_time, chosen(runs, name, variants[-1]), color)
            draw_bars(bars, [chosen(runs, name, variant) for variant in variants], place, len(names), color)
        over_time.set(xlabel="impression", ylabel="clicks per 100,000 impressions", title=variants[-1])
        over_time.set_ylim(bottom=0)
        over_time.locator_params(axis="x", nbins=4)
        separate_thousands(over_time.xaxis)
        bars.set_xticks(range(len(variants)), labels=variants)
        bars.set(title=f"whole runs, mean ± standard error of {seeds}")
        bars.tick_params(axis="x", length=0)
        for panel in (over_time, bars):
            separate_thousands(panel.yaxis)
        handles, labels = over_time.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


WINDOWS = 20
"""Points of a curve."""


def draw_over_time(panel: Any, runs: Sequence[Run], color: str) -> None:
    """The mean over the seeds in each window of impressions."""
    clicks = np.mean([run.is_clicked for run in runs], axis=0)
    windows = np.array_split(clicks, WINDOWS)
    ends = np.cumsum([len(window) for window in windows])
    middles = ends - len(windows[0]) / 2
    style = "--" if runs[0].chooser == ORACLE else "-"
    rates = [100_000 * window.mean() for window in windows]
    panel.plot(middles, rates, color=color, linestyle=style, label=runs[0].chooser)


def draw_bars(panel: Any, groups: Sequence[Sequence[Run]], place: int, places: int, color: str) -> None:
    """One chooser's bars, its place in each group of them."""
    width = 0.84 / places
    for variant, runs in enumerate(groups):
        mean, error = mean_and_error([run.clicks for run in runs])
        at = variant + (place - (places - 1) / 2) * width
        inside = "none" if runs[0].chooser == ORACLE else color
        panel.bar(at, mean, 0.9 * width, yerr=error, color=inside, edgecolor=color, error_kw={"elinewidth": 0.8})


def parsed() -> argparse.Namespace:
    """What is wanted."""
    parser = argparse.ArgumentParser(description="A simulated news site: clicks by chooser and variant.")
    parser.add_argument("--seeds", type=int, default=10, help="how many sites (10)")
    parser.add_argument("--impressions", type=int, default=IMPRESSIONS, help="of each (200,000)")
    parser.add_argument("--wear", type=float, default=WEAR, help="share of its rate lost with an impression (0.0001)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--choosers", nargs="+", choices=CHOOSERS, default=list(CHOOSERS), metavar="CHOOSER")
    parser.add_argument("--processes", type=int, default=1, help="choosers that share the visitors of a site (1)")
    parser.add_argument(
        "--exchange-every", type=int, default=0, help="impressions after which Foragers exchange what they know (never)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (1)")
    parser.add_argument("--picture", default="news-site.png", help="where to draw it (news-site.png)")
    return parser.parse_args()


def main() -> None:
    """Run all, print the table, draw the picture."""
    wanted = parsed()
    names = [*wanted.choosers, ORACLE]
    with concurrent.futures.ProcessPoolExecutor(wanted.jobs) as pool:
        futures = [
            pool.submit(
                run, name, variant, seed, wanted.impressions, wanted.wear, wanted.processes, wanted.exchange_every
            )
            for name, variant, seed in itertools.product(names, wanted.variants, range(wanted.seeds))
        ]
        runs = [future.result() for future in futures]
    print(table(runs))
    print(save(picture(runs, wanted.seeds), wanted.picture))


if __name__ == "__main__":
    main()
