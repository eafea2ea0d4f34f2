"""A format of the user's own is one file: the skeleton in CONTRIBUTING, and one of blocks."""

import gzip
import importlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evermix.io.chunks import Chunks
from evermix.io.sources import BlockSource, SourceError, open_source
from evermix.io.sources.blocks import Block

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def skeleton(tmp_path, monkeypatch):
    """Import the skeleton of a record format from a module outside the package."""
    section = CONTRIBUTING.read_text().partition("### A source format")[2].partition("\n### ")[0]
    code = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "tabbed_texts.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module("tabbed_texts")
    del sys.modules["tabbed_texts"]


def test_the_skeleton_of_a_record_format_reads_files(skeleton, tmp_path):
    """Chunks, offsets, packed files, several files and pickles come with the base class."""
    path, packed = tmp_path / "a.tabbed", tmp_path / "b.tabbed.gz"
    path.write_text("x\tone\n\ny\ttwo\nz\tthree\n")
    packed.write_bytes(gzip.compress(b"w\tfour\n"))
    source = open_source(path)
    assert type(source) is skeleton.TabbedTexts and source.kind == "text"
    chunks = list(source.chunks(0, 2))
    assert [(c.ids, c.X, c.offset) for c in chunks] == [
        (["x", "y"], ["one", "two"], 3),
        (["z"], ["three"], 4),
    ]
    assert [c.ids for c in pickle.loads(pickle.dumps(source)).chunks(3, 2)] == [["z"]]
    both = open_source([path, packed])
    assert [c.ids for c in both.chunks(0, 10)] == [["x", "y", "z", "w"]]


def test_bad_rows_of_the_skeleton_are_named_or_skipped(skeleton, tmp_path):
    """What ``parse`` refuses is an error with file and line, or counted."""
    path = tmp_path / "a.tabbed"
    path.write_text("x\tone\nno tab\nz\tthree\n")
    with pytest.raises(SourceError, match="a.tabbed: line 2: expected an id, a tab and a text"):
        list(open_source(path).chunks(0, 5))
    source = open_source(path, skip_bad=True)
    assert [c.ids for c in source.chunks(0, 5)] == [["x", "z"]]
    assert source.bad == 1
    with pytest.raises(SourceError, match='can be read as "text", not as "counts"'):
        open_source(path, kind="counts")


def test_the_command_line_reads_files_of_a_plugin(skeleton, tmp_path):
    """``--plugin`` imports the module; ids and texts are those of the file."""
    words = ["apple banana cherry", "river mountain valley"]
    lines = [f"row{i}\t{words[i % 2]} {words[i % 2]}\n" for i in range(60)]
    (tmp_path / "texts.tabbed").write_text("".join(lines))
    command = ["--plugin", "tabbed_texts", "stream", "texts.tabbed", "--out", "out.jsonl"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    subprocess.run(
        [sys.executable, "-m", "evermix", *command],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in found] == [f"row{i}" for i in range(60)]


def test_suffixes_of_own_formats_are_listed(skeleton, tmp_path):
    """An unknown name gets the list of known ones, ours and the user's."""
    (tmp_path / "a.other").write_text("")
    with pytest.raises(SourceError, match=r"unknown format.*\*\.jsonl, .*\.tabbed, .*docword"):
        open_source(tmp_path / "a.other")


class RawDoubles(BlockSource):
    """Rows of three doubles, without a header."""

    suffixes = (".raw3",)

    def survey(self):
        self.kind = self.choose_kind("vectors", "counts")
        self.set_shape(Path(self.path).stat().st_size // 24, 3)

    def blocks(self, start, size):
        X = np.fromfile(self.path).reshape(-1, 3)
        for first in range(start, self.n_rows, size):
            yield Block(first, X[first : first + size])


def test_a_block_format_needs_a_shape_and_slices(tmp_path):
    """Numbers of rows serve as ids, values are checked, and counts become sparse."""
    X = np.arange(15.0).reshape(5, 3)
    X[3, 1] = np.nan
    X.tofile(tmp_path / "a.raw3")
    with pytest.raises(SourceError, match="row 3: expected finite numbers, got nan in column 1"):
        list(open_source(tmp_path / "a.raw3").chunks(0, 2))
    source = open_source(tmp_path / "a.raw3", skip_bad=True, kind="counts")
    assert [c.ids for c in source.chunks(0, 2)] == [[0, 1], [2], [4]]
    found = np.vstack([chunk.toarray() for chunk in Chunks(source)])
    np.testing.assert_array_equal(found, X[[0, 1, 2, 4]])


def test_a_format_that_is_defined_later_replaces_one_of_the_same_suffix(tmp_path):
    """So a user's own reader of a known suffix is used, and more telling names still win."""

    class Special(RawDoubles):
        prefix = "special."

    class Last(RawDoubles):
        pass

    np.ones(3).tofile(tmp_path / "a.raw3")
    np.ones(3).tofile(tmp_path / "special.a.raw3")
    assert type(open_source(tmp_path / "a.raw3")) is Last
    assert type(open_source(tmp_path / "special.a.raw3")) is Special
