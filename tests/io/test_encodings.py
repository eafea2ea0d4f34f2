"""Files of text in other encodings than UTF-8."""

import gzip
import json

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix

ROWS = "name,größe\n" + "Zoë,1.5\nBjörn,2.5\n" * 40


def names(path, **options):
    source = open_source(path, **options)
    assert source.columns == ["name", "größe"]
    return [name for chunk in source.chunks(0, 7) for name in chunk.X["name"]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_file_that_says_its_encoding_is_read_without_options(tmp_path, encoding, suffix):
    """So does Excel's "Unicode text", which is UTF-16 with tabs."""
    for delimiter in ",\t":
        opened = gzip.open if suffix.endswith(".gz") else open
        with opened(tmp_path / f"t{suffix}", "wb") as file:
            file.write(ROWS.replace(",", delimiter).replace("\n", "\r\n").encode(encoding))
        assert names(tmp_path / f"t{suffix}") == ["Zoë", "Björn"] * 40


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-8"])
def test_a_named_encoding_is_read(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(ROWS.encode(encoding))
    assert names(tmp_path / "t.csv", encoding=encoding) == ["Zoë", "Björn"] * 40
    line = json.dumps({"text": "Zoë isst"}, ensure_ascii=False)
    (tmp_path / "t.jsonl").write_bytes(f"{line}\n".encode(encoding))
    (chunk,) = open_source(tmp_path / "t.jsonl", encoding=encoding).chunks(0, 9)
    assert chunk.X == ["Zoë isst"]


def test_what_was_read_is_recognised_by_its_marks(tmp_path):
    """Rows are counted, marked and resumed in a file of any encoding."""
    path, options = tmp_path / "t.csv", {"encoding": "cp1252", "marked": True}
    path.write_bytes(ROWS.encode("cp1252"))
    source = open_source(path, **options)
    first = next(source.chunks(0, 10))
    marks = source.marks(first.offset, first.read)
    again = open_source(path, **options)
    again.recall(marks[0])
    assert sum(len(chunk.ids) for chunk in again.chunks(10, 100)) == 70
    path.write_bytes(ROWS.replace("Zoë", "Zoé").encode("cp1252"))
    changed = open_source(path, **options)
    changed.recall(marks[0])
    with pytest.raises(SourceError, match="changed since"):
        list(changed.chunks(10, 100))


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.csv", ROWS, {}, "expected text in UTF-8.*--encoding cp1252.*--encoding latin-1"),
        ("t.csv", "1,2\n" * 50 + "1,Zoë\n", {}, "line 51: expected text in UTF-8.*latin-1"),
        ("t.jsonl", '{"text": "Zoë"}\n', {}, "line 1: expected a JSON object in UTF-8.*latin-1"),
        ("t.csv", ROWS, {"encoding": "nope"}, "expected the name of one that Python knows"),
        ("t.csv", ROWS, {"encoding": "hex"}, "expected the name of one that Python knows"),
        ("t.csv", ROWS, {"encoding": "utf-16-le"}, "no utf-16-le.*Name the encoding"),
    ],
)
def test_another_encoding_is_said_to_be_one(tmp_path, name, text, options, message):
    (tmp_path / name).write_bytes(text.encode("latin-1"))  # an odd number of bytes
    with pytest.raises(SourceError, match=message):
        list(open_source(tmp_path / name, **options).chunks(0, 9))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf8_is_no_other_encoding(tmp_path, encoding):
    (tmp_path / "t.csv").write_text(ROWS)
    with pytest.raises(SourceError, match=r"t\.csv: .* no utf-.*Name the encoding.*--encoding"):
        open_source(tmp_path / "t.csv", encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_two_bytes_for_each_character_are_recognised(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(ROWS.encode(encoding))
    with pytest.raises(SourceError, match=f"t\\.csv: .*--encoding {encoding}"):
        open_source(tmp_path / "t.csv")
    assert names(tmp_path / "t.csv", encoding=encoding) == ["Zoë", "Björn"] * 40


def test_only_text_has_an_encoding(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(SourceError, match="for files of text"):
        open_source(tmp_path / "x.npy", encoding="latin-1")
    with pytest.raises(SourceError, match="must be in UTF-8"):
        open_source(tmp_path / "x.jsonl", follow=True, encoding="latin-1")


def test_the_command_line_names_an_encoding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(ROWS.encode("cp1252"))
    assert "--encoding cp1252" in evermix("fit", "t.csv", "--out", "a.csv", status=1).stderr
    evermix("fit", "t.csv", "--out", "a.csv", "--keep-fields", "--encoding", "cp1252")
    assert "Björn" in (tmp_path / "a.csv").read_text()
