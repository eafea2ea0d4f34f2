"""Several files are read as one: the same rows, cuts and offsets; and what is unlike is named."""

import gzip
import json
import os
import pickle
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

import evermix as em
from evermix.io.sources import SourceError, open_source
from evermix.io.sources.jsonl import JsonLines
from evermix.io.sources.several import Several

N, D = 29, 3
CUTS = (0, 11, 12, 20, N)
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.8, size=(N, D)).astype(float)
COUNTS[:, 0] += 1
VECTORS = RNG.normal(size=(N, D))


def jsonl(path, rows):
    path.write_text("\n\n".join(json.dumps({"vector": row}) for row in rows.tolist()) + "\n\n")


def texts(path, rows):
    lines = [json.dumps({"text": f"text {row}"}) + "\n" for row in rows.tolist()]
    path.write_bytes(gzip.compress("".join(lines).encode()))


def csv(path, rows):
    np.savetxt(path, rows, delimiter=",", header="a,b,c", comments="")


def svmlight(path, rows):
    entries = (" ".join(f"{j}:{x:g}" for j, x in enumerate(row) if x) for row in rows)
    path.write_text("".join(f"1 {line}\n" for line in entries))


def docword(path, rows):
    i, j = rows.nonzero()
    lines = [f"{a + 1} {b + 1} {rows[a, b]:g}\n" for a, b in zip(i, j, strict=True)]
    path.write_text("\n".join([*map(str, rows.shape), str(len(lines))]) + "\n" + "".join(lines))


def arrow(path, rows):
    table = pa.table({name: rows[:, j] for j, name in enumerate("abc")})
    parquet.write_table(table, path, row_group_size=4)


FORMATS = {
    "{}.jsonl": (jsonl, VECTORS),
    "{}.jsonl.gz": (texts, VECTORS),
    "{}.csv": (csv, VECTORS),
    "{}.npy": (np.save, VECTORS),
    "{}.npz": (lambda path, rows: sparse.save_npz(path, sparse.csr_matrix(rows)), COUNTS),
    "{}.svmlight": (svmlight, COUNTS),
    "docword.{}.txt": (docword, COUNTS),
    "{}.parquet": (arrow, VECTORS),
}


@pytest.fixture(params=FORMATS)
def case(request, tmp_path):
    """The same rows in one file and in several, one of which is tiny."""
    write, rows = FORMATS[request.param]
    whole, parts = tmp_path / request.param.format("whole"), tmp_path / "parts"
    parts.mkdir()
    write(whole, rows)
    for number, (a, b) in enumerate(zip(CUTS, CUTS[1:], strict=False)):
        write(parts / request.param.format(f"part{number}"), rows[a:b])
    return whole, parts


def dense(X):
    return X.toarray().tolist() if sparse.issparse(X) else X if isinstance(X, list) else X.tolist()


def read(source, start=0, size=1000):
    return [(c.ids, dense(c.X), c.first, c.offset) for c in source.chunks(start, size)]


@pytest.mark.parametrize("size", [1, 5, 11, 1000])
def test_files_equal_the_whole_chunk_for_chunk(case, size):
    """Ids, offsets and cuts too, and again when they are read a second time."""
    whole, parts = map(open_source, case)
    assert isinstance(parts, Several)
    for _ in range(2):
        assert read(parts, size=size) == read(whole, size=size)
    assert (parts.kind, parts.n_features, parts.n_rows) == (
        (whole.kind, whole.n_features, whole.n_rows)
    )


def test_any_chunk_resumes_exactly(case):
    every = read(open_source(case[1]), size=4)
    for number, chunk in enumerate(every):
        assert read(open_source(case[1]), chunk[3], size=4) == every[number + 1 :]


def test_sources_travel_without_their_rows(case):
    for source in (open_source(case[0]), *open_source(case[1]).sources):
        packed = pickle.dumps(source)
        assert len(packed) < 1200 and read(pickle.loads(packed)) == read(source)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_no_file_stays_open(case):
    """So there may be more files than a process may open."""
    before = len(os.listdir("/proc/self/fd"))
    source = open_source(case[1])
    read(source)
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_more_is_read_than_is_asked_for(tmp_path, monkeypatch):
    """To find the place to go on, and to note it, no file is read to its end."""
    for number in range(3):
        texts(tmp_path / f"{number}.jsonl.gz", VECTORS)
    source, read = open_source(tmp_path, marked=True), []
    records = JsonLines.records

    def lines(self, start):
        for record in records(self, start):
            read.append((self.path, record.row))
            yield record

    monkeypatch.setattr(JsonLines, "records", lines)
    chunks = source.chunks(start=N + 3, size=5)
    chunk = next(chunks)
    assert [mark.rows for mark in source.marks(chunk.offset, chunk.read)] == [N, None]
    assert max(row for path, row in read if path.endswith("1.jsonl.gz")) == 7
    assert not any(path.endswith("2.jsonl.gz") for path, _ in read)


def test_folders_patterns_and_lists_name_the_same_files(tmp_path):
    for number, rows in enumerate((VECTORS[:20], VECTORS[20:])):
        np.save(tmp_path / f"part{number}.npy", rows)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part0.npy.crc").write_text("")
    files = [tmp_path / "part0.npy", str(tmp_path / "part1.npy")]
    expected = read(open_source(files))
    assert read(open_source(tmp_path)) == read(open_source(f"{tmp_path}/*.npy")) == expected
    assert read(open_source([tmp_path / "part[0].npy", files[1]])) == expected
    assert [row[0] for row in expected] == [list(range(N))]
    (tmp_path / "part[0].npy").write_bytes((tmp_path / "part1.npy").read_bytes())
    assert open_source(tmp_path / "part[0].npy").n_rows == 9  # a file of this very name


def test_files_without_rows_are_left_out(tmp_path):
    arrow(tmp_path / "a.parquet", VECTORS[:0])
    arrow(tmp_path / "b.parquet", VECTORS)
    (tmp_path / "c.jsonl").write_text("")
    assert open_source(tmp_path).n_rows == N
    with pytest.raises(SourceError, match=r"a.parquet: expected at least one row"):
        open_source([tmp_path / "a.parquet"])


def test_bad_rows_are_counted_over_all_files(tmp_path):
    for number in range(2):
        rows = VECTORS[:5].copy()
        rows[number] = np.nan
        np.save(tmp_path / f"{number}.npy", rows)
    source = open_source(tmp_path, skip_bad=True)
    assert [chunk[0] for chunk in read(source)] == [[1, 2, 3, 4, 5, 7, 8, 9]]
    assert source.bad == len(source.complaints) == 2 and "1.npy: row 1" in source.complaints[1]
    with pytest.raises(SourceError, match=r"0.npy: row 0"):
        read(open_source(tmp_path))


def test_a_mixture_learns_the_chunks_of_several_files(case):
    whole, parts = map(open_source, case)
    if whole.kind == "text":
        with pytest.raises(TypeError, match="the source holds texts"):
            em.Chunks(parts)
        return
    fits = [em.Mixture().fit(em.Chunks(source)) for source in (whole, parts)]
    assert fits[0].labels_.tolist() == fits[1].labels_.tolist()


# ---- what goes wrong -------------------------------------------------------------------------


def test_what_is_unlike_the_first_file_is_named(tmp_path):
    np.save(tmp_path / "a.npy", VECTORS)
    np.save(tmp_path / "wide.npy", np.ones((3, D + 1)))
    jsonl(tmp_path / "a.jsonl", VECTORS)
    texts(tmp_path / "b.jsonl.gz", VECTORS)
    csv(tmp_path / "a.csv", VECTORS)
    (tmp_path / "b.csv").write_text("b,a,c\n1,2,3\n")
    (tmp_path / "notes.txt").write_text("x")
    cases = {
        ("a.npy", "wide.npy"): r"wide.npy: expected 3 features as in .*a.npy, got 4 features",
        ("a.npy", "b.jsonl.gz"): r"b.jsonl.gz: .* there is no field 'vector'.*a.npy, are vectors",
        ("b.jsonl.gz", "a.npy"): r"a.npy: .* not as \"text\".*b.jsonl.gz, are text",
        ("a.csv", "b.csv"): r"b.csv: expected the columns \['a', 'b', 'c'\] .*got the columns",
        ("a.npy", "notes.txt"): r"notes.txt: unknown format",
        ("a.npy", "gone.npy"): r"gone.npy: there is no such file",
        ("a.npy", "*.parquet"): r"\*.parquet: no file matches",
        ("a.npy", "-"): r"standard input \(-\) cannot be one of several",
        (): "expected at least one file",
    }
    for names, message in cases.items():
        paths = [name if name == "-" else tmp_path / name for name in names]
        with pytest.raises(SourceError, match=message):
            open_source(paths)


def test_folders_without_files_and_folders_in_folders_are_named(tmp_path):
    with pytest.raises(SourceError, match="it holds none"):
        open_source(tmp_path)
    (tmp_path / "year").mkdir()
    with pytest.raises(SourceError, match="year is a folder too"):
        open_source(tmp_path)
    np.save(tmp_path / "year" / "a.npy", VECTORS)
    assert open_source(tmp_path / "**" / "*.npy").n_rows == N


def test_files_that_changed_since_their_rows_were_read_are_reported(case, tmp_path):
    """All but the last must be as they were; that may grow, and files may follow it."""
    parts = case[1]
    files = sorted(parts.iterdir())
    source = open_source(parts, marked=True)
    chunk = next(islice(source.chunks(0, 4), 4, None))
    offset = chunk.offset  # in the third file
    marks = source.marks(offset, chunk.read)
    assert [mark.path for mark in marks] == list(map(str, files[:3]))
    assert [mark.rows is None for mark in marks] == [False, False, True]
    content = {file: file.read_bytes() for file in files}
    again = open_source(parts)
    again.recall(marks)
    assert read(again, offset, size=4) == read(source, offset, size=4)
    # A changed file may not open any more; only a format that can be cut is changed here.
    if files[0].suffix == ".csv":
        files[3].write_bytes(content[files[3]] + b"1,2,3\n")
        files[2].write_bytes(content[files[2]] + b"1,2,3\n")
        open_source(parts).recall(marks)
        files[2].write_bytes(content[files[2]][:-30])
        shorter = open_source(parts, marked=True)
        shorter.recall(marks)
        with pytest.raises(SourceError, match=r"part2.csv: its first .* now it has only"):
            read(shorter, offset)
        files[0].write_bytes(content[files[0]] + b"1,2,3\n")
        with pytest.raises(SourceError, match=r"part0.csv: its rows were read already, when"):
            open_source(parts).recall(marks)
    files[0].unlink()
    with pytest.raises(SourceError, match="in its place there is now .*part1"):
        open_source(parts).recall(marks)
    for file in files[2:]:
        file.unlink()
    with pytest.raises(SourceError, match="in its place there is now"):
        open_source(parts).recall(marks)
