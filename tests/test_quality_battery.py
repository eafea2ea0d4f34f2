"""The battery of benchmarks/quality from end to end, on a tiny set that needs no data folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TINY = ["--sets", "iris,blob_100x2", "--methods", "fit,hdbscan_5", "--orders", "0,1"]


@pytest.fixture
def battery():
    """Return a function that runs the battery in a process of its own, since it sets threads."""
    environment = {name: value for name, value in os.environ.items() if name != "EVERMIX_DATA"}

    def run(*options):
        command = [sys.executable, "-W", "error", "-m", "benchmarks.quality", *map(str, options)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    return run


def test_a_run_is_written_down_resumed_and_summarised(battery, tmp_path):
    out = tmp_path / "folder" / "quality.jsonl"
    summary, _ = battery(*TINY, "--out", out)
    lines = out.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    keys = {(one["set"], one["method"], one["order"]) for one in records}
    assert len(records) == len(keys) == 2 * 2 * 2
    for one in records:
        assert "error" not in one
        assert -1 <= one["ami"] <= 1 and -1 <= one["ari"] <= 1
        assert one["k_ratio"] == pytest.approx(one["k"] / one["true_k"], abs=1e-3)
        assert one["cpu_s"] > 0
    assert {one["true_k"] for one in records} == {1, 3}
    assert summary["kinds"]["vectors"]["fit"]["runs"] == 2

    # A line that was cut short is run again; nothing else is.
    out.write_text("\n".join([*lines[:-1], lines[-1][:20]]))
    _, said = battery(*TINY, "--out", out)
    assert "1 runs to do" in said
    assert len(out.read_text().splitlines()) == len(lines) + 1

    again, table = battery("--summary", out)
    assert again["kinds"].keys() == summary["kinds"].keys()
    assert again["kinds"]["vectors"]["fit"]["ami"] == summary["kinds"]["vectors"]["fit"]["ami"]
    assert "hdbscan_5" in table


@pytest.mark.slow
def test_tables_are_clustered_beside_what_needs_numbers_without_holes(battery, tmp_path):
    """Peers see the same table with its holes filled."""
    options = ["--sets", "table_small_holes", "--methods", "fit,stream,onehot_hdbscan_5"]
    summary, _ = battery(*options, "--orders", "0", "--out", tmp_path / "tables.jsonl")
    found = summary["sets"]["table_small_holes"]
    assert not summary["errors"]
    assert found["fit"]["ami"] > found["onehot_hdbscan_5"]["ami"] + 0.2
    assert found["stream"]["ami"] > found["onehot_hdbscan_5"]["ami"] + 0.2
