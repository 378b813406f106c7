"""The report: it holds the numbers of the results, works in a browser, and loads nothing."""

import html
import json
import re

import numpy as np
import pytest

import manyarms as ma
from manyarms.intervals import means_and_half_widths
from manyarms.lab.figures.statistics import (
    Grid,
    difference,
    number,
    slope_over_horizons,
    with_half_width,
)
from manyarms.lab.pages.report import MOST_DOTS, Section, file_of, read_results, report, write_report
from manyarms.lab.running.files import CellResult, write_result, write_study
from manyarms.lab.studies.study import Cell, Study
from manyarms.results import COLOURS
from manyarms.tables import Table
from manyarms.trace import COLUMNS
from tests import browser as browsers

pytestmark = pytest.mark.once

COMMAND = "manyarms run rotting.toml --folder 'a & b'"
POLICIES = {"Elimination": ma.Elimination(beta=1.0), "SSUCB": ma.SSUCB(beta=1.0), "UniformPlay": ma.UniformPlay()}
WORLDS = {
    "still": ma.World(ma.PowerLaw(beta=1.0)),
    "rotting": ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t")),
}


def made_up(study, replications=None, sign=1.0):
    """Results of a study with numbers that look like some, without playing it."""
    results = []
    for index, cell in enumerate(study.cells):
        random = np.random.default_rng(index)
        rounds = study.rounds_kept(cell)
        luck = 1.0 + 0.2 * random.random((replications or study.replications, 1, 1))
        speed = np.linspace(0.1, 1.0, len(COLUMNS)) * (1 + index % 5)
        values = luck * speed * (rounds[:, None] ** 0.7)
        values[:, :, 0] *= sign
        results.append(CellResult(study, index, 0, values))
    return results


@pytest.fixture(scope="module")
def study():
    return Study.of("rotting", POLICIES, WORLDS, [1000, 5000, 20_000], 12, seed=3, about="What does rotting cost?")


@pytest.fixture(scope="module")
def results(study):
    return made_up(study)


@pytest.fixture(scope="module")
def page_text(results):
    return report(results, COMMAND)


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


# ---------------------------------------------------------------- the file


def test_rewards_come_first_where_regret_is_not_counted_from_the_best_mean(page_text):
    low = {"low": ma.World(ma.PowerLaw(beta=1.0, top=0.3))}
    other = report(made_up(Study.of("low", POLICIES, low, [1000], 3, seed=3)))
    assert page_text.index('id="regret"') < page_text.index('id="reward"') < page_text.index('id="ends"')
    assert other.index('id="reward"') < other.index('id="regret"') < other.index('id="ends"')
    heads = [re.findall(r"<th[^>]*>(Mean regret|Reward a round)</th>", text)[:2] for text in (page_text, other)]
    assert heads == [["Mean regret", "Reward a round"], ["Reward a round", "Mean regret"]]


def test_all_that_was_asked_for_is_in_it(page_text, study, results):
    for words in ("<title>rotting</title>", "What does rotting cost?", html.escape(COMMAND), study.digest()):
        assert words in page_text
    assert results[0].version in page_text
    assert results[0].sources in page_text
    for spec in [*POLICIES.values(), *WORLDS.values()]:
        assert html.escape(json.dumps(spec.to_json())) in page_text


def test_the_tables_hold_the_numbers(page_text, results):
    grid = Grid(results)
    for result in results:
        mean, half_width = means_and_half_widths(result.column("regret")[:, -1])
        assert f"<td>{with_half_width(mean, half_width)}</td>" in page_text
    cells = grid.at("rotting", 5000)
    found = difference(cells["SSUCB"], cells["Elimination"])
    assert found.is_clear
    assert f"<strong>{with_half_width(found.mean, found.half_width)}</strong>" in page_text
    fit = slope_over_horizons(grid.over_horizons("still", "SSUCB"))
    assert f"<td>{with_half_width(fit.slope, fit.half_width, digits=3)}</td><td>3</td>" in page_text


def test_the_charts_hold_means_and_half_widths(page_text, results):
    data = embedded(page_text)
    assert [policy["name"] for policy in data["policies"]] == list(POLICIES)
    assert (data["worlds"], data["horizons"]) == (list(WORLDS), [1000, 5000, 20_000])
    result = results[4]  # still, 5000, SSUCB
    cell = data["cells"][1]
    assert (cell["world"], cell["horizon"], cell["rounds"]) == (0, 1, result.rounds.tolist())
    for column in ("regret", "reward a round", "restarts", "arms", "V", "V_R", "L", "L_R"):
        means, half_widths = means_and_half_widths(result.column(column))
        np.testing.assert_allclose(cell["policies"][1]["columns"][column], [means, half_widths], rtol=1e-5)
    np.testing.assert_allclose(cell["policies"][1]["ends"], result.column("regret")[:, -1], rtol=1e-5)
    first, second, _ = Grid(results).at("still", 5000).values()
    np.testing.assert_allclose(cell["differences"][0][1], difference(first, second)[:2], rtol=1e-5)


def test_the_same_results_make_the_same_bytes(page_text, results):
    assert report(results[::-1], COMMAND) == page_text


def test_many_replications_do_not_make_it_large():
    study = Study.of("many", {"uniform": ma.UniformPlay()}, {"still": WORLDS["still"]}, [1000], 3000)
    text = report(made_up(study))
    assert len(embedded(text)["cells"][0]["policies"][0]["ends"]) == MOST_DOTS
    assert f"The first {MOST_DOTS} of 3,000 replications are drawn." in text
    assert len(text) < 100_000


def test_what_is_missing_is_said(results, page_text):
    assert "cells finished" not in page_text
    some = results[1:]
    assert f"{len(some)} of {len(results)}" in report(some)
    order = [policy["name"] for policy in embedded(page_text)["policies"]]
    assert [policy["name"] for policy in embedded(report(some))["policies"]] == order


def test_one_of_everything_is_enough():
    study = Study.of("one", {"uniform": ma.UniformPlay()}, {"still": WORLDS["still"]}, [1000], 1)
    text = report(made_up(study))
    assert 'id="differences"' not in text
    assert "#differences" not in text
    assert 'data-chart="growth"' not in text
    assert "NaN" not in text.partition('id="data">')[2].partition("</script>")[0]


@pytest.mark.parametrize("replications", [1, 2])
def test_one_replication_is_not_said_to_have_intervals(replications):
    text = report(made_up(Study.of("one", POLICIES, WORLDS, [500, 1000], replications)))
    words = re.sub(r"<(style|script).*?</\1>", "", text, flags=re.DOTALL)
    for said in ("95 %", " bands", "as a band", "±", "a full mark", "Bold where", ">sd<", "means over", "Mean over"):
        assert (said.lower() in words.lower()) == (replications > 1), said


def test_policies_in_worlds_of_their_own_are_not_called_paired(page_text):
    assert "All policies meet the same arms with the same luck" in page_text
    cells = tuple(
        Cell("the same name", world, name, POLICIES[name], horizon)
        for horizon in (500, 1000)
        for name, world in zip(POLICIES, [*WORLDS.values(), WORLDS["still"]], strict=True)
    )
    text = report(made_up(Study("apart", cells, 4)))
    assert "the same luck" not in text
    assert text.count("worlds of their own") == 2
    assert "<small>Elimination, UniformPlay</small><pre>" in text
    assert "<small>SSUCB</small><pre>" in text


def test_policies_have_the_palette_s_colours(page_text):
    for place, colour in enumerate(COLOURS[: len(POLICIES)]):
        assert f".p{place} {{ --c: {colour}; --d: none; }}" in page_text


def test_colours_belong_to_the_place_in_the_study(results, page_text):
    text = report([result for result in results if result.cell.policy_name != "Elimination"])
    assert [policy["name"] for policy in embedded(text)["policies"]] == ["SSUCB", "UniformPlay"]
    assert embedded(text)["policies"] == embedded(page_text)["policies"][1:]  # with their markers
    for index, place in enumerate((1, 2)):
        assert f".p{index} {{ --c: {COLOURS[place]}; --d: none; }}" in text
    swatches = re.findall(r'swatch p(\d)".*?href="#m(\d)".*?</svg>(\w+)', text)
    assert set(swatches) == {("0", "1", "SSUCB"), ("1", "2", "UniformPlay")}


def test_sections_come_first(results):
    rows = [{"policy": "A & B", "published": 1234.5, "is it so": "<yes>"}]
    text = report(results, sections=[Section("In <short>", ["One & two."], [Table(rows)]), ("Plain", (), [rows, []])])
    assert text.index("In &lt;short&gt;") < text.index("Plain") < text.index('id="regret"')
    assert "<p>One &amp; two.</p>" in text
    row = '<tr><th scope="row">A &amp; B</th><td>1,234</td><td class="text">&lt;yes&gt;</td></tr>'
    assert text.count(row) == 2


def test_a_folder_of_results_becomes_a_file(tmp_path, results, page_text):
    for result in results:
        write_result(tmp_path / "rotting" / "cells" / f"{result.index:04d}.parquet", result)
    write_study(tmp_path / "rotting", results[0].study)
    path = write_report(read_results(tmp_path / "rotting"), tmp_path / "new" / "report.html", COMMAND)
    assert path.read_text(encoding="utf-8") == page_text
    assert [other.name for other in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match="there are no results in"):
        read_results(tmp_path)


def test_a_folder_may_know_the_file_of_its_study(tmp_path, study):
    assert file_of(tmp_path, study) == ""
    for text, wanted in [
        (json.dumps(study.to_json() | {"file": "mine.toml"}), "mine.toml"),
        (json.dumps(study.replace(seed=4).to_json() | {"file": "mine.toml"}), ""),  # of another study
        (json.dumps(study.to_json()), ""),
        ("[]", ""),
        ("not JSON", ""),
    ]:
        (tmp_path / "study.json").write_text(text)
        assert file_of(tmp_path, study) == wanted


BAD = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def bad_text():
    policies = {BAD: ma.UniformPlay(), "{{data}} & a name that goes on and on and on and on": ma.SSUCB(beta=1.0)}
    study = Study.of("bad", policies, {BAD: WORLDS["still"], "'\"": WORLDS["rotting"]}, [500, 800], 3, about=BAD)
    return report(made_up(study, sign=-1.0), BAD, [Section(BAD, [BAD], [Table([{BAD: BAD, "n": 1}])])])


def test_names_are_only_ever_text(bad_text, page_text):
    assert bad_text.count("<script") == page_text.count("<script") == 2
    assert "<img" not in bad_text
    assert embedded(bad_text)["policies"][0]["name"] == BAD
    assert "{{data}}" in bad_text


def test_it_loads_nothing(page_text):
    assert not re.search(r'(src|href)="(?!#|data:)', page_text)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", page_text)


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser():
    with browsers.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory, page_text):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page_text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_no_browser_is_a_failure_where_one_is_promised(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(outcome, match="no Chromium on PATH"), browsers.chromium():
        pass


def curves(page, chart="regret"):
    return {
        layer.get_attribute("data-policy"): layer.query_selector(".curve").get_attribute("d")
        for layer in page.query_selector_all(f"[data-chart={chart}] .series")
    }


def ticks(page):
    return page.locator("[data-chart=regret] svg > text").all_text_contents()


def test_the_charts_are_drawn(browser, file):
    with browsers.opened(browser, file) as page:
        assert sorted(curves(page)) == ["0", "1", "2"]
        assert all(path.count("L") == 64 for path in curves(page).values())
        assert page.locator("[data-chart=regret] .band").count() == 3
        assert page.locator("[data-chart=reward] .band").count() == 3
        assert {path.count("L") for path in curves(page, "reward").values()} == {63}  # an average has no round 0
        assert page.locator("[data-chart=ends] .dot").count() == 36
        assert page.locator("[data-chart=differences] .plot").count() == 2
        assert page.locator("[data-chart=growth] .curve").count() == 3
        assert page.locator(".panels .curve").count() == 18
        assert page.locator("#ends table:visible").count() == 1
        assert {"0", "10,000", "20,000", "round", "regret"} <= set(ticks(page))


def test_a_legend_entry_hides_a_curve_by_mouse_and_by_keyboard(browser, file):
    with browsers.opened(browser, file) as page:
        entry = page.get_by_role("button", name="SSUCB")
        entry.click()
        assert entry.get_attribute("aria-pressed") == "false"
        assert sorted(curves(page)) == ["0", "2"]
        assert page.locator(".panels .curve").count() == 12
        entry.press("Enter")
        assert entry.get_attribute("aria-pressed") == "true"
        assert sorted(curves(page)) == ["0", "1", "2"]
        for name in POLICIES:
            page.get_by_role("button", name=name).press("Space")
        assert curves(page) == {}
        assert page.get_by_text("No policy is shown.").first.is_visible()


def test_another_world_or_horizon_shows_its_own_numbers(browser, file, results):
    with browsers.opened(browser, file) as page:
        before = curves(page), page.locator("#ends table:visible").inner_text()
        page.locator("#world").select_option("rotting")
        after = curves(page), page.locator("#ends table:visible").inner_text()
        assert after[0] != before[0]
        assert after[1] != before[1]
        page.get_by_role("radio", name="1,000", exact=True).check()
        mean, half_width = means_and_half_widths(Grid(results).at("rotting", 1000)["SSUCB"].column("regret")[:, -1])
        assert with_half_width(mean, half_width) in page.locator("#ends table:visible").inner_text()
        assert with_half_width(mean, half_width) in page.locator("[data-chart=ends]").inner_text()
        page.locator("#reference").select_option("SSUCB")
        cells = Grid(results).at("rotting", 1000)
        found = difference(cells["UniformPlay"], cells["SSUCB"])
        assert with_half_width(found.mean, found.half_width) in page.locator("[data-chart=differences]").inner_text()


def test_the_axes_can_be_logarithmic(browser, file):
    with browsers.opened(browser, file) as page:
        before = curves(page)
        page.get_by_role("radio", name="log").check()
        assert all(path.count("L") == 63 for path in curves(page).values())  # no round 0
        assert curves(page) != before
        assert "0" not in ticks(page)
        steps = [float(point.split(" ")[1]) for point in curves(page)["0"][1:].split("L")]
        middle = np.interp(0.5, np.linspace(0, 1, 64), steps)
        assert middle < (steps[0] + steps[-1]) / 2  # a power is a line: late rounds are close together
        page.get_by_role("radio", name="linear").check()
        assert curves(page) == before


def test_values_are_read_by_pointer_and_by_keys(browser, file, results):
    with browsers.opened(browser, file) as page:
        chart = page.locator("[data-chart=regret] svg").first
        chart.hover(position={"x": 600, "y": 200})
        tip = page.locator("[data-chart=regret] .tip")
        assert tip.is_visible()
        assert tip.inner_text().startswith("round ")
        page.mouse.move(0, 0)
        assert not tip.is_visible()
        page.get_by_role("button", name="UniformPlay").focus()
        page.keyboard.press("Tab")  # to the chart
        assert tip.is_visible()
        page.keyboard.press("End")
        mean, half_width = means_and_half_widths(Grid(results).at("still", 20_000)["SSUCB"].column("regret")[:, -1])
        assert with_half_width(mean, half_width) in tip.inner_text()
        page.keyboard.press("ArrowLeft")
        assert tip.inner_text().startswith("round 19,688")
        page.keyboard.press("Escape")
        assert not tip.is_visible()


def test_the_script_writes_numbers_as_python_does(browser, file):
    # None lies halfway between two texts; below 0.0001 Python alone writes powers of ten.
    sizes = [*1.2345678 * 10.0 ** np.arange(-4, 8), 999.94, 999.96, 12_345.678, 0.057312, 17.0]
    values = [0.0, *(sign * float(size) for size in sizes for sign in (1, -1))]
    pairs = [[mean, half] for mean in values for half in (0.0, 0.0123, 0.97, 23.46, 2345.6)]
    with browsers.opened(browser, file) as page:
        assert page.evaluate("values => values.map(page.number)", values) == [number(value) for value in values]
        texts = page.evaluate("pairs => pairs.map((pair) => page.withHalfWidth(...pair))", pairs)
        assert texts == [with_half_width(*pair) for pair in pairs]
        assert page.evaluate("[page.number(null), page.withHalfWidth(5, null)]") == ["–", "5"]


def test_it_fits_a_phone(browser, file, tmp_path, bad_text):
    bad = tmp_path / "bad.html"
    bad.write_text(bad_text, encoding="utf-8")
    for path in (file, bad):
        with browsers.opened(browser, path, viewport={"width": 400, "height": 800}) as page:
            assert page.evaluate("document.documentElement.scrollWidth") == 400
            page.set_viewport_size({"width": 1280, "height": 800})
            browsers.until(page, "document.querySelector('[data-chart=regret] svg').clientWidth > 1000")
            assert page.evaluate("document.documentElement.scrollWidth") == 1280


LONG = "Elimination_with_everything_that_can_be_said_about_it_in_a_single_long_word"


def test_long_names_do_not_make_it_scroll_sideways(browser, tmp_path):
    assert len(LONG) >= 73
    policies, worlds = {LONG: ma.UniformPlay(), "other": ma.SSUCB(beta=1.0)}, {LONG: WORLDS["still"]}
    text = report(made_up(Study.of(LONG, policies, worlds, [500, 800], 3)), sections=[(LONG, [LONG], [[{LONG: LONG}]])])
    path = tmp_path / "long.html"
    path.write_text(text, encoding="utf-8")
    with browsers.opened(browser, path, viewport={"width": 400, "height": 800}) as page:
        page.locator("summary").click()
        page.locator("[data-chart=regret] svg").first.hover(position={"x": 200, "y": 100})
        assert page.locator("[data-chart=regret] .tip").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_tables_say_where_they_go_on(browser, file):
    with browsers.opened(browser, file, viewport={"width": 400, "height": 800}) as page:
        hint, table = page.locator("#ends .hint:visible"), page.locator("#ends .scroll:visible")
        assert hint.inner_text().startswith("Scroll sideways")
        assert table.evaluate("one => one.classList.contains('more')")
        table.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
        browsers.until(page, "!document.querySelector('#ends [data-cell]:not([hidden]) .scroll').matches('.more')")
        page.set_viewport_size({"width": 1280, "height": 800})
        browsers.until(page, "[...document.querySelectorAll('.hint')].every((one) => !one.checkVisibility())")
        assert page.locator(".scroll.more:visible").count() == 0


def test_bad_names_and_negative_regret_do_no_harm(browser, tmp_path, bad_text):
    path = tmp_path / "bad.html"
    path.write_text(bad_text, encoding="utf-8")
    with browsers.opened(browser, path) as page:
        assert len(curves(page)) == 2
        assert page.get_by_role("button", name="alert(1)").is_visible()
        page.get_by_role("radio", name="log").check()
        assert page.get_by_text("Nothing above 0: no logarithms.").first.is_visible()
        page.locator("#world").select_option("'\"")
        assert page.locator("img").count() == 0


def test_it_prints_without_controls(browser, file):
    with browsers.opened(browser, file) as page:
        page.get_by_role("button", name="SSUCB").click()
        page.emulate_media(media="print")
        browsers.until(page, "document.documentElement.classList.contains('printing')")
        assert not page.locator("#world").is_visible()
        assert not page.locator("#reference").is_visible()
        assert page.get_by_text("still, horizon 20,000").first.is_visible()
        assert page.locator(".pairs table:visible").count() == 1  # "All pairs" is open
        assert page.locator(".legend button:visible").count() == 2
        assert page.locator("[data-chart=regret] svg").first.bounding_box()["width"] <= 702
        assert page.pdf(format="A4").startswith(b"%PDF")
        page.emulate_media(media="screen")
        browsers.until(page, "!document.documentElement.classList.contains('printing')")
        assert page.locator(".pairs table:visible").count() == 0
        assert page.locator("#world").is_visible()


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_the_light_and_in_the_dark(browser, file, scheme):
    with browsers.opened(browser, file, color_scheme=scheme) as page:

        def colour(selector, name):
            return luminance(page.locator(selector).first.evaluate(f"one => getComputedStyle(one).{name}"))

        card = colour("section", "backgroundColor")
        assert (card < 0.05) == (scheme == "dark")
        for selector, name in [
            ("h2", "color"), (".note", "color"), ("summary", "color"), ("td", "color"), ("svg text", "fill"),
        ]:  # fmt: skip
            pair = sorted([card, colour(selector, name)])
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, selector


def test_without_scripts_the_tables_remain(browser, file):
    with browsers.opened(browser, file, java_script_enabled=False) as page:
        assert page.locator("#ends table:visible").count() == 6
        assert page.get_by_text("The charts need JavaScript").is_visible()
        assert not page.locator(".toolbar").is_visible()
