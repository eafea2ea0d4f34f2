"""The figures of tools/structure.py, each on a small tree where it is known."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "structure.py"


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path):
    """Return a function that writes files below src/pkg and returns the checkout."""

    def write(name="new", **files):
        root = tmp_path / name
        for path, text in {"__init__": "", **files}.items():
            file = root / "src" / "pkg" / f"{path.replace('__in__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(text).lstrip("\n"))
        return root

    return write


@pytest.fixture
def measured(checkout):
    """Return a function that writes files and returns what is measured of them."""
    return lambda **files: json.loads(run(checkout(**files), "--json"))


def test_lines_are_counted_by_kind_and_folder(measured):
    text = '''
        """A docstring

        of three lines."""

        # A comment.
        from pkg import (
            b,
        )

        x = """
        # no comment
        """  # nor this
        """A docstring of x."""


        def f():
            """Document f."""
            import os
            return os
    '''
    found = measured(a="", low__in__deep__in__c=text, low__in__d="y = 1")["folders"]
    lines = {"files": 1, "lines": 19, "code": 5, "docstrings": 5, "comments": 1, "blanks": 4}
    assert found["low/deep"] == {**lines, "imports": 4}
    assert found["low"] == {**lines, "imports": 4, "files": 2, "lines": 20, "code": 6}
    assert found["."] == dict.fromkeys(found["."], 0) | {"files": 2}
    assert found["total"] == {**found["low"], "files": 4}


def test_circles_are_found_through_every_kind_of_import(measured):
    found = measured(
        a="import pkg.b",
        b="def f():\n    from pkg import c",
        c="""
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from pkg.a import X
        """,
        d="from pkg import a",
        e__in____init__="from pkg.e.f import g",
        e__in__f="from . import g\nfrom .. import a",
        e__in__g="from .f import h",
        outside="import os\nfrom pkg.missing import x",
    )
    assert found["import circles"] == [["pkg.a", "pkg.b", "pkg.c"], ["pkg.e.f", "pkg.e.g"]]
    assert found["figures"]["import circles"] == 2


def test_a_package_that_a_module_of_it_imports_from_is_a_circle(measured):
    found = measured(e__in____init__="from pkg.e.f import g", e__in__f="from pkg.e import h")
    assert found["import circles"] == [["pkg.e", "pkg.e.f"]]


def test_a_straight_line_of_imports_is_no_circle(measured):
    found = measured(a="from pkg import b", b="from pkg.c import x", c="import pkg.d", d="")
    assert found["import circles"] == []


def test_functions_are_measured_below_their_signatures(measured):
    found = measured(
        a="""
            class A:
                @staticmethod
                def long(
                    x,
                    y,
                ):
                    # A comment before the first statement belongs to the body.
                    def inner():
                        return x

                    return inner


            def short(): return 1
        """
    )
    assert found["longest functions"] == [[5, "pkg/a.py:3 long"]]
    assert found["figures"]["functions over 60 lines"] == 0


def test_what_is_over_the_limits_is_listed(measured):
    body = "".join(f"    x = {i}\n" for i in range(61))
    found = measured(a=f"def f():\n{body}", b="x = 1\n" * 401, c="x = 1\n" * 402)
    assert found["longest functions"] == [[61, "pkg/a.py:1 f"]]
    assert found["longest files"] == [[402, "pkg/c.py"], [401, "pkg/b.py"]]
    figures = found["figures"]
    assert (figures["functions over 60 lines"], figures["files over 400 lines"]) == (1, 2)
    assert (figures["longest function"], figures["longest file"]) == (61, 402)


def test_inheritance_counts_classes_of_the_project(measured):
    found = measured(
        __init__="from pkg.base import Root as Renamed",
        base="""
            from abc import ABC
            from typing import Generic, TypeVar

            T = TypeVar("T")

            class Root(ABC, Generic[T]): ...
        """,
        a="""
            import pkg
            from pkg import base

            class Shared(base.Root[int]): ...
            class Other(pkg.Renamed): ...
        """,
        b="""
            from pkg.a import Shared

            class Leaf(Shared, dict): ...
            class Loner(Exception): ...
        """,
    )
    assert found["deepest inheritance"] == ["3: Leaf -> Shared -> Root"]
    figures = found["figures"]
    assert (figures["deepest inheritance"], figures["chains deeper than 2"]) == (3, 1)


def test_bases_of_the_same_name_elsewhere_are_others(measured):
    found = measured(
        a="class Sampler: ...\nclass Gibbs(Sampler): ...",
        b="from outside import Sampler\nclass Walk(Sampler): ...",
    )
    assert found["deepest inheritance"] == ["2: Gibbs -> Sampler"]


ENGINES = {
    "engines__in____init__": "from pkg.engines.base import Engine, Sampler",
    "engines__in__base": "class Engine: ...\nclass Sampler(Engine): ...",
    "engines__in__gibbs": """
        from pkg.engines.base import Sampler
        class Gibbs(Sampler):
            def check(self, other):
                return isinstance(other, Gibbs)
    """,
}


@pytest.mark.parametrize(
    "check",
    [
        "isinstance(engine, Sampler)",
        "isinstance(engine, (int, Gibbs))",
        "isinstance(mix.engine, int | Gibbs)",
        "issubclass(kind, gibbs.Gibbs)",
        "type(engine) is Gibbs",
        "type(engine) in (Gibbs, int)",
    ],
)
def test_checks_for_a_kind_of_engine_are_found(measured, check):
    imports = "from pkg.engines import Sampler, gibbs\nfrom pkg.engines.gibbs import Gibbs\n"
    found = measured(**ENGINES, a=f"{imports}x = {check}")
    places = found["checks for a kind of engine outside engines/"]
    assert places == [f"pkg/a.py:3 {check}"]
    assert found["checks for any engine outside engines/"] == []


def test_patterns_are_checks_too(measured):
    text = """
        from pkg.engines.gibbs import Gibbs
        match engine:
            case Gibbs():
                pass
    """
    found = measured(**ENGINES, a=text)
    assert found["figures"]["checks for a kind of engine outside engines/"] == 1


def test_checks_of_other_classes_are_not_of_engines(measured):
    text = """
        from pkg.engines import Engine
        from pkg.walks import Sampler

        isinstance(x, Sampler)
        isinstance(x, Engine)
    """
    found = measured(**ENGINES, walks="class Sampler: ...", a=text)
    assert found["checks for a kind of engine outside engines/"] == []
    assert found["checks for any engine outside engines/"] == ["pkg/a.py:5 isinstance(x, Engine)"]


def test_privates_of_other_files_are_found(measured):
    found = measured(
        _hidden="",
        a="""
            from pkg import _hidden
            from pkg.b import _secret, public

            class A:
                _kind: int

                def __init__(self, other):
                    self._own = other._own
                    self._kind = other._kind
                    self._inherited, other._set = 1, 2

                def use(self, other):
                    super()._base()
                    other.__class__, other._replace, other.public
                    return [other._taken, self._inner._deep, other._method]

                def _method(self): ...
        """,
        b="_secret = public = 1",
    )
    assert found["reaches into privates of other files"] == [
        "pkg/a.py:2 from pkg.b import _secret",
        "pkg/a.py:10 other._set",
        "pkg/a.py:15 other._taken",
        "pkg/a.py:15 self._inner._deep",
    ]


def test_class_names_of_several_files_are_listed(measured):
    found = measured(a="class A: ...\nclass B: ...", b="x = 1\nclass A: ...")
    assert found["class names defined more than once"] == {"A": ["pkg/a.py:1", "pkg/b.py:2"]}


def test_two_checkouts_are_shown_side_by_side(checkout):
    old = checkout("old", a="import pkg.b", b="import pkg.a", low__in__c="x = 1\n")
    new = checkout("new", a="import pkg.b", b="")
    lines = run(old, new).splitlines()
    assert lines[0].split() == ["figure", "before", "after"]
    assert ["import", "circles", "1", "0"] in [line.split() for line in lines]
    assert "low" in "\n".join(lines) and "1 -> 0" in "\n".join(lines)
    assert "before: import circles" in lines and "  pkg.a pkg.b" in lines
    both = json.loads(run(old, new, "--json"))
    assert both["before"]["import circles"] and not both["after"]["import circles"]


def test_a_folder_without_sources_is_refused(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as error:
        run(tmp_path)
    assert "is not a folder. Give the path of a checkout" in error.value.stderr
