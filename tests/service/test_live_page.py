"""The live page in a real Chromium: fed, used, reloaded, and through a restart of the service."""

import re
import time

import numpy as np
import pytest

import evermix as em
from evermix.service.static import Page
from helpers.browser import Browser, chromium

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="no Chromium here: install chromium, or set CHROMIUM to its path"
)

TOKEN = "a token of more than sixteen letters"
SHOWN = "document.querySelectorAll('#list button').length"
LIVE = "document.getElementById('state').dataset.state === 'live'"
WIDTH = "document.documentElement.scrollWidth"
COUNT = "document.getElementById('count').textContent"
OPEN = "document.getElementById('detail').open"


@pytest.fixture(scope="module")
def browser():
    with Browser(LC_ALL="C", LANG="C") as browser:  # with which uPlot alone would not start
        yield browser


def feed(service, n, places, seed=0, name="points"):
    """Send n points around some of the places 0, 1, 2, ..."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + 12.0 * rng.choice(places, size=n)[:, None]
    for part in np.array_split(X, max(n // 30, 1)):
        rows = [{"vector": x.tolist()} for x in part]
        status, answer = service.post(f"/models/{name}/observations", rows)
        assert status == 200, answer


def visit(browser, service, place="", **size):
    browser.call("Page.navigate", url="about:blank")  # what is after # alone loads nothing
    browser.open(f"http://127.0.0.1:{service.port}/{place}", **size)


def problems(browser):
    """What was logged but requests that failed, which Chromium logs by itself."""
    return [e for e in browser.errors if not (isinstance(e, dict) and e.get("source") == "network")]


def press(browser, selector):
    browser.run(f"document.querySelector({selector!r}).click()")


def test_a_stream_is_watched_and_a_cluster_is_named(browser, start):
    service = start("--every", "1")
    visit(browser, service)
    browser.wait_for("!document.getElementById('empty').hidden")  # there is no model yet
    service.make("points", "vectors")
    feed(service, 300, [0, 1])
    browser.wait_for(f"{SHOWN} === 2 && {LIVE}")
    browser.wait_for("document.querySelectorAll('#flow svg path').length >= 2")
    browser.wait_for("document.querySelectorAll('#charts canvas').length === 2")

    feed(service, 150, [4])  # somewhere else
    browser.wait_for(f"{SHOWN} === 3")
    browser.wait_for("document.querySelector('#list .fresh') !== null")
    browser.wait_for("document.querySelectorAll('#feed li[data-kind=born]').length >= 3")
    browser.wait_for("/born|split off/.test(document.getElementById('news').textContent)")
    said = "[...document.querySelectorAll('#feed li[data-kind=born]')].map(each => each.innerText)"
    browser.wait_for(f"{said}.some(text => /: column [01] /.test(text))")  # what sets it apart
    pointed = (
        "document.querySelector('#flow circle').dispatchEvent(new PointerEvent('pointermove'))"
    )
    words = "/born: .*column [01] /s.test(document.getElementById('tip').innerText)"
    browser.wait_for(f"{pointed}, {words}")

    id = browser.run("document.querySelector('#list .fresh').dataset.id")
    press(browser, f"#item-{id}")
    browser.wait_for(f"{OPEN} && document.querySelector('#detail svg .curve') !== null")
    browser.run("document.getElementById('new-name').focus()")
    browser.press("text", "far </b> away")
    browser.press("Enter")
    browser.wait_for("/^far <.b> away/.test(document.getElementById('detail-title').innerText)")
    browser.press("Escape")
    browser.wait_for(f"!{OPEN} && document.activeElement.id === 'item-{id}'")
    assert browser.run("location.hash") == "#points"

    visit(browser, service)
    name = f"document.querySelector('#item-{id} .name')?.textContent"
    browser.wait_for(f"{name} === 'far </b> away ({id})'")
    assert browser.errors == []

    service.stop()
    browser.wait_for(f"!({LIVE})")
    again = start("--port", str(service.port))
    browser.wait_for(LIVE)
    feed(again, 150, [9])
    browser.wait_for(f"{SHOWN} === 4")
    rows = "document.querySelector('#facts dd').textContent"
    browser.wait_for(f"{rows} === '600'")
    assert browser.run(name) == f"far </b> away ({id})"
    # The course before the restart is still drawn, from what the service has kept.
    visit(browser, again)
    browser.wait_for(f"{SHOWN} === 4 && document.querySelector('#flow svg text') !== null")
    assert browser.run("document.querySelectorAll('#flow svg [data-id]').length") == 4
    assert problems(browser) == []


def test_a_card_shows_units(browser, start):
    service = start("--every", "1")
    service.make("bills", "records")
    rows = [{"record": {"bill": f"€{100 + i + 700 * (i % 2)}.50"}} for i in range(120)]
    assert service.post("/models/bills/observations", rows)[0] == 200
    visit(browser, service)
    browser.wait_for(f"{SHOWN} === 2 && {LIVE}")
    press(browser, "#list button")
    browser.wait_for(f"{OPEN} && document.querySelector('#detail table') !== null")
    said = browser.run("document.getElementById('detail').innerText")
    assert re.search(r"bill\s+€[\d,]+", said) and re.search(r"row \d+: bill = €[\d,.]+", said), said
    assert browser.errors == []


def hints(browser):
    """The text below each head, where there is no picture."""
    found = browser.run("""[...document.querySelectorAll(
        '#flow .chart p, #charts .panel p:last-child, #waits')].map(each => each.innerText)""")
    return [text for text in found if text]


def test_a_page_without_rows_says_what_it_waits_for(browser, start):
    service = start()
    service.make("points", "vectors")
    visit(browser, service)
    browser.wait_for(f"document.querySelector('#facts dd') !== null && {LIVE}")
    browser.wait_for(f"{COUNT} === '0 clusters'")
    assert hints(browser) == ["Waiting for the first rows."] * 4
    assert (
        browser.run("document.querySelectorAll('#charts .panel > [role=img][hidden]').length") == 2
    )
    feed(service, 20, [0])
    browser.wait_for(f"{COUNT} === '1 cluster'")
    browser.wait_for(
        "/begin with: 20 so far/.test(document.querySelector('#flow .chart').innerText)"
    )
    feed(service, 300, [0, 1])
    browser.wait_for("document.querySelectorAll('#flow svg path').length >= 2")
    browser.wait_for(
        "document.querySelectorAll('#charts .panel > [role=img][hidden]').length === 0"
    )
    browser.wait_for(f"{SHOWN} === 2")
    assert hints(browser) == []
    assert browser.errors == []


def test_the_page_of_a_fit_says_why_nothing_is_drawn(browser, start, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 12.0 * rng.integers(3, size=(300, 1))
    em.Mixture(random_state=0).fit(X).save(tmp_path / "old.evermix")
    service = start("--model", "points=old.evermix")
    visit(browser, service)
    browser.wait_for(f"{SHOWN} === 3 && {COUNT} === '3 clusters'")
    said = hints(browser)
    assert len(said) == 3 and all("have no order" in text for text in said)
    for seed, rows in enumerate((500, 700, 900)):  # what comes at once is one step
        feed(service, 200, [0, 1, 2], seed)
        browser.wait_for(f"document.querySelector('#facts dd').innerText === '{rows}'")
    browser.wait_for("document.querySelectorAll('#flow svg path').length >= 3")
    assert hints(browser) == [] and browser.errors == []


def test_no_part_is_empty_beside_others_when_a_page_opens(browser, start):
    service = start()
    service.make("points", "vectors")
    feed(service, 300, [0, 1])
    visit(browser, service)
    browser.wait_for("document.querySelector('#facts dd') !== null")  # at once with all others:
    assert browser.run("document.querySelectorAll('#flow svg path').length") >= 2
    assert browser.run("document.querySelectorAll('#feed li').length") >= 1
    assert browser.run(f"{SHOWN} > 0 || document.getElementById('waits').innerText") == (
        browser.run(f"{SHOWN} > 0") or "The clusters are being read."
    )
    assert hints(browser) in ([], ["The clusters are being read."])


def test_one_large_request_is_drawn(browser, start):
    service = start()
    service.make("points", "vectors")
    X = np.random.default_rng(0).normal(size=(5000, 2)) + 12.0 * (np.arange(5000) // 1000)[:, None]
    rows = [{"vector": x.round(3).tolist()} for x in X]
    assert service.post("/models/points/observations", rows)[0] == 200
    visit(browser, service)
    browser.wait_for(f"{SHOWN} === 5 && {LIVE}")
    browser.wait_for("document.querySelectorAll('#flow svg path').length >= 5")
    browser.wait_for("document.querySelectorAll('#flow svg circle').length >= 2")  # births
    assert browser.errors == []


@pytest.fixture(scope="module")
def watched(service):
    """A service with two models, some clusters of which were merged."""
    for name in ("points", "others"):
        service.make(name, "vectors")
    feed(service, 600, list(range(6)))
    feed(service, 200, [0, 1], name="others")
    return service


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (360, "light")])
def test_it_is_drawn_without_errors_or_sideways_scroll(browser, watched, width, scheme):
    visit(browser, watched, "#points", width=width, scheme=scheme)
    browser.wait_for(f"{SHOWN} === 6 && document.querySelector('#flow svg path') !== null")
    assert browser.run(WIDTH) <= width
    wide = "document.querySelector('{}').clientWidth"
    browser.wait_for(f"{wide.format('#growth canvas')} === {wide.format('#growth')}")
    press(browser, "#table summary")
    assert browser.run(WIDTH) <= width
    press(browser, "#list button")
    browser.wait_for(OPEN)
    assert browser.run("document.getElementById('detail').scrollWidth") <= width
    page = "document.body.innerHTML.replaceAll('<!--', '')"
    assert not browser.run(f"/NaN|undefined|Infinity/.test({page})")
    assert browser.errors == []


def test_models_are_chosen_and_searched_and_paused_by_keyboard(browser, watched):
    visit(browser, watched, "#others")
    browser.wait_for(f"{SHOWN} === 2")
    browser.run(
        "(box => { box.value = 'points'; box.dispatchEvent(new Event('change')); })"
        "(document.getElementById('models'))"
    )
    browser.wait_for(f"{SHOWN} === 6")
    browser.press("/")
    assert browser.run("document.activeElement.id") == "search"
    id = watched.get("/models/points/clusters")[1]["clusters"][2]["id"]
    assert watched.post("/models/points/rename", {"cluster": id, "name": "Harbour"})[0] == 200
    browser.press("text", "harb")
    browser.wait_for(f"{SHOWN} === 1")
    assert browser.run(COUNT) == "1 of 6 clusters"
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.wait_for(OPEN)
    assert browser.run("location.hash") == f"#points/{id}"
    browser.press("Escape")
    browser.wait_for(f"!{OPEN}")
    press(browser, "#pause")
    rows = browser.run("document.querySelector('#facts dd').textContent")
    feed(watched, 60, [0])
    time.sleep(1.0)
    assert browser.run("document.querySelector('#facts dd').textContent") == rows
    press(browser, "#pause")
    browser.wait_for("document.querySelector('#facts dd').textContent === '660'")
    assert browser.errors == []


def test_clusters_are_merged_by_hand(browser, watched):
    """Pressed twice, since it can be undone until rows are learnt only."""
    id = watched.get("/models/others/clusters")[1]["clusters"][0]["id"]
    visit(browser, watched, f"#others/{id}")
    browser.wait_for(OPEN)
    merge = ".hands form:nth-of-type(2) button"
    press(browser, merge)
    assert "again" in browser.run(f"document.querySelector('{merge}').textContent")
    press(browser, merge)
    browser.wait_for("/Has taken in/.test(document.getElementById('detail').textContent)")
    browser.wait_for(f"{SHOWN} === 1")
    assert watched.get("/models/others")[1]["clusters"] == 1
    press(browser, "[role=alert] button")
    browser.wait_for(f"{SHOWN} === 2")
    assert watched.get("/models/others")[1]["clusters"] == 2
    assert browser.errors == []


def test_what_has_no_name_for_screen_readers(browser, watched):
    """Nothing has none; and text has a contrast of at least 4.5."""
    unnamed = """[...document.querySelectorAll(
            'button, input, select, section, nav, dialog, svg, [role=img]')]
        .filter(node => node.checkVisibility() && !node.innerText?.trim() && !node.labels?.length
            && !node.getAttribute('aria-label')
            && !document.getElementById(node.getAttribute('aria-labelledby')))
        .map(node => node.outerHTML.slice(0, 80))"""
    contrast = """(() => {
        const light = text => {
            const [r, g, b] = text.match(/[\\d.]+/g).map(value => value / 255)
                .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const panel = light(getComputedStyle(document.querySelector('section')).backgroundColor);
        return ['.cluster .words', '.name', '.trend', '.hint', '#state', '#feed .when', '.link']
            .map(name => {
                const ink = light(getComputedStyle(document.querySelector(name)).color);
                return (Math.max(ink, panel) + 0.05) / (Math.min(ink, panel) + 0.05);
            });
    })()"""
    for scheme in ("light", "dark"):
        visit(browser, watched, "#points", scheme=scheme)
        browser.wait_for(f"{SHOWN} === 6 && document.querySelector('#feed .link') !== null")
        assert min(browser.run(contrast)) >= 4.5
        assert browser.run(unnamed) == []
        press(browser, "#list button")
        browser.wait_for(OPEN)
        assert browser.run(unnamed) == []


def test_a_token_is_requested_and_kept_in_the_tab(browser, start):
    service = start("--token", TOKEN)
    access = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    status, _ = service.ask("PUT", "/models/points", '{"kind": "vectors"}', headers=access)
    assert status == 201
    visit(browser, service)
    browser.wait_for("document.getElementById('access').open")
    assert browser.errors == []  # nothing was requested without it
    browser.run("document.getElementById('token').focus()")
    browser.press("text", "another token, a wrong one")
    browser.press("Enter")
    browser.wait_for("/not accepted/.test(document.getElementById('access').innerText)")
    browser.run("document.getElementById('token').value = ''")
    browser.press("text", TOKEN)
    browser.press("Enter")
    browser.wait_for(LIVE)
    assert not browser.run("document.getElementById('access').open")
    visit(browser, service)
    browser.wait_for(LIVE)
    assert problems(browser) == []


def test_many_events_are_drawn_seldom(browser, watched):
    """However many come: so frames stay short (tools/page_load.py measures them)."""
    visit(browser, watched, "#points")
    browser.wait_for(f"{SHOWN} === 6 && {LIVE}")
    browser.run(
        "window.drawn = 0; window.began = performance.now();"
        "new MutationObserver(() => drawn++)"
        ".observe(document.getElementById('feed'), {childList: true})"
    )
    ids = [each["id"] for each in watched.get("/models/points/clusters")[1]["clusters"]]
    for i in range(200):
        body = {"cluster": ids[i % 6], "name": f"name {i}"}
        assert watched.post("/models/points/rename", body)[0] == 200
    browser.wait_for("/name 199/.test(document.getElementById('feed').textContent)")
    drawn, seconds = browser.run("[drawn, (performance.now() - began) / 1000]")
    assert drawn <= seconds / 0.4 + 2
    assert browser.errors == []


def test_the_page_is_small_and_its_own():
    page = Page(False)
    assert page.size < 300_000
    for name, body in page.files.items():
        if not name.startswith("uPlot"):
            for address in (b"http://", b"https://", b"//cdn"):
                assert address not in body.replace(b"http://www.w3.org/", b""), name
            assert b"innerHTML" not in body and b"eval(" not in body


GROWN = """import("/page/timeline.js").then(({Timeline}) => {
  const line = new Timeline();
  for (let i = 0; i < 40; i++) {
    const counts = Array.from({length: 14}, (_, id) => [id, 14 - id / 2]);
    if (i >= 32) counts.push([20, 4], [21, 6]);
    const point = {first: 100 * i, rows: 100 * (i + 1), clusters: 14, counts};
    line.points.push({...point, others: 0, marks: {}});
  }
  return line.flow(1, 40).ids;
})"""


def test_new_clusters_that_are_still_small_are_drawn(browser, start):
    visit(browser, start())
    assert browser.run(GROWN) == [*range(10), 20, 21]


def test_rows_with_dates_are_drawn_over_dates(browser, start):
    service = start()
    service.make("dated", "vectors", times="dates")
    rng = np.random.default_rng(0)
    for day in range(1, 29):
        X = rng.normal(size=(30, 2)) + 12.0 * rng.choice([0, 1], size=30)[:, None]
        rows = [{"vector": x.tolist(), "time": f"2024-02-{day:02d}T12:00:00Z"} for x in X]
        status, answer = service.post("/models/dated/observations", rows)
        assert status == 200, answer
    visit(browser, service)
    texts = "[...document.querySelectorAll('#flow svg text')].map(each => each.textContent)"
    browser.wait_for(f"{texts}.filter(text => /^2024-02-\\d\\d$/.test(text)).length >= 3")
    assert browser.run("document.getElementById('flow-title').textContent").endswith("over time")
    legend = "document.querySelector('#growth .u-legend .u-value').textContent"
    browser.wait_for(f"{legend} === '840, 2024-02-28'")
    browser.run("document.getElementById('table').open = true")
    cells = (
        "[...document.querySelectorAll('#table tbody tr:first-child > *')].map(e => e.innerText)"
    )
    browser.wait_for(f"{cells}[1] === '2024-02-28'")
    first = cells.replace("first-child", "last-child")  # rows that have waited
    assert browser.run(f"{first}.slice(0, 2).join()") == "60,2024-02-02"
    browser.wait_for(f"{SHOWN} === 2")
    said = "[...document.querySelectorAll('#feed li[data-kind=born]')].map(each => each.innerText)"
    for each in service.get("/models/dated/clusters?words=true")[1]["clusters"]:
        born = f"{each['since'].replace('T', ' ')}, row {each['born']}"  # as its card says
        browser.wait_for(f"{said}.some(text => text.endsWith(' {born}'))")
    press(browser, "#list button")
    browser.wait_for(f"{OPEN} && document.querySelector('#detail svg .curve') !== null")
    dates = "[...document.querySelectorAll('#detail svg text')].map(each => each.textContent)"
    assert browser.run(f"{dates}.some(text => /^2024-02-/.test(text))")
    assert problems(browser) == []


def test_the_page_opens_with_the_model_that_has_learnt_last(browser, start):
    service = start()
    for name in ("empty", "first", "last"):
        service.make(name, "vectors")
    feed(service, 90, [0, 1], name="first")
    feed(service, 90, [0, 1], name="last")
    title = "document.getElementById('title').textContent"
    visit(browser, service)
    browser.wait_for(f"{title} === 'last' && {LIVE}")
    feed(service, 30, [0, 1], name="first")
    visit(browser, service)
    browser.wait_for(f"{title} === 'first' && location.hash === '#first'")
    visit(browser, service, "#empty")  # what is chosen stays
    browser.wait_for(f"{title} === 'empty'")
    service.stop()
    again = start("--port", str(service.port))
    known = {each["name"]: each["learnt_at"] for each in again.get("/models")[1]["models"]}
    assert known["empty"] is None
    assert known["first"] > known["last"] > 1e9
    assert problems(browser) == []


def test_nothing_is_new_in_the_first_rows_and_little_change_has_no_arrow(browser, start):
    """Badges mark what comes later, and the legend names clusters by what sets them apart."""
    service = start()
    visit(browser, service)
    service.make("points", "vectors")
    browser.wait_for(LIVE)
    browser.run(
        """window.seen = [];
        new MutationObserver(() => {
            seen.push(...[...document.querySelectorAll('#list .fresh')].map(e => e.dataset.id));
        }).observe(document.body, {subtree: true, childList: true, attributes: true});"""
    )
    feed(service, 30, [0])
    browser.wait_for(f"{SHOWN} > 0")
    feed(service, 200, [0, 1, 2], seed=1)
    browser.wait_for(f"{SHOWN} === 3")
    assert browser.run("seen.length") == 0
    feed(service, 400, [0, 1, 2], seed=2)
    feed(service, 100, [6], seed=3)
    browser.wait_for("document.querySelectorAll('#list .fresh').length === 1")
    legend = "[...document.querySelectorAll('#flow .legend > *')].map(each => each.textContent)"
    browser.wait_for(f"{legend}.filter(text => /^[0-9]+: column [01] /.test(text)).length === 4")
    assert browser.run("new Set(seen).size") == 1
    text = browser.run(
        """import('/page/charts.js').then(({trendOf}) =>
            [1.96, 0.504, 0.506, 0, null].map(trend => ({trend, growing: trend > 1}))
                .map(cluster => trendOf(cluster).text))"""
    )
    assert text == ["▲ × 2", "▼ × 0.5", "× 0.51", "fading", ""]
    assert problems(browser) == []
