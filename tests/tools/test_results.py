"""How tools/results.py compares two files of results."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "results.py"
OLD = {"a/labels_": np.arange(4), "a/score": np.array([1.0, 2.0, np.nan]), "b/refused": "TypeError"}


@pytest.fixture
def compared(tmp_path):
    """Return a function that compares OLD with other arrays: exit status and output."""

    def compare(new, *options):
        np.savez(tmp_path / "old.npz", **OLD)
        np.savez(tmp_path / "new.npz", **new)
        files = [str(tmp_path / "old.npz"), str(tmp_path / "new.npz")]
        command = [sys.executable, str(SCRIPT), "compare", *files, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert not done.stderr
        return done.returncode, done.stdout

    return compare


def test_equal_bits_are_equal(compared):
    status, out = compared(OLD)
    assert (status, out) == (0, "3 of 3 arrays are bit-equal.\n")


def test_a_tolerance_holds_for_floats(compared):
    new = OLD | {"a/score": np.array([1.0, 2.0 + 4e-12, np.nan])}
    status, out = compared(new)
    assert status == 1
    assert "a/score: 1 of 3 entries, by at most 2e-12 relatively and 4e-12 absolutely" in out
    assert compared(new, "--tolerance", "1e-11")[0] == 0
    assert compared(new, "--tolerance", "1e-12")[0] == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"a/labels_": np.array([0, 1, 2, 9])}, "a/labels_: 1 of 4 entries"),
        ({"a/labels_": np.arange(5)}, "a/labels_: int64 (4,) has become int64 (5,)"),
        ({"a/labels_": np.arange(4.0)}, "int64 (4,) has become float64 (4,)"),
        ({"a/score": np.array([1.0, np.inf, np.nan])}, "some of them not finite"),
        ({"a/score": np.array([1.0, np.nan, np.nan])}, "some of them not finite"),
        ({"b/refused": "ValueError"}, "b/refused: 1 of 1 entries"),
        ({"c/labels_": np.arange(2)}, "c/labels_: only in"),
    ],
)
def test_no_tolerance_helps_other_differences(compared, changed, words):
    status, out = compared(OLD | changed, "--tolerance", "1e9")
    assert status == 1
    assert words in out


def test_a_case_that_is_missing_is_a_difference(compared):
    assert compared({name: OLD[name] for name in ("a/score", "b/refused")}, "--tolerance", "1")[0]


def test_a_zero_of_another_sign_is_within_every_tolerance(compared, monkeypatch):
    monkeypatch.setitem(OLD, "a/score", np.zeros(2))
    new = OLD | {"a/score": np.array([0.0, -0.0])}
    assert compared(new)[0] == 1
    assert compared(new, "--tolerance", "0")[0] == 0
    assert "2 of 3 arrays are bit-equal" in compared(new)[1]
