"""Reports as files: what they hold, what they leave out, and that no text breaks them."""

import copy
import json
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import evermix as em
from evermix.cli.runs.stream_notes import Totals, lives
from evermix.estimators.chain_reports import add_times
from evermix.estimators.mixture.card import naming_traits
from evermix.estimators.topics.report import plane
from evermix.report.canvas import colours_of
from evermix.report.flow import flow_of_rows
from evermix.report.page import NEW_ROWS, WHOLE, Report, curves

WORDS = ["refund", "invoice", "printer", "paper", "password", "login"]


def content(path):
    """The data of a report."""
    page = path.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(0)
    kind = np.where(np.arange(900) < 500, rng.integers(0, 2, 900), rng.integers(0, 3, 900))
    X = rng.normal(size=(900, 2)) + np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 30.0]])[kind]
    mix = em.Mixture()
    for part in np.array_split(X, 9):
        mix.partial_fit(part)
    return mix, X


def test_a_report_on_a_stream_holds_what_the_model_knows(stream, tmp_path):
    mix, _ = stream
    mix.report(tmp_path / "r.html", names=["width", "height"])
    data = content(tmp_path / "r.html")
    assert [item["id"] for item in data["items"]] == [card.id for card in mix.cards()]
    assert data["facts"]["clusters"] == str(mix.n_clusters_) and data["facts"]["rows"] == "900"
    assert any(word.startswith("height") for word in data["items"][0]["words"])
    growth, likelihood, sizes = data["charts"]
    assert sum(size for _, size in sizes["bars"]) == 900
    assert growth["lines"][0]["y"][-1] == mix.n_clusters_ and growth["lines"][0]["x"][-1] == 900
    total = sum(info.log_predictive for info in mix.history_)
    assert likelihood["lines"][1]["y"][-1] == pytest.approx(total / 900)
    for chart in (growth, likelihood):  # no curve runs backwards
        assert all(np.all(np.diff(line["x"]) >= 0) for line in chart["lines"])
    assert len(data["tree"]["merges"]) == mix.n_clusters_ - 1
    lineage = mix.lineage_
    born = {ids[0]: clock for clock, what, ids in data["events"] if what == "born"}
    lasting = [id for id, clock in enumerate(lineage.ended) if clock == -1 or clock > 64]
    assert born == {id: lineage.born[id] for id in lasting}
    assert all(item["born"] == born[item["id"]] for item in data["items"])
    split = {tuple(ids) for _, what, ids in data["events"] if what == "split"}
    assert split == {(id, k) for id, k in lineage.parents.items() if id in lasting}
    assert len(lasting) == mix.n_clusters_ and lives(lineage, Totals()) == ""
    assert max(growth["lines"][0]["y"]) <= len(lasting) < mix.lineage_.next_id


def test_clusters_of_less_than_half_a_row_are_left_out(stream, tmp_path):
    """As if they were not there, in titles, cards and tree; but those with names."""
    mix = copy.deepcopy(stream[0]).partial_fit([[-9.0, -9.0]], sample_weight=[0.4])
    *others, last = mix.cards(tiny=True)
    assert last.size < 0.5 and len(others) == 3
    mix.report(tmp_path / "r.html")
    stream[0].report(tmp_path / "before.html")
    data, before = content(tmp_path / "r.html"), content(tmp_path / "before.html")
    assert [item["id"] for item in data["items"]] == [card.id for card in others]
    assert data["title"] == "3 clusters in 901 rows"
    assert data["facts"]["clusters"] == "3 and 1 of less than half a row"
    assert data["tree"]["merges"] == before["tree"]["merges"]
    assert data["tree"]["groups"] == before["tree"]["groups"]
    mix.rename(last.id, "odd").report(tmp_path / "named.html")
    named = content(tmp_path / "named.html")
    assert len(named["items"]) == 4 and named["facts"]["clusters"] == "4, 1 of them of one row"
    assert len(named["tree"]["merges"]) == 3


def test_shares_of_kept_rows_are_those_of_all_rows(stream, tmp_path):
    mix, X = stream
    mix.report(tmp_path / "kept.html")
    mix.report(tmp_path / "all.html", X)
    kept, every = (content(tmp_path / f"{name}.html")["flow"] for name in ("kept", "all"))
    for flow in (kept, every):
        assert np.sum(flow["layers"], axis=0) == pytest.approx(1.0, abs=1e-3)
    third = int(mix.predict([[0.0, 30.0]])[0])
    late = every["layers"][every["ids"].index(third)]
    assert np.all(np.array(late)[np.array(every["x"]) < 480] == 0) and late[-1] > 0.1
    assert {mark["what"] for mark in every["marks"]} >= {"born"}


def test_a_saved_model_has_its_report_too(stream, tmp_path):
    """With the same charts, though files hold no single steps."""
    mix, _ = stream
    mix.save(tmp_path / "m.evermix")
    em.load(tmp_path / "m.evermix").report(tmp_path / "r.html")
    mix.report(tmp_path / "before.html")
    data, before = content(tmp_path / "r.html"), content(tmp_path / "before.html")
    titles = [[chart["title"] for chart in some["charts"]] for some in (data, before)]
    assert titles[0] == titles[1] == ["Clusters found", NEW_ROWS, "Sizes, largest first"]
    assert data["items"] == before["items"] and data["flow"] == before["flow"]


def test_texts_cannot_end_the_data(tmp_path):
    evil = "</script><script>alert(1)</script><!--\u2028"
    Report(evil, "cluster", "rows", {"clusters": "1"}, [{"id": 0, "words": [evil]}]).write(
        tmp_path / "r.html"
    )
    page = (tmp_path / "r.html").read_text("utf-8")
    assert content(tmp_path / "r.html")["items"][0]["words"] == [evil]
    assert "<script>alert" not in page and page.count("</script>") == 2
    assert "http-equiv" in page and "default-src 'none'" in page


def test_pages_name_no_other_address(stream, tmp_path):
    stream[0].report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    found = set(re.findall(r"https?://[^\"' ]+", page))
    assert found == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}  # namespaces
    assert not re.search(r"<(link|img|iframe)|src=|@import|url\((?!#)", page)


def test_numbers_that_are_not_finite_are_left_blank(tmp_path):
    charts = [curves("Bound", "laps", {"": ([1, 2], [-np.inf, -3.0])})]
    items = [{"id": 0, "name": "cluster 0", "share": 1.0, "size": 1.0, "words": []}]
    Report("one", "cluster", "rows", {"clusters": "1"}, items, charts).write(tmp_path / "r.html")
    assert content(tmp_path / "r.html")["charts"][0]["lines"][0]["y"] == [None, -3.0]


@pytest.mark.parametrize(
    ("engine", "titles"),
    [
        (None, ["Clusters found", WHOLE]),
        (em.Gibbs(sweeps=15, burn_in=5), ["Clusters in each draw", WHOLE]),
    ],
)
def test_fits_report_laps_or_draws(tmp_path, engine, titles):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) + 9 * rng.integers(0, 2, size=(80, 1))
    mix = em.Mixture(em.Gaussian(), engine=engine, random_state=0).fit(X)
    mix.report(tmp_path / "r.html")
    data = content(tmp_path / "r.html")
    assert [chart["title"] for chart in data["charts"]][:2] == titles
    assert data["events"] == [] and "age" not in data["items"][0]
    assert data["flow"] is None  # rows of a fit have no order
    mix.report(tmp_path / "rows.html", X)
    data = content(tmp_path / "rows.html")
    if engine is None:  # draws of a sampler may label rows otherwise than the clusters shown
        assert data["flow"] is None
    assert data["items"][0]["examples"]
    mix.report(tmp_path / "others.html", np.repeat(X, 3, axis=0))
    assert content(tmp_path / "others.html")["flow"] is not None


def test_a_fit_that_was_edited_by_hand_is_no_stream(tmp_path):
    """Its rows have no order, before rows of a stream come; what was done is told."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 9 * rng.integers(0, 3, size=(200, 1))
    mix = em.Mixture(random_state=0).fit(X)
    mix.rename(0, "first").merge_clusters([0, 1])
    mix.save(tmp_path / "m.evermix")
    em.load(tmp_path / "m.evermix").report(tmp_path / "r.html")
    data = content(tmp_path / "r.html")
    assert "rows" not in [chart.get("xlabel") for chart in data["charts"]]
    assert not any(item.keys() & {"seen", "born", "age"} for item in data["items"])
    assert [what for _, what, _ in data["events"]] == ["rename by hand", "merge by hand"]
    em.load(tmp_path / "m.evermix").partial_fit(X).report(tmp_path / "stream.html")
    data = content(tmp_path / "stream.html")
    assert "rows" in [chart.get("xlabel") for chart in data["charts"]]
    assert all("seen" in item for item in data["items"])


def test_topic_models_report_words_times_and_a_map(tmp_path):
    rng = np.random.default_rng(0)
    years = np.repeat([2019, 2020, 2021], 30)
    rates = np.where((years < 2020)[:, None], [5, 5, 5, 0, 0, 0], [0, 0, 0, 5, 5, 5])
    model = em.TopicModel(burn_in=40, draws=20, chains=2, random_state=0)
    model.fit(rng.poisson(rates), times=years)
    model.report(tmp_path / "r.html", WORDS, "Tickets")
    data = content(tmp_path / "r.html")
    assert data["title"] == "Tickets" and data["noun"] == "topic"
    assert data["flow"]["x"] == [2019, 2020, 2021]
    assert set(data["items"][0]["words"]) <= set(WORDS)
    assert np.sum(data["flow"]["layers"], axis=0) == pytest.approx(1.0, abs=1e-4)
    assert [len(chart["lines"]) for chart in data["charts"]] == [2, 2]  # of two chains
    assert len(data["map"]) in (0, model.n_topics_)
    assert "topic 0" in model._repr_html_()


def test_the_largest_topics_come_first_also_after_documents_were_added(tmp_path):
    """Ids are then no longer in the order of sizes."""
    rng = np.random.default_rng(0)
    rates = np.array([[9, 9, 0, 0, 0, 0], [0, 0, 6, 6, 0, 0], [0, 0, 0, 0, 3, 3]])
    years = np.repeat([2019, 2020], 45)
    model = em.TopicModel(em.HMNGG(), alpha=0.1, burn_in=40, draws=20, random_state=0)
    model.fit(rng.poisson(rates[np.arange(90) % 3]), times=years)
    model.partial_fit(rng.poisson(np.repeat(rates[2:] * 3, 90, axis=0)), times=np.full(90, 2021))
    model.report(tmp_path / "r.html", WORDS)
    data = content(tmp_path / "r.html")
    assert data["charts"] == [] and "fit to the data" not in data["facts"]
    shares, ids = ([item[name] for item in data["items"]] for name in ("share", "id"))
    assert shares == sorted(shares, reverse=True) and ids != sorted(ids)
    evolution = model.evolution_
    for item in data["items"]:
        assert item["course"] == pytest.approx(evolution[:, item["id"]].tolist(), abs=1e-4)
        there = np.flatnonzero(evolution[:, item["id"]] >= 0.01).tolist()
        assert item.get("span") == ([there[0], there[-1]] if there else None)
    for id, layer in zip(data["flow"]["ids"], data["flow"]["layers"], strict=False):
        assert layer == pytest.approx(evolution[:, id].tolist(), abs=1e-4)


def test_a_map_keeps_distances_that_fit_into_a_plane():
    """Whatever the weights, up to turns and mirrors; a topic without weight has a place too."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(8, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    weights = np.append(rng.dirichlet(np.ones(7)), 0.0)
    found = plane(apart, weights)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found, axis=2), apart, atol=1e-9)
    assert np.isfinite(plane(np.zeros((3, 3)), np.ones(3))).all()


def test_mixtures_over_time_report_what_sets_clusters_apart(tmp_path):
    rng = np.random.default_rng(0)
    times = np.repeat(["spring", "summer", "autumn"], 40)
    X = rng.normal(size=(120, 2)) + [9.0, 0.0] * (rng.random((120, 1)) < 0.5)
    mix = em.DependentMixture(burn_in=20, draws=20, random_state=0).fit(X, times=times)
    mix.report(tmp_path / "r.html", ["width", "height"])
    data = content(tmp_path / "r.html")
    assert data["flow"]["x"] == ["spring", "summer", "autumn"]
    assert data["items"][0]["size"] == np.bincount(mix.labels_).max()
    assert data["items"][0]["traits"][0][0] == "width"
    assert "cluster" in mix._repr_html_()


def test_bins_of_rows_are_their_shares():
    ids = np.repeat([5, 7], 100)
    flow = flow_of_rows(ids, np.arange(200), np.ones(200), [7, 5], [(150, "born", [7])])
    assert flow.ids == [7, 5, -1] and flow.shares[0].tolist() == [0, 1, 0]
    assert flow.shares[-1].tolist() == [1, 0, 0]
    assert [mark.what for mark in flow.marks] == ["born"]
    assert flow_of_rows(ids[:30], np.arange(30), np.ones(30), [5]) is None


def test_new_clusters_that_are_still_small_are_shown():
    """Of 15 clusters, 13 are as large as each other, and two come late."""
    ids = np.concatenate([np.arange(1600) % 13, np.tile([*range(13), 20, 21, 21], 25)])
    n = len(ids)
    flow = flow_of_rows(ids, np.arange(n), np.ones(n), [*range(13), 20, 21]).to_dict()
    assert flow["ids"] == [*range(10), 21, 20] and len(flow["layers"]) == 13
    assert np.sum(flow["layers"], axis=0) == pytest.approx(1.0, abs=1e-3)
    steady = flow_of_rows(ids[:1600], np.arange(1600), np.ones(1600), list(range(13))).to_dict()
    assert steady["ids"] == list(range(12))


def test_notebooks_show_what_was_found(stream):
    mix, _ = stream
    shown = mix._repr_html_()
    assert "900" in shown and shown.count("<tr>") >= mix.n_clusters_
    assert mix._repr_mimebundle_()["text/html"] == shown
    assert "Mixture" in em.Mixture()._repr_html_()  # scikit-learn's, before there is a fit


def test_nothing_learnt_is_no_report(tmp_path):
    for model in (em.Mixture(), em.TopicModel(), em.DependentMixture()):
        with pytest.raises(NotFittedError):
            model.report(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("times", "at", "starts"),
    [
        ([2008.0, 2010.0, 2011.0], [2008.0, 2010.0, 2011.0], [1]),
        (["2024-01", "2024-02", "2024-06"], [648.0, 649.0, 653.0], [2]),  # months since 1970
        (["early", "middle", "late"], [0.0, 1.0, 2.0], []),
    ],
)
def test_times_of_topics_are_drawn_to_scale_with_gaps(times, at, starts):
    report = Report("Topics", "topic", "words", {}, [{"share": 0.7}, {"share": 0.3}])
    add_times(report, times, np.full((3, 2), 0.5))
    flow = report.flow.to_dict()
    assert (flow["at"], flow["starts"]) == (at, starts)


def test_a_time_far_from_all_others_is_left_out():
    """A misprint, that is one document; many documents, or labels without a place, stay."""
    times = ["0212", *map(str, range(2008, 2014))]
    evolution = np.linspace([1.0, 0.0], [0.0, 1.0], 7)
    for n, left in ((1, True), (5, False)):
        report = Report("Topics", "topic", "words", {}, [{"share": 0.7}, {"share": 0.3}])
        add_times(report, times, evolution, documents=[n, *[50] * 6])
        flow = report.flow.to_dict()
        assert flow["x"] == times[left:] and len(flow["layers"][0]) == 7 - left
        assert flow["left_out"] == ("1 document of 0212 is left out" if left else "")
        assert report.items[1]["span"] == [1 - left, 6 - left]


def test_the_same_id_has_the_same_colour_in_every_picture():
    few, more = colours_of([3, 7]), colours_of(range(12))
    assert few == {id: more[id] for id in few}
    assert len(set(colours_of([0, 15, 30, 1]).values())) == 4
    assert colours_of([0, 15, 1])[0] == more[0]


def test_what_is_typical_is_the_most_frequent_level_of_every_cluster(tmp_path):
    """Also where another level sets it apart; names prefer levels that many rows have."""
    rng, n = np.random.default_rng(0), 600
    kind = np.repeat([0, 1], n // 2)
    rare = np.where(kind & (rng.random(n) < 0.15), "rare", np.where(rng.random(n) < 0.6, "a", "b"))
    table = {"x": rng.normal(20.0 * kind), "level": rare, "yes": rng.random(n) < 0.1 + 0.7 * kind}
    mix = em.Mixture(random_state=0).fit(table)
    mix.report(tmp_path / "r.html")
    for item in content(tmp_path / "r.html")["items"]:
        rows = mix.labels_ == item["id"]
        cells = {column: text for column, text, _ in item["scores"]}
        assert set(cells) == set(table)
        levels, counts = np.unique(rare[rows], return_counts=True)
        level, share = cells["level"].split(": ")
        assert level == levels[counts.argmax()]
        assert float(share[:-2]) == pytest.approx(100 * counts.max() / rows.sum(), abs=0.5)
        assert cells["yes"].startswith("yes" if table["yes"][rows].mean() > 0.5 else "no")
    card = next(card for card in mix.cards() if any(t.level == "rare" for t in card.traits))
    assert [trait.level for trait in naming_traits(card.traits, 3)][-1] == "rare"
