"""The simulated news site is what its words say, and the same for all that choose."""

import numpy as np
import pytest

from examples import news_site as ns

pytestmark = pytest.mark.once

AT_ONCE, LATE, WHOLE = ns.VARIANTS.values()
IMPRESSIONS = 10_000  # more than an hour: timeouts come due


class Witness(ns.Random):
    """Shows any headline, and takes down all that it is told."""

    def __init__(self, known, dice):
        super().__init__(known, dice)
        self.came, self.went, self.seen, self.told = {}, {}, [], []
        self.impression = 0  # the next one

    def add(self, headlines):
        self.came |= dict.fromkeys(headlines, self.impression)

    def withdraw(self, headline):
        assert headline in self.came
        self.went[headline] = self.impression

    def choose(self, impression, now, segment, eligible):
        headline = super().choose(impression, now, segment, eligible)
        self.seen.append((impression, now, segment, eligible, headline))
        self.impression = impression + 1
        return headline

    def tell(self, impression, headline, is_click, now):
        self.told.append((impression, headline, is_click, now))


def witness(site, seed=0):
    known = ns.Known(len(site.rates), site.audiences, site.variant.is_late)
    return Witness(known, np.random.default_rng(seed))


def witnessed(variant, impressions=IMPRESSIONS):
    site = ns.open_site(3, variant, impressions)
    chooser = witness(site)
    return site, chooser, ns.play(site, chooser)


@pytest.fixture(scope="module")
def whole():
    return witnessed(WHOLE)


def test_there_is_a_stock_and_one_more_headline_every_200_impressions(whole):
    _, chooser, _ = whole
    expected = dict.fromkeys(range(500), 0) | {499 + n: 200 * n for n in range(1, 50)}
    assert chooser.came == expected


def test_rates_are_those_of_the_law():
    rates = ns.rates_of_headlines(np.random.default_rng(1), 100_000)
    assert rates.min() >= ns.LEAST
    assert rates.max() <= ns.MOST
    assert rates.mean() == pytest.approx(0.0167, abs=0.0002)
    assert np.median(rates) < rates.mean()


def test_random_headlines_earn_about_1600_clicks_per_100_000():
    clicks = [ns.run("random headline", "answers at once", seed, 50_000).clicks for seed in range(4)]
    assert np.mean(clicks) == pytest.approx(1600, abs=150)


def test_headlines_are_withdrawn_when_the_site_says_so_and_not_shown_after(whole):
    site, chooser, shown = whole
    due = np.flatnonzero(site.withdrawn < IMPRESSIONS)
    assert chooser.went == {int(headline): int(site.withdrawn[headline]) for headline in due}
    impressions = np.arange(IMPRESSIONS)
    assert np.all(site.written[shown.headlines] <= impressions)
    assert np.all(impressions < site.withdrawn[shown.headlines])


def test_some_headlines_are_withdrawn_at_once_and_the_stock_lasts():
    lives = ns.lives_of_headlines(np.random.default_rng(1), 100_000)
    assert np.mean(lives < ns.HASTE) == pytest.approx(ns.HASTY, abs=0.01)
    assert lives.min() == 0
    assert lives[lives >= ns.HASTE].mean() == pytest.approx(ns.LIFE, rel=0.02)
    site = ns.open_site(3, WHOLE)
    now = len(site.moods) - 1
    assert np.sum((site.written <= now) & (site.withdrawn > now)) > 300


def test_eligible_is_what_is_there_for_the_segment(whole):
    site, chooser, _ = whole
    for impression, _, segment, eligible, _ in chooser.seen[::997]:
        is_there = (site.written <= impression) & (site.withdrawn > impression)
        is_for = np.array([segment in audience for audience in site.audiences])
        assert np.array_equal(eligible, np.flatnonzero(is_there & is_for))


def test_segments_are_respected_and_have_their_shares(whole):
    site, chooser, shown = whole
    assert all(segment in site.audiences[headline] for _, _, segment, _, headline in chooser.seen)
    assert np.mean(site.segments == "A") == pytest.approx(0.5, abs=0.02)
    audiences = ns.open_site(3, WHOLE).audiences
    shares = [np.mean(audiences == audience) for audience in ns.AUDIENCES]
    assert shares == pytest.approx(ns.SHARES, abs=0.05)
    assert set(site.audiences[shown.headlines]) == set(ns.AUDIENCES)


@pytest.mark.parametrize("why", ["withdrawn", "not written yet", "for others"])
def test_what_cannot_be_shown_is_refused(why):
    site = ns.open_site(3, WHOLE, 1000)
    for_others = "B" if site.segments[0] == "A" else "A"
    headline = {
        "withdrawn": np.argmin(site.withdrawn),
        "not written yet": len(site.rates) - 1,
        "for others": np.flatnonzero((site.audiences == for_others) & (site.withdrawn > 1000))[0],
    }[why]
    chooser = witness(site)
    chooser.choose = lambda *_: int(headline)
    with pytest.raises(ValueError, match=f"headline {headline} cannot be shown"):
        ns.play(site, chooser)


def test_all_choosers_and_variants_face_the_same_site():
    one, other = ns.open_site(5, WHOLE, 2000), ns.open_site(5, WHOLE, 2000)
    for name in ("rates", "written", "withdrawn", "audiences", "segments", "moods", "delays"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    simple = ns.open_site(5, AT_ONCE, 2000)
    for name in ("rates", "written", "segments", "moods"):
        assert np.array_equal(getattr(one, name), getattr(simple, name))
    assert np.all(simple.withdrawn == ns.NEVER)
    assert set(simple.audiences) == {"AB"}
    assert not np.array_equal(one.rates, ns.open_site(6, WHOLE, 2000).rates)


def test_a_run_repeats():
    first = ns.run("Thompson, all", "the whole site", 5, 3000)
    assert np.array_equal(first.is_clicked, ns.run("Thompson, all", "the whole site", 5, 3000).is_clicked)


def test_a_headline_wears_with_its_own_impressions_only(whole):
    site, _, shown = whole
    before = np.zeros(IMPRESSIONS)
    counts = np.zeros(len(site.rates))
    for impression, headline in enumerate(shown.headlines):
        before[impression] = counts[headline]
        counts[headline] += 1
    rates = site.rates[shown.headlines] * np.exp(-ns.WEAR * before)
    assert np.array_equal(shown.is_clicked, site.moods < rates)


def test_half_of_a_rate_is_gone_after_7_000_impressions():
    site = ns.open_site(3, AT_ONCE, 7000)
    audience = ns.Audience(site)
    for impression in range(7000):
        audience.see(impression, 7, 0.0)
    assert audience.rates[7] == pytest.approx(site.rates[7] * np.exp(-0.7))
    assert audience.rates[8] == site.rates[8]


def test_answers_at_once_come_before_the_next_visitor():
    _, chooser, shown = witnessed(AT_ONCE, 2000)
    expected = zip(shown.headlines.tolist(), shown.is_clicked.tolist(), strict=True)
    assert [told[:3] for told in chooser.told] == [(n, *pair) for n, pair in enumerate(expected)]
    assert all(now == impression / ns.PER_SECOND for impression, _, _, now in chooser.told)


@pytest.mark.parametrize("variant", [LATE, WHOLE])
def test_late_answers_come_in_order_within_their_bounds_and_none_before_its_time(variant):
    _, chooser, shown = witnessed(variant)
    times = [now for *_, now in chooser.told]
    assert times == sorted(times)
    waits = {True: [], False: []}
    for impression, headline, is_click, now in chooser.told:
        assert (headline, is_click) == (shown.headlines[impression], shown.is_clicked[impression])
        waits[is_click].append(now - impression / ns.PER_SECOND)
    assert np.allclose(waits[False], ns.TIMEOUT)
    assert min(waits[True]) >= ns.SOONEST - 1e-9
    assert max(waits[True]) < ns.TIMEOUT
    assert np.median(waits[True]) < 100  # most clicks come soon: the middle of a log-uniform wait is 42 s
    last = (IMPRESSIONS - 1) / ns.PER_SECOND
    is_due = np.arange(IMPRESSIONS) / ns.PER_SECOND <= last - ns.TIMEOUT
    told = np.zeros(IMPRESSIONS, dtype=int)
    np.add.at(told, [impression for impression, *_ in chooser.told], 1)
    assert np.all(told[is_due] == 1)
    assert told.max() == 1


def test_each_process_serves_and_hears_of_its_own_visitors():
    site = ns.open_site(3, WHOLE, IMPRESSIONS)
    choosers = [witness(site, seed) for seed in range(4)]
    exchanged = []
    ns.play_in_processes(site, choosers, lambda all_of_them, now: exchanged.append((len(all_of_them), now)), 2500)
    for place, chooser in enumerate(choosers):
        assert [impression for impression, *_ in chooser.seen] == list(range(place, IMPRESSIONS, 4))
        assert {impression % 4 for impression, *_ in chooser.told} == {place}
        assert chooser.came.keys() == choosers[0].came.keys()
        assert chooser.went.keys() == choosers[0].went.keys()
    assert exchanged == [(4, n / ns.PER_SECOND) for n in (2500, 5000, 7500)]


@pytest.mark.parametrize("name", [name for name in ns.CHOOSERS if name != "Forager"])
def test_rivals_play_all_variants_alone_and_in_four_processes(name):
    for variant in ns.VARIANTS:
        assert ns.run(name, variant, 1, 500).is_clicked.shape == (500,)
    assert ns.run(name, "the whole site", 1, 500, processes=4).clicks >= 0


def test_the_table_has_a_row_for_each_chooser_and_the_picture_is_drawn(tmp_path):
    names = ("random headline", ns.ORACLE)
    runs = [ns.run(name, variant, seed, 400) for name in names for variant in ns.VARIANTS for seed in (1, 2)]
    rows = ns.table(runs).rows
    assert [row["chooser"] for row in rows] == list(names)
    assert rows[0].keys() == {"chooser", *ns.VARIANTS, "seconds"}
    assert ns.save(ns.picture(runs, 2), tmp_path / "site.png").stat().st_size > 10_000
