"""What commands say of clusters in few rows: a word of caution, which goes with more rows."""

import json

import numpy as np
import pytest

import evermix as em
from evermix.engines.filters.keeping import FIRST
from helpers.commands import evermix

CAUTION = f"with fewer than {FIRST}, clusters may be chance, and others be missed"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with tables of few rows and of just enough."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(FIRST, 2))
    for name, n in ("few", FIRST - 1), ("enough", FIRST):
        np.savetxt(f"{name}.csv", X[:n], delimiter=",", header="a,b", comments="")
    return tmp_path


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_clusters_in_few_rows_come_with_a_caution(folder, command):
    for name, warned in ("few", True), ("enough", False):
        run = command, f"{name}.csv", "--out", f"{name}.jsonl", "--checkpoint", "m.evermix"
        said = evermix(*run, "--overwrite").stderr
        assert (f"evermix: {FIRST - 1} rows: {CAUTION}\n" in said) is warned
        assert CAUTION not in evermix(*run, "--overwrite", "--quiet").stderr
        shown = " ".join(evermix("info", "m.evermix").stdout.split())
        assert (f"rows {FIRST - 1} ({CAUTION})" in shown) is warned
        assert json.loads(evermix("info", "m.evermix", "--json").stdout)["observations"] in (63, 64)
        evermix("report", "m.evermix", "--out", "page.html", "--overwrite")
        assert (CAUTION in (folder / "page.html").read_text()) is warned


def test_few_rows_that_follow_many_need_no_caution(folder):
    evermix("fit", "enough.csv", "--out", "fitted.csv", "--checkpoint", "m.evermix")
    said = evermix("stream", "few.csv", "--model", "m.evermix", "--out", "out.jsonl").stderr
    assert CAUTION not in said
    assert em.load("out.jsonl.evermix").state_.clock == 2 * FIRST - 1
