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
    """Three clusters, and at last a row that is hardly one of its own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = np.where(np.arange(900) < 500, rng.integers(0, 2, 900), rng.integers(0, 3, 900))
    X = rng.normal(size=(900, 2)) + np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 30.0]])[kind]
    np.save(tmp_path / "x.npy", np.vstack([X, [[-4.0, -4.0]]]))
    return tmp_path


def test_stream_info_report_page_and_service_agree(folder):
    said = evermix("stream", "x.npy", "--out", "o.jsonl").stderr
    mix = em.load("o.jsonl.evermix")
    n, hidden = n_held(mix), mix.n_clusters_ - n_held(mix)
    assert (n, hidden) == (3, 1)
    assert "; 3 clusters and 1 of less than a row (" in said
    found = json.loads(evermix("info", "o.jsonl.evermix", "--json").stdout)
    assert (found["K"], found["hidden"], len(found["clusters"])) == (3, 1, 3)
    shown = evermix("info", "o.jsonl.evermix").stdout
    assert shown.startswith("3 clusters ")
    assert re.search(r"clusters +3 \(and 1 of less than a row\)", shown)
    assert "shows 3 clusters." in evermix("report", "o.jsonl.evermix").stderr
    core = Core(Plan("vectors"), mix, None, rows=901)
    listed = clusters(core)
    assert len(listed["clusters"]) == core.n_clusters == 3 and listed["hidden"] == 1
    assert Watched(mix, 901, About("vectors", "x.npy"), lambda: (None, {})).clusters == 3
    assert past_timeline(mix, 901).points[-1].clusters == 3


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
    mix = em.Mixture().partial_fit(np.load("x.npy"))
    least = mix.cards()[-1]
    assert n_held(mix) == 3 and least.size < 1
    assert n_held(mix.rename(least.id, "odd")) == 4
    assert n_held(em.Mixture().partial_fit(np.load("x.npy")).pin(least.id)) == 4
