"""Every source yields the same rows however it is cut, resumed or packed, and names bad rows."""

import gzip
import io
import json
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from evermix.io.sources import SourceError, open_source

pytestmark = pytest.mark.every_python

N, D = 23, 4
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.7, size=(N, D)).astype(float)
WORDS = np.random.default_rng(1).poisson(0.3, size=(N, 40)).astype(float)
COUNTS[[0, 5, 6, N - 1]] = 0  # empty documents, also at both ends
COUNTS[1, D - 1] = 1
VECTORS = RNG.normal(size=(N, D))
TEXTS = [f'Text {i}\nwith ä and, "quotes" {"x" * i}' for i in range(N)]


def write(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def json_lines(path, field, values):
    lines = [json.dumps({field: value}) for value in values]
    return write(path, "\n".join([*lines[:3], "", *lines[3:]]) + "\n")


def docword(path, X, extra=""):
    rows, words = X.nonzero()
    lines = [f"{i + 1} {j + 1} {X[i, j]:g}" for i, j in zip(rows, words, strict=True)]
    return write(path, "\n".join([*map(str, X.shape), str(len(lines)), *lines]) + "\n" + extra)


def svmlight(path, X, base=1):
    rows = (" ".join(f"{j + base}:{x!r}" for j, x in enumerate(row.tolist()) if x) for row in X)
    return write(path, "".join(f"1 {row} # note\n" for row in rows))


def comma_separated(path, X, header=True):
    head = "a,b,id,c,d\n" if header else ""
    rows = (map(repr, [*x[:2], f"n{i}", *x[2:]] if header else x) for i, x in enumerate(X.tolist()))
    return write(path, head + "".join(",".join(row).replace("'", "") + "\n" for row in rows))


def csv_text(path):
    rows = ('{},"{}"\n'.format(i, text.replace('"', '""')) for i, text in enumerate(TEXTS))
    return write(path, "id,text\n" + "".join(rows))


def npy(path, X):
    np.save(path, X)
    return path


def npz(path, X):
    sparse.save_npz(path, sparse.csr_matrix(X))
    return path


def arrow(path, **columns):
    parquet.write_table(pa.table(columns), path, row_group_size=5)
    return path


CASES = {
    "text.jsonl": ("text", TEXTS, lambda p: json_lines(p, "text", TEXTS)),
    "text.jsonl.gz": ("text", TEXTS, lambda p: json_lines(p, "text", TEXTS)),
    "vector.ndjson": ("vectors", VECTORS, lambda p: json_lines(p, "vector", VECTORS.tolist())),
    "docword.x.txt": ("counts", COUNTS, lambda p: docword(p, COUNTS)),
    "docword.x.txt.gz": ("counts", COUNTS, lambda p: docword(p, COUNTS)),
    "one.svmlight": ("counts", COUNTS, lambda p: svmlight(p, COUNTS)),
    "zero.libsvm": ("counts", COUNTS, lambda p: svmlight(p, COUNTS, base=0)),
    "header.csv": ("vectors", VECTORS, lambda p: comma_separated(p, VECTORS)),
    "bare.csv.gz": ("vectors", VECTORS, lambda p: comma_separated(p, VECTORS, header=False)),
    "text.csv": ("text", TEXTS, csv_text),
    "floats.npy": ("vectors", VECTORS, lambda p: npy(p, VECTORS)),
    "whole.npy": ("vectors", COUNTS, lambda p: npy(p, COUNTS.astype(np.int32))),
    "words.npy": ("counts", WORDS, lambda p: npy(p, WORDS.astype(np.int32))),
    "sparse.npz": ("counts", COUNTS, lambda p: npz(p, COUNTS.astype(np.int32))),
    "text.parquet": ("text", TEXTS, lambda p: arrow(p, text=TEXTS)),
    "list.parquet": ("vectors", VECTORS, lambda p: arrow(p, vector=VECTORS.tolist())),
    "fixed.parquet": (
        "vectors",
        VECTORS,
        lambda p: arrow(p, vector=pa.FixedSizeListArray.from_arrays(VECTORS.ravel(), D)),
    ),
    "columns.parquet": (
        "vectors",
        VECTORS,
        lambda p: arrow(p, id=list(range(N)), **{f"x{j}": VECTORS[:, j] for j in range(D)}),
    ),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    kind, rows, build = CASES[request.param]
    return build(tmp_path / request.param), kind, rows


def rows_of(chunks, kind):
    """Return all rows of some chunks as a list of texts or a dense array."""
    if kind == "text":
        return [text for chunk in chunks for text in chunk.X]
    assert all(sparse.issparse(chunk.X) == (kind == "counts") for chunk in chunks)
    assert all(chunk.X.dtype == np.float64 for chunk in chunks)
    return np.vstack([c.X.toarray() if kind == "counts" else c.X for c in chunks])


def equal(a, b):
    return a == b if isinstance(a, list) else np.array_equal(a, b)


@pytest.mark.parametrize("size", [1, 3, N, 1000])
def test_chunk_size_does_not_change_content(case, size):
    """Chunks put together are the file, bit for bit, and their offsets join without gaps."""
    path, kind, rows = case
    source = open_source(path)
    chunks = list(source.chunks(0, size))
    assert source.kind == kind
    assert source.n_features == (None if kind == "text" else np.shape(rows)[1])
    assert equal(rows_of(chunks, kind), rows)
    assert all(0 < len(chunk.ids) <= size for chunk in chunks)
    edges = [0, *(chunk.offset for chunk in chunks)]
    assert [chunk.first for chunk in chunks] == edges[:-1]
    assert source.n_rows in (None, edges[-1])
    assert source.bad == 0


@pytest.mark.parametrize("size", [1, 4])
def test_any_offset_resumes_exactly(case, size):
    """Reading up to an offset and from there on, in other chunks, gives each row once."""
    path, kind, rows = case
    whole = list(open_source(path).chunks(0, size))
    for stop, chunk in enumerate(whole, 1):
        rest = list(open_source(path).chunks(chunk.offset, 5))
        joined = whole[:stop] + rest
        assert equal(rows_of(joined, kind), rows)
        ids = [i for part in joined for i in part.ids]
        assert ids == [i for part in whole for i in part.ids]
    assert list(open_source(path).chunks(whole[-1].offset, size)) == []


@pytest.mark.parametrize("size", [3, 4])
def test_resuming_at_an_edge_keeps_the_edges(case, size):
    """Chunks from a chunk's offset on are the very chunks that followed it."""
    path, _, _ = case
    edges = [chunk.offset for chunk in open_source(path).chunks(0, size)]
    for done, edge in enumerate(edges, 1):
        rest = [chunk.offset for chunk in open_source(path).chunks(edge, size)]
        assert rest == edges[done:]


def test_ids_are_those_of_the_format(tmp_path):
    """Own ids win; rows count from 0, but documents have the numbers that their file gives."""

    def ids(path):
        return [i for chunk in open_source(path).chunks(0, 2) for i in chunk.ids]

    lines = '{"text": "a", "id": "own"}\n\n{"text": "b"}\n'
    assert ids(write(tmp_path / "a.jsonl", lines)) == ["own", 2]
    assert ids(docword(tmp_path / "docword.a.txt", COUNTS)) == list(range(1, N + 1))
    assert ids(svmlight(tmp_path / "a.svmlight", COUNTS)) == list(range(N))
    assert ids(npy(tmp_path / "a.npy", VECTORS)) == list(range(N))
    assert ids(comma_separated(tmp_path / "a.csv", VECTORS)) == [f"n{i}" for i in range(N)]
    assert ids(write(tmp_path / "b.csv", "1,2\n3,4\n")) == [0, 1]
    assert ids(arrow(tmp_path / "a.parquet", id=["p", "q"], text=["a", "b"])) == ["p", "q"]


def test_kind_overrides_the_format(tmp_path):
    """Counts can be read as vectors and whole vectors as counts, where the format allows it."""
    paths = [
        docword(tmp_path / "docword.a.txt", COUNTS),
        svmlight(tmp_path / "a.svmlight", COUNTS),
        npz(tmp_path / "a.npz", COUNTS),
        npy(tmp_path / "a.npy", COUNTS),
        json_lines(tmp_path / "a.jsonl", "vector", COUNTS.tolist()),
        comma_separated(tmp_path / "a.csv", COUNTS),
        arrow(tmp_path / "a.parquet", vector=COUNTS.tolist()),
    ]
    for path in paths:
        for kind in ("counts", "vectors"):
            source = open_source(path, kind=kind)
            assert equal(rows_of(list(source.chunks(0, 7)), kind), COUNTS)
    with pytest.raises(SourceError, match='read as "counts" or "vectors", not as "text"'):
        open_source(paths[0], kind="text")


def test_fields_have_the_names_that_the_user_gives(tmp_path):
    """Text, vector and id fields can be called anything."""
    lines = '{"body": "a", "key": 7, "text": 1}\n'
    source = open_source(write(tmp_path / "a.jsonl", lines), text_field="body", id_field="key")
    (chunk,) = source.chunks(0, 9)
    assert chunk.ids == [7]
    assert chunk.X == ["a"]


def standard_input(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize("start", [0, 2, 3])
def test_standard_input_is_read_once_from_the_start(monkeypatch, start):
    """Looking at the first lines to learn the kind loses none of them; a start skips lines."""
    standard_input(monkeypatch, '\n{"vector": [1, 2]}\n{"vector": [3, 4]}\n{"vector": [5, 6]}\n')
    source = open_source("-")
    assert (source.kind, source.n_features) == ("vectors", 2)
    ids = [i for chunk in source.chunks(start, 2) for i in chunk.ids]
    assert ids == [i for i in (1, 2, 3) if i >= start]


GOOD = '{"vector": [1, 2]}\n'

BAD_ROWS = {
    "json": ("a.jsonl", f"{GOOD}{{oops\n{GOOD}", "line 2: expected a JSON object"),
    "utf8": ("a.jsonl", f'{GOOD}{{"vector": "\udcff"}}\n{GOOD}', "line 2: expected a JSON object"),
    "object": ("a.jsonl", f"{GOOD}[1, 2]\n{GOOD}", "line 2: expected a JSON object, got list"),
    "missing": (
        "a.jsonl",
        f'{GOOD}{{"x": 1}}\n{GOOD}',
        "line 2: there is no field 'vector'.*are 'x'",
    ),
    "strings": ("a.jsonl", f'{GOOD}{{"vector": ["1", "2"]}}\n{GOOD}', "line 2: .*list of numbers"),
    "nested": ("a.jsonl", f'{GOOD}{{"vector": [[1], 2]}}\n{GOOD}', "line 2: .*list of numbers"),
    "nothing": ("a.jsonl", f'{GOOD}{{"vector": []}}\n{GOOD}', "line 2: .*list of numbers"),
    "nan": ("a.jsonl", f'{GOOD}{{"vector": [NaN, 1]}}\n{GOOD}', "line 2: expected finite .* nan"),
    "inf": ("a.jsonl", f'{GOOD}{{"vector": [1, 1e999]}}\n{GOOD}', "line 2: .* inf in column 1"),
    "width": ("a.jsonl", f'{GOOD}{{"vector": [1]}}\n{GOOD}', "line 2: expected 2 numbers .* got 1"),
    "text": ("a.jsonl", '{"text": "a"}\n{"text": 3}\n{"text": ""}', "line 2: expected a string"),
    "csv string": ("a.csv", "x,y\n1,2\n3,bad\n5,6\n", "line 3: .* column 'y', got 'bad'"),
    "csv bare": ("a.csv", "1,2\n3,\n5,6\n", "line 2: expected a number in column 2, got ''"),
    "csv width": ("a.csv", "x,y\n1,2\n3\n5,6\n", "line 3: expected 2 columns, got 1"),
    "csv nan": ("a.csv", "x,y\n1,2\n3,nan\n5,6\n", "line 3: expected finite .* nan in column 'y'"),
    "csv utf8": ("a.csv", "text\na\n\udcff\nb\n", "line 3: expected text in UTF-8"),
    "svm pair": ("a.svmlight", "0 1:1\n0 1;1\n0 2:1\n", 'line 2: expected "index:value"'),
    "svm label": ("a.svmlight", "0 1:1\n1:1\n0 2:1\n", "line 2: expected a label"),
    "svm index": ("a.svmlight", "0 1:1\n0 -1:1\n0 2:1\n", "line 2: expected indices >= 0"),
    "svm negative": ("a.svmlight", "0 1:1\n0 1:-1\n0 2:1\n", "line 2: expected counts >= 0, .*-1"),
    "svm fraction": ("a.svmlight", "0 1:1\n0 1:.5\n0 2:1\n", "line 2: expected whole .* got 0.5"),
    "svm inf": ("a.svmlight", "0 1:1\n0 1:inf\n0 2:1\n", "line 2: expected finite .* inf"),
    "fraction": ("docword.a.txt", "3\n2\n3\n1 1 1\n2 1 .5\n3 1 1\n", "line 5: .*whole numbers"),
    "negative": ("docword.a.txt", "3\n2\n3\n1 1 1\n2 1 -4\n3 1 1\n", "line 5: .*>= 0, got -4"),
    "word": ("docword.a.txt", "3\n2\n3\n1 1 1\n2 3 1\n3 1 1\n", "line 5: .* from 1 to 2, got 3"),
    "fields": ("docword.a.txt", "3\n2\n3\n1 1 1\n2 1\n3 1 1\n", "line 5: .*document word count"),
    "order": ("docword.a.txt", "3\n2\n4\n1 1 1\n2 1 1\n1 2 1\n3 1 1\n", "line 6: .* in order"),
}


@pytest.mark.parametrize("name, content, message", BAD_ROWS.values(), ids=BAD_ROWS)
@pytest.mark.parametrize("size", [1, 10])
def test_bad_row_is_named_or_skipped(tmp_path, name, content, message, size):
    """A bad second row of three raises with its line; skipped, it is counted and the rest stays."""
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    source = open_source(path)
    with pytest.raises(SourceError, match=f"{name}: {message}"):
        list(source.chunks(0, size))
    source = open_source(path, skip_bad=True)
    chunks = list(source.chunks(0, size))
    assert sum(len(chunk.ids) for chunk in chunks) == 2
    assert source.bad == 1
    assert message.split(":")[0] in source.complaints[0]
    assert chunks[-1].offset == 3


@pytest.mark.parametrize("name, content, message", BAD_ROWS.values(), ids=BAD_ROWS)
def test_resuming_skips_and_counts_each_bad_row_once(tmp_path, name, content, message):
    """Before and after any offset together, rows and bad rows are those of a run in one go."""
    del message
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    first = open_source(path, skip_bad=True)
    for chunk in first.chunks(0, 1):
        rest = open_source(path, skip_bad=True)
        ids = [i for part in rest.chunks(chunk.offset, 1) for i in part.ids]
        assert chunk.offset + len(ids) + rest.bad == 3
        assert first.bad + rest.bad == 1


def with_bad(X, value):
    X = X.copy()
    X[1, 2] = value
    return X


BAD_BLOCKS = {
    "nan": ("a.npy", with_bad(VECTORS, np.nan), {}, "row 1: expected finite .* nan in column 2"),
    "negative": (
        "a.npy",
        with_bad(COUNTS, -1).astype(int),
        {"kind": "counts"},
        "row 1: expected counts >= 0",
    ),
    "fraction": ("a.npy", with_bad(COUNTS, 0.5), {"kind": "counts"}, "row 1: expected whole"),
    "sparse": ("a.npz", with_bad(COUNTS, 0.5), {}, "row 1: expected whole .* 0.5 in column 2"),
    "sparse inf": ("a.npz", with_bad(COUNTS, np.inf), {}, "row 1: expected finite .* inf"),
    "null": ("a.parquet", {"x": [1.0, None, 2.0]}, {}, "row 1: expected finite numbers, got nan"),
    "ragged": ("a.parquet", {"vector": [[1.0], [1.0, 2.0], [3.0]]}, {}, "row 1: expected 1 num"),
    "no list": ("a.parquet", {"vector": [[1.0], None, [3.0]]}, {}, "row 1: expected 1 numbers"),
    "no text": ("a.parquet", {"text": ["a", None, "b"]}, {}, "row 1: expected a string, got None"),
}


@pytest.mark.parametrize("name, content, options, message", BAD_BLOCKS.values(), ids=BAD_BLOCKS)
@pytest.mark.parametrize("size", [1, 10])
def test_bad_row_of_a_table_is_named_or_skipped(tmp_path, name, content, options, message, size):
    """The same law for formats that are read in blocks."""
    path = tmp_path / name
    {"npy": npy, "npz": npz, "parquet": lambda p, c: arrow(p, **c)}[name[2:]](path, content)
    with pytest.raises(SourceError, match=message):
        list(open_source(path, **options).chunks(0, size))
    source = open_source(path, skip_bad=True, **options)
    chunks = list(source.chunks(0, size))
    assert sum(len(chunk.ids) for chunk in chunks) == source.n_rows - 1
    assert source.bad == len(source.complaints) == 1
    assert chunks[-1].offset == source.n_rows


UNREADABLE = {
    "blank.jsonl": (b"\n\n", "the file has only blank lines"),
    "fields.jsonl": (b'{"a": 1}\n', r"line 1: there is no field 'text'. The fields are 'a'"),
    "empty.csv": (b"", "the file is empty"),
    "onlyid.csv": (b"id\n1\n", "expected at least one feature"),
    "empty.svmlight": (b"", "found no features"),
    "labels.svmlight": (b"1\n1\n", "found no features"),
    "docword.empty.txt": (b"", "expected three header lines"),
    "docword.text.txt": (b"a\nb\nc\n", r"expected three header lines .* got \['a', 'b', 'c'\]"),
    "docword.rows.txt": (b"0\n2\n0\n", "expected at least one document"),
    "docword.words.txt": (b"2\n0\n0\n", "expected at least one feature"),
    "a.npy": (b"junk", "expected a complete .npy file"),
    "a.npz": (b"junk", "expected a sparse matrix"),
    "a.parquet": (b"junk", "expected a complete Parquet file"),
    "a.jsonl.gz": (b"junk", "expected a complete gzip file"),
    "a.xyz": (b"", "unknown format"),
    "a.json": (b"[]", r"unknown format.* jq -c '.\[\]' FILE"),
    "list.jsonl": (b'[{"text": "a b"}]\n', r"line 1: expected a JSON object, got list\. .* jq -c"),
    "lines.jsonl": (b'[\n{"text": "a b"}\n]\n', r"line 1: expected a JSON object.* jq -c"),
    "a.txt": (b"one text\n", r"unknown format.* jq -R '{text: \.}' FILE > NEW.jsonl"),
    "a.npy.gz": (b"", "unknown format"),
    "header.csv": (b"a,b\n", "expected at least one row, the file has a header and no rows"),
    "empty.jsonl": (b"", "expected at least one row, the file is empty"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(9), "expected lines of text, got a file of"),
    "picture.csv.gz": (gzip.compress(b"\x89PNG\r\n\x1a\n" + bytes(9)), "expected lines of text"),
    "page.jsonl": (b"%PDF-1.5\n%\xe2\xe3\n", "expected lines of text"),
    "packed.svmlight": (gzip.compress(b"1 2:3\n"), "expected lines of text"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_file_without_rows_is_refused_when_opened(tmp_path, name):
    """Empty, foreign and featureless files fail at once, by name."""
    content, message = UNREADABLE[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=f"{name}: .*{message}"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.npy", "a.npz", "a.parquet", "a.libsvm"])
def test_missing_file_is_named(tmp_path, name):
    """A path that leads nowhere is an error of the same kind for every format."""
    with pytest.raises(SourceError, match=f"{name}: there is no such file"):
        open_source(tmp_path / name)


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 2)), np.zeros((2, 0)), np.zeros(3), np.array([["a"]]), np.array([[None]])],
)
def test_array_must_be_rows_of_numbers(tmp_path, array):
    """Arrays without rows, features, two dimensions or numbers are refused."""
    with pytest.raises(SourceError, match="expected"):
        open_source(npy(tmp_path / "a.npy", array))


@pytest.mark.parametrize("columns", [{"vector": [1.0]}, {"vector": [["a"]]}])
def test_parquet_columns_must_hold_numbers(tmp_path, columns):
    """A column of strings is named, not converted."""
    with pytest.raises(SourceError, match=f"expected .*numbers in column '{next(iter(columns))}'"):
        open_source(arrow(tmp_path / "a.parquet", **columns))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_words_and_holes_make_a_table(tmp_path, name):
    """Cells are numbers, yes/no, words or missing; chunks are columns."""
    if name == "t.csv":
        (tmp_path / name).write_text("id,size,colour,new\nx,1.5,red,true\ny,,NA,false\nz,2,7,\n")
    else:
        columns = {"size": [1.5, None, 2.0], "colour": ["red", None, "7"]}
        arrow(tmp_path / name, id=["x", "y", "z"], new=[True, False, None], **columns)
    source = open_source(tmp_path / name)
    assert (source.kind, source.n_features) == ("table", 3)
    first, last = source.chunks(0, 2)
    assert first.ids == ["x", "y"]
    assert first.X["size"].tolist() == [1.5, None]
    assert first.X["colour"].tolist() == ["red", None]
    assert first.X["new"].tolist() == [True, False]
    assert last.X["colour"].tolist() == [7.0 if name == "t.csv" else "7"]
    with pytest.raises(SourceError, match="expected|not as"):
        list(open_source(tmp_path / name, kind="vectors").chunks(0, 9))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    """The optional dependency is named where it is missed."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'evermix\[arrow\]'"):
        open_source(tmp_path / "a.parquet")


def test_changed_number_of_features_is_refused(tmp_path):
    """A stream that goes on in another file must have the width that it had."""
    paths = [
        npy(tmp_path / "a.npy", VECTORS),
        npz(tmp_path / "a.npz", COUNTS),
        docword(tmp_path / "docword.a.txt", COUNTS),
        json_lines(tmp_path / "a.jsonl", "vector", VECTORS.tolist()),
        comma_separated(tmp_path / "a.csv", VECTORS),
        arrow(tmp_path / "a.parquet", vector=VECTORS.tolist()),
        svmlight(tmp_path / "a.svmlight", COUNTS),
    ]
    for path in paths:
        assert open_source(path, n_features=D).n_features == D
        with pytest.raises(SourceError, match="expected"):
            list(open_source(path, n_features=D - 1).chunks(0, N))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "docword.a.txt.gz", "docword.a.txt"])
def test_truncated_file_keeps_its_whole_rows(tmp_path, name):
    """A file that breaks off raises; with skip_bad the rows before the break stay usable."""
    X = RNG.poisson(1, size=(4000, 5)) + 1
    build = docword if "docword" in name else lambda p, X: json_lines(p, "vector", X.tolist())
    path = build(tmp_path / name, X)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    with pytest.raises(SourceError, match="breaks off after line"):
        list(open_source(path).chunks(0, 100))
    source = open_source(path, skip_bad=True)
    kept = rows_of(list(source.chunks(0, 100)), source.kind)
    assert 1000 < len(kept) < 4000
    assert np.array_equal(kept, X[: len(kept)])
    assert source.bad == 1


def peak_memory(path):
    source = open_source(path)
    tracemalloc.start()
    for chunk in source.chunks(0, 50):
        del chunk
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A bag of words eight times as long needs no more memory than the short one."""
    peaks = []
    for n in (300, 2400):
        path = docword(tmp_path / f"docword.{n}.txt", np.ones((n, 10)))
        # The least of several, since other threads of this process may allocate memory too.
        peaks.append(min(peak_memory(path) for _ in range(4)))
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_list_of_objects_in_one_line_is_named(tmp_path, end):
    """Also where the line may still be being written."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps([{"text": "a"}, {"text": "b"}]) + end)
    with pytest.raises(SourceError, match=r"jq -c '\.\[\]'"):
        open_source(path, complete=False)


def test_a_row_without_the_field_of_the_rows_before_is_no_mistaken_name(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a b"}\n{"product": "seed drill"}\n')
    with pytest.raises(SourceError, match="line 2: there is no field 'text'") as error:
        list(open_source(path).chunks(0, 4))
    assert "Did you mean" not in str(error.value)
    path.write_text('{"product": "seed drill"}\n')
    with pytest.raises(SourceError, match="Did you mean --text-field product"):
        open_source(path)
