"""The number of clusters is the same wherever it is said, and so is what it leaves out."""

import json
import re

import numpy as np
import pytest

import evermix as em
from evermix.estimators.mixture.held import n_held
from evermix.service.core import Core
from evermix.service.models import AbsentError
from evermix.service.past import past_timeline
from evermix.service.plans import Plan
from evermix.service.reading import card, clusters
from evermix.service.watched import About, Watched
from helpers.commands import evermix


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three clusters, and at last a row that is probably one of its own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = np.where(np.arange(900) < 500, rng.integers(0, 2, 900), rng.integers(0, 3, 900))
    X = rng.normal(size=(900, 2)) + np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 30.0]])[kind]
    np.save(tmp_path / "x.npy", np.vstack([X, [[-4.0, -4.0]]]))
    return tmp_path


def with_a_part():
    """Return a mixture of the three, with a cluster of two fifths of a row."""
    X = np.load("x.npy")
    return em.Mixture().partial_fit(X[:-1]).partial_fit([[-9.0, -9.0]], sample_weight=[0.4])


@pytest.mark.parametrize("part", [False, True], ids=["of nearly a row", "of less than half"])
def test_every_view_shows_the_same_clusters(folder, part):
    """Those of at least half a row; the others are counted apart, and only asked for shown."""
    if part:
        with_a_part().save("m.evermix")
    else:
        said = evermix("stream", "x.npy", "--checkpoint", "m.evermix", "--out", "o.jsonl").stderr
        assert "; 4 clusters, 1 of them of one row" in said
    mix = em.load("m.evermix")
    n, hidden, beside = (3, 1, " and 1 of less than half a row") if part else (4, 0, "")
    single = "" if part else ", 1 of them of one row"
    assert n_held(mix) == n and 0.3 < min(mix.tally_.mass) < 1
    ids = [card.id for card in mix.cards()]
    assert len(ids) == n and len(mix.cards(tiny=True)) == mix.n_clusters_ == 4
    rivals = {mix.explain([x, x]).other for x in np.linspace(-9, 0, 19)}
    assert rivals <= {-1, *ids} and len(rivals) > 1
    found = json.loads(evermix("info", "m.evermix", "--json").stdout)
    assert (found["K"], found["hidden"] or 0) == (n, hidden)
    assert [cluster["id"] for cluster in found["clusters"]] == ids
    shown = evermix("info", "m.evermix").stdout
    assert shown.startswith(f"{n} clusters ")
    assert re.search(rf"clusters +{n}{single}{beside}\n", re.sub(" +\n", "\n", shown))
    assert f"shows {n} clusters." in evermix("report", "m.evermix").stderr
    assert f"{n} clusters in 901 rows" in mix._repr_html_()
    core = Core(Plan("vectors"), mix, None, rows=901)
    listed = clusters(core)
    assert [each["id"] for each in listed["clusters"]] == ids
    assert core.n_clusters == n and listed.get("hidden", 0) == hidden
    assert Watched(mix, 901, About("vectors", "x.npy"), lambda: (None, {})).clusters == n
    assert past_timeline(mix, 901).points[-1].clusters == n


def test_clusters_of_a_fit_that_rows_are_labelled_as_are_shown(folder):
    """However little mass is left of them: the answers name them."""
    X = np.vstack([np.load("x.npy")[:-1], [[-9.0, -9.0]]])
    mix = em.Mixture().fit(X, sample_weight=np.append(np.ones(900), 0.3))
    assert min(mix.tally_.mass) < 0.5
    assert {card.id for card in mix.cards()} == set(mix.labels_.tolist())


def test_what_was_merged_away_is_said_to_be_part_of_another(folder):
    mix = em.Mixture().partial_fit(np.load("x.npy"))
    left, gone = mix.cluster_ids_.tolist()[:2]
    mix.merge_clusters([left, gone])
    mix.save("m.evermix")
    for words in (("rename", str(gone), "far"), ("pin", str(gone))):
        said = evermix("edit", "m.evermix", *words, status=1).stderr
        assert f"there is no cluster {gone}; it has become part of cluster {left}." in said
    with pytest.raises(ValueError, match=f"it has become part of cluster {left}"):
        mix.card(gone)
    with pytest.raises(AbsentError, match=f"it has become part of cluster {left}"):
        card(Core(Plan("vectors"), mix, None, rows=901), str(gone))
    dropped = mix.lineage_.into.index(-2) if -2 in mix.lineage_.into else None
    if dropped is not None:
        with pytest.raises(ValueError, match="it was dropped, the ids are in cluster_ids_"):
            mix.card(dropped)
    with pytest.raises(ValueError, match="no cluster 999; the ids"):
        mix.card(999)


def test_what_has_a_name_or_a_pin_is_counted(folder):
    mix = with_a_part()
    least = mix.cards(tiny=True)[-1]
    assert n_held(mix) == 3 and least.size < 0.5
    assert n_held(mix.rename(least.id, "odd")) == 4
    assert n_held(with_a_part().pin(least.id)) == 4
