"""Engines, families and priors of the user's own on the command line, and options from fields."""

import json
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest

import evermix as em
from evermix.cli.options.commands import LEARNING, derived, options_of, written
from evermix.cli.options.components import Component
from evermix.cli.options.mixture import parts
from helpers.commands import evermix

MODULE = '''
from dataclasses import dataclass
from typing import Literal

import evermix as em


@dataclass(frozen=True)
class Eager(em.ADF):
    """A filter with a setting more.

    Parameters
    ----------
    zeal : float
        How fast clusters are opened, as :class:`ADF` does it. Nobody reads on.
    kind : {"a", "b"}
        A name that another option has.
    calm : bool
        Stay calm.
    """

    zeal: float = 0.5
    kind: Literal["a", "b"] = "a"
    calm: bool = True


@dataclass(frozen=True)
class RoundGaussian(em.FixedGaussian):
    """Clusters of one size."""


@dataclass(frozen=True)
class TwicePitmanYor(em.PitmanYor):
    """A prior."""
'''
PLUGIN = ["--plugin", "my_parts"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with points and a module of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_parts.py").write_text(MODULE)
    np.save("points.npy", np.random.default_rng(0).normal(size=(60, 2)))
    yield tmp_path
    sys.modules.pop("my_parts", None)


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_classes_of_a_plugin_are_used_by_name(folder, command):
    options = ["--engine", "eager", "--zeal", 0.25, "--engine-kind", "b", "--no-calm", "--quiet"]
    options += ["--family", "round", "--variance", 2, "--prior", "twice-pitman-yor"]
    files = ["--out", "out.jsonl", "--checkpoint", "points.evermix"]
    evermix(*PLUGIN, command, "points.npy", *options, "--concentration", 3, *files)
    import my_parts

    classes = [my_parts.Eager, my_parts.RoundGaussian, my_parts.TwicePitmanYor]
    mix = em.load("points.evermix", custom=classes)
    assert mix.engine == my_parts.Eager(zeal=0.25, kind="b", calm=False)
    assert mix.family == my_parts.RoundGaussian(variance=2.0)
    assert mix.prior == my_parts.TwicePitmanYor(alpha=3.0)
    evermix(*PLUGIN, command, "points.npy", *files, "--resume")
    lines = evermix(*PLUGIN, "predict", "points.evermix", "points.npy").stdout.splitlines()
    assert [json.loads(line)["cluster"] for line in lines] == mix.predict(
        np.load("points.npy")
    ).tolist()
    assert "zeal=0.25" in evermix(*PLUGIN, "info", "points.evermix", "--all").stdout


def test_without_the_plugin_its_classes_are_unknown(folder):
    evermix(*PLUGIN, "fit", "points.npy", "--engine", "eager", "--quiet")
    # In a process of its own, since a class is registered for good once it is defined.
    info = [sys.executable, "-m", "evermix", "info", "points.evermix"]
    done = subprocess.run(info, capture_output=True, text=True)
    assert done.returncode == 1 and "Eager" in done.stderr
    said = evermix(*PLUGIN, "fit", "points.npy", "--zeal", 1, "--overwrite", status=1).stderr
    assert "--zeal does not belong to --engine auto" in said and "It belongs to eager" in said


def test_a_plugin_that_cannot_be_imported_is_one_line(folder):
    said = evermix("--plugin", "nowhere", "info", "points.evermix", status=1).stderr
    assert said.startswith("evermix: error: --plugin nowhere could not be imported")
    assert len(said.splitlines()) == 1


def test_an_option_says_what_the_docstring_says(folder):
    evermix(*PLUGIN, "fit", "--help")
    import my_parts

    zeal = parts((my_parts.Eager,), True).engine.options["zeal"]
    assert zeal.help == "eager (0.5): How fast clusters are opened, as ADF does it."


@pytest.mark.parametrize("streaming", [True, False])
def test_every_plain_field_of_an_engine_is_an_option(streaming):
    """But those that end a fit, in a stream."""
    engine = parts((), streaming).engine
    for name, cls in engine.classes.items():
        wanted = [
            field.name for field in fields(cls) if not (streaming and field.name in cls.may_change)
        ]
        assert list(engine.own(name)) == wanted


@pytest.mark.parametrize("options", [options_of("stream"), options_of("fit"), options_of("topics")])
def test_no_two_options_have_one_name_and_all_say_something(options):
    names = [option.name for option in options]
    assert len(names) == len(set(names))
    assert all(option.help.endswith((".", ")")) for option in options)


@pytest.mark.parametrize("command", LEARNING)
def test_the_written_options_are_those_of_the_classes(command):
    """Otherwise: python tools/derived_options.py writes them."""
    for some, wanted in zip(written(command), derived(command), strict=True):
        assert some == [replace(option, convert=None) for option in wanted]


def test_the_same_field_has_the_same_name_in_all_commands():
    for component, other in zip(parts((), True), parts((), False), strict=True):
        assert isinstance(component, Component)
        for field, option in component.options.items():
            assert other.options[field].name == option.name
