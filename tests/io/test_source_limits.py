"""Indices and lines that are far too large are errors at once, in bounded memory."""

import io
import tracemalloc

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.lines import bounded_lines
from helpers.commands import evermix

LONG = b"word " * 8000
FILES = {
    "long.jsonl": b'{"text": "ab"}\n{"text": "' + LONG + b'"}\n{"text": "cd"}\n',
    "long.csv": b"id,text\n1,ab\n2," + LONG + b"\n3,cd\n",
    "long.svmlight": b"1 1:1\n1 " + b"1:1 " * 8000 + b"\n1 2:1",
    "index.svmlight": b"1 1:1\n1 2000000000:1\n1 2:1\n",
}


def _rows(path, **options):
    source = open_source(path, max_line=1000, **options)
    return sum(len(chunk.ids) for chunk in source.chunks(0, 10)), source.complaints


@pytest.mark.parametrize("name", FILES)
def test_a_row_beyond_the_limits_is_a_bad_one(tmp_path, name):
    """It is named, or left out like other bad rows; the rows after it are whole."""
    path = tmp_path / name
    path.write_bytes(FILES[name])
    wanted = "at most 1,048,576 features" if "index" in name else "at most 1,000 bytes"
    with pytest.raises(SourceError, match=f"line {3 if 'csv' in name else 2}: .*{wanted}"):
        _rows(path)
    n, complaints = _rows(path, skip_bad=True)
    assert n == 2 and len(complaints) == 1 and wanted in complaints[0]
    source = open_source(path, max_line=10**6, max_features=2 * 10**9)
    if "index" not in name:
        assert sum(len(chunk.ids) for chunk in source.chunks(0, 10)) == 3


@pytest.mark.parametrize("name", ["only.svmlight", "docword.wide.txt", "wide.npy"])
def test_files_that_are_too_wide_are_refused(tmp_path, name):
    content = {"only.svmlight": "1 2000000000:1\n", "docword.wide.txt": "1\n2000000000\n1\n1 1 1\n"}
    path = tmp_path / name
    if name in content:
        path.write_text(content[name])
        with pytest.raises(SourceError, match="at most 1,048,576 features"):
            open_source(path)
    else:
        np.save(path, np.zeros((1, 12)))
        with pytest.raises(SourceError, match="at most 10 features .*, the file has 12"):
            open_source(path, max_features=10)


def test_the_rest_of_a_long_line_is_not_kept():
    """Lines come whole up to the limit; 50 MB of one line take far less."""
    assert list(bounded_lines(io.BytesIO(b"ab\n123456\n\ncd").readline, 4)) == [
        b"ab\n",
        b"12345\n",
        b"\n",
        b"cd",
    ]
    assert list(bounded_lines(io.BytesIO(b"1234\n12345\n").readline, 5)) == [b"1234\n", b"12345\n"]
    file = io.BytesIO(b"x" * 50_000_000 + b"\nab\n")
    tracemalloc.start()
    try:
        assert [len(line) for line in bounded_lines(file.readline, 1000)] == [1002, 3]
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_the_command_line_has_the_limits_as_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    assert "--max-features" in evermix("stream", "index.svmlight", status=1).stderr
    long = ["long.jsonl", "--hash", 64]
    assert "--max-line" in evermix("stream", *long, "--max-line", 999, status=1).stderr
    evermix("stream", *long, "--overwrite")
