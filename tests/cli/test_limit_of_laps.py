"""Fits that end at their limit of laps say so, and how to go on."""

import json
import re

import numpy as np
import pytest

import evermix as em
from evermix.engines.base import Engine
from helpers.commands import evermix

FILES = "--out", "out.jsonl", "--checkpoint", "m.evermix"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(12, 8))
    np.save("points.npy", rng.normal(size=(1500, 8)) + centres[rng.integers(12, size=1500)])
    return tmp_path


def described():
    return json.loads(evermix("info", "m.evermix", "--json").stdout)


@pytest.mark.parametrize("engine", ["fullvb", "memoizedvb", "dpmeans"])
def test_a_fit_that_ends_at_its_limit_says_so_until_it_has_converged(folder, engine):
    command = "fit", "points.npy", *FILES, "--engine", engine
    said = evermix(*command, "--laps", "2").stderr
    assert "2 laps, the limit, before it " in said
    rises = engine.endswith("vb")  # an objective
    go_on = re.search(r"\((evermix fit points.npy .*--resume --laps 4) goes on\)", said)
    assert (go_on is not None) == rises
    found = described()
    assert (found["laps"], found["finished"], found["converged"]) == (2, True, False)
    assert ("last_gain" in found) == rises
    shown = " ".join(evermix("info", "m.evermix").stdout.split())
    assert "finished at the limit of 2 passes, before it " in shown
    if rises:
        assert "(evermix fit points.npy --checkpoint m.evermix" in shown
    again = evermix(*command, "--resume", "--laps", "2000").stderr
    assert "limit" not in again and " of at most 2,000 laps" in again
    found = described()
    assert found["converged"] is True and 2 < found["laps"] < 2000
    assert "limit" not in evermix("info", "m.evermix").stdout


def test_a_fit_without_an_engine_goes_on_too(folder):
    rng = np.random.default_rng(0)
    centres = 1.6 * rng.normal(size=(8, 4))  # close together: the bound rises for long
    np.save("points.npy", rng.normal(size=(1200, 4)) + centres[rng.integers(8, size=1200)])
    said = evermix("fit", "points.npy", *FILES).stderr
    assert "20 laps, the limit, before it converged: the last one still improved the fit by" in said
    before = described()
    assert before["converged"] is False and before["last_gain"] > 0.01
    said = evermix("fit", "points.npy", *FILES, "--resume", "--laps", "500").stderr
    assert "limit" not in said and " of at most 500 laps" in said
    after = described()
    assert after["converged"] is True and after["laps"] > 20
    assert after["elbo"] > before["elbo"] and after["last_gain"] <= 0.01
    evermix("fit", "points.npy", *FILES, "--resume")  # changes nothing
    assert described()["laps"] == after["laps"]
    mix = em.load("m.evermix")
    assert mix.engine is None and mix.learner_.engine.laps == 500


def test_laps_cannot_be_given_to_a_fit_that_begins_without_an_engine(folder):
    said = evermix("fit", "points.npy", *FILES, "--laps", "5", status=1).stderr
    assert "--laps does not belong to --engine auto" in said


def test_a_fit_of_python_names_what_goes_on_there(folder):
    X = np.load("points.npy")
    mix = em.Mixture(engine=em.FullVB(laps=2), random_state=0).fit(X)
    mix.save("m.evermix")
    shown = " ".join(evermix("info", "m.evermix").stdout.split())
    assert "Mixture.resume goes on if its engine has more laps, such as 4" in shown
    mix.set_params(engine__laps=2000).resume(X)
    progress = mix.learner_.engine.progress(mix.state_)
    assert progress["converged"] and progress["laps"] < 2000


def test_engines_without_such_a_test_say_nothing(folder):
    said = evermix("fit", "points.npy", *FILES, "--engine", "stochasticvb", "--laps", "2").stderr
    assert "; 2 laps; " in said
    assert described()["converged"] is None and described()["finished"] is True
    assert Engine.converged(em.ADF(), None) is None
