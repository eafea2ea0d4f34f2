"""Checkpoints come back exactly, are written all or nothing, and refuse what they cannot read."""

import contextlib
import json
import os
import pickle
import subprocess
import sys
import textwrap
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from evermix.io.checkpoint import FORMAT, CheckpointError, read, write
from evermix.io.replacing import remove_leftovers, replacing

GOLDEN = Path(__file__).parents[1] / "golden"

ARRAYS = {
    "float64": np.array([[0.1, -0.0], [np.inf, np.nan]]),
    "int64": np.array([2**62, -1]),
    "int32": np.arange(3, dtype=np.int32),
    "bool": np.array([True, False]),
    "scalar": np.array(0.1),
    "empty": np.zeros((0, 3)),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "strided": np.arange(10)[::3],
}
HEADER = {"clock": 3, "rng": {"state": 2**127 + 1}, "words": ["ä", "b"], "alpha": 0.1}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_content_comes_back_bit_for_bit(tmp_path):
    """Every dtype, 0-d, empty, transposed and strided arrays, and big integers in the header."""
    write(tmp_path / "a", ARRAYS, HEADER)
    arrays, header = read(tmp_path / "a")
    assert arrays.keys() == ARRAYS.keys()
    assert all(same(arrays[name], ARRAYS[name]) for name in ARRAYS)
    assert {name: header[name] for name in HEADER} == HEADER
    assert header["format"] == FORMAT
    assert all(values.flags.writeable for values in arrays.values())


def test_equal_content_gives_equal_bytes(tmp_path):
    """Neither the order of the entries nor a trip through a file changes a byte."""
    write(tmp_path / "a", ARRAYS, HEADER)
    write(tmp_path / "b", dict(reversed(ARRAYS.items())), dict(reversed(HEADER.items())))
    write(tmp_path / "c", *read(tmp_path / "a"))
    first = (tmp_path / "a").read_bytes()
    assert first == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_no_arrays_is_a_valid_checkpoint(tmp_path):
    """A header alone can be saved."""
    write(tmp_path / "a", {}, HEADER)
    assert read(tmp_path / "a")[0] == {}


def test_link_is_followed(tmp_path):
    """Saving through a symbolic link replaces the file that it names."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write(tmp_path / "link", {}, {"clock": 1})
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "file")[1]["clock"] == 1


@pytest.mark.parametrize("values", [["a"], [None], [1j]])
def test_other_dtypes_are_refused(tmp_path, values):
    """Objects, strings and complex numbers have no place in a checkpoint."""
    with pytest.raises(TypeError, match="'name' has dtype"):
        write(tmp_path / "a", {"name": np.array(values)}, {})
    assert not list(tmp_path.iterdir())


def whole(tmp_path):
    write(tmp_path / "whole", ARRAYS, HEADER)
    return (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("kept", [0, 5, 8, 100, -100, -1])
def test_truncated_file_is_refused(tmp_path, kept):
    """A file cut anywhere is not read in part."""
    (tmp_path / "cut").write_bytes(whole(tmp_path)[:kept])
    with pytest.raises(CheckpointError, match="not a complete evermix checkpoint"):
        read(tmp_path / "cut")


@pytest.mark.parametrize(
    "content",
    [np.random.default_rng(0).bytes(1000), pickle.dumps(["x"] * 100), b"{}" * 50],
    ids=["random", "pickle", "json"],
)
def test_foreign_file_is_refused(tmp_path, content):
    """Other programs' files are named as such, and no pickle is opened."""
    (tmp_path / "foreign").write_bytes(content)
    with pytest.raises(CheckpointError, match="is not an evermix model"):
        read(tmp_path / "foreign")


@pytest.mark.parametrize("metadata", [None, {"x": "1"}, {"evermix": "["}, {"evermix": "[]"}])
def test_other_safetensors_file_is_refused(tmp_path, metadata):
    """A safetensors file needs our header."""
    save_file({"a": np.zeros(2)}, tmp_path / "other", metadata)
    with pytest.raises(CheckpointError, match="without an evermix header"):
        read(tmp_path / "other")


def test_newer_format_is_refused_with_advice(tmp_path):
    """A newer layout is not guessed at."""
    metadata = {"evermix": json.dumps({"format": FORMAT + 6})}
    save_file({"a": np.zeros(2)}, tmp_path / "newer", metadata)
    advice = rf"newer evermix \(format {FORMAT + 6}, this one reads up to {FORMAT}\): upgrade"
    with pytest.raises(CheckpointError, match=advice):
        read(tmp_path / "newer")


def test_missing_file_and_directory_are_named(tmp_path):
    """What is not there, or not a file, is an error that names the path."""
    with pytest.raises(CheckpointError, match="there is no checkpoint .*nothing"):
        read(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="could not read"):
        read(tmp_path)


def test_unwritable_place_is_named(tmp_path):
    """A directory that is not there, and a directory in the file's place, leave nothing behind."""
    for path in (tmp_path / "no" / "a", tmp_path):
        with pytest.raises(CheckpointError, match="could not write the checkpoint"):
            write(path, ARRAYS, HEADER)
    assert not list(tmp_path.iterdir())
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}*.tmp"))


def run(code, *arguments):
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


FULL_DISK = """
    import resource, signal, sys
    import numpy as np
    from evermix.io.checkpoint import CheckpointError, write
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    try:
        write(sys.argv[1], {"big": np.ones(100_000)}, {"clock": 2})
    except CheckpointError as error:
        sys.exit(0 if "could not write the checkpoint" in str(error) else 1)
    sys.exit(2)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits on file sizes are a POSIX feature")
def test_full_disk_leaves_the_last_good_file(tmp_path):
    """When the system refuses to write more, the old checkpoint stays and no debris is left."""
    write(tmp_path / "a", ARRAYS, HEADER)
    before = (tmp_path / "a").read_bytes()
    subprocess.run(run(FULL_DISK, tmp_path / "a"), check=True)
    assert (tmp_path / "a").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_kill_leaves_the_old_or_the_new_file(children, tmp_path):
    """A writer killed at any moment leaves a whole checkpoint, no older than the last reported."""
    path, rng = tmp_path / "a", np.random.default_rng(0)
    for _ in range(8):
        with children.writer(path) as (process, reports):
            reported = reports.recv()
            time.sleep(rng.uniform(0, 0.05))
            process.kill()
            with contextlib.suppress(EOFError):
                while True:
                    reported = reports.recv()
        arrays, header = read(path)
        assert header["clock"] in (reported, reported + 1)
        assert (arrays["big"] == header["clock"]).all()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("container-*.evermix")), ids=lambda p: p.stem)
def test_golden_files_are_read(path):
    """Files of every format up to the present one stay readable, with their known content."""
    arrays, header = read(path)
    assert header["format"] == int(path.stem.rpartition("-")[2])
    assert arrays.keys() == {"float64", "int64", "int32", "bool", "scalar", "empty"}
    assert all(same(arrays[name], ARRAYS[name]) for name in arrays)
    assert {name: header[name] for name in HEADER} == HEADER


# ---- damage and forgery --------------------------------------------------------------------


def test_any_changed_byte_is_refused(tmp_path):
    """Also where the text of the header still reads, and in the digest itself."""
    content = whole(tmp_path)
    rng = np.random.default_rng(0)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(CheckpointError):
            read(tmp_path / "changed")


def edited(content, old, new):
    """Return a file in which the table of contents says something else."""
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length].rstrip()
    assert old in text
    text = text.replace(old, new)
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"digest":"', b'"other":"'),
        (b'{"__metadata__":{"digest"', b'{ "__metadata__":{"digest"'),
        (rb"\"format\": 2", rb"\"format\": 1"),
        (rb"\"format\": 2", rb"\"format\": 0"),
        (rb"\"format\": 2", rb"\"format\": true"),
    ],
    ids=["no digest", "moved digest", "format 1", "format 0", "no format"],
)
def test_a_file_that_lost_its_digest_is_refused(tmp_path, old, new):
    """Only format 1 had none, and a file that has one is held to it."""
    (tmp_path / "a").write_bytes(edited(whole(tmp_path), old, new))
    with pytest.raises(CheckpointError, match="digest|without an evermix header"):
        read(tmp_path / "a")


def without_digest(table, data=b""):
    """Return a file of format 1 with these entries in its table of contents."""
    metadata = {"evermix": json.dumps({"format": 1})}
    text = json.dumps({"__metadata__": metadata, **table}).encode()
    return len(text).to_bytes(8, "little") + text + data


FORGED = {
    "foreign dtype": ({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)),
    "no booleans": ({"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\x02\x01"),
    "hole": ({"a": {"dtype": "U8", "shape": [2], "data_offsets": [2, 4]}}, bytes(4)),
    "rest": ({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}, bytes(4)),
    "overlap": (
        {x: {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]} for x in ("a", "b")},
        bytes(4),
    ),
    "too large": ({"a": {"dtype": "U8", "shape": [10**15], "data_offsets": [0, 10**15]}}, bytes(4)),
    "wrong shape": ({"a": {"dtype": "F64", "shape": [2, -1], "data_offsets": [0, 8]}}, bytes(8)),
    "no number": ({"a": {"dtype": "U8", "shape": [True], "data_offsets": [0, 1]}}, bytes(1)),
    "long and empty": ({"a": {"dtype": "U8", "shape": [0, 2**70], "data_offsets": [0, 0]}}, b""),
    "many axes": ({"a": {"dtype": "U8", "shape": [1] * 99, "data_offsets": [0, 1]}}, bytes(1)),
    "no entry": ({"a": 7}, b""),
    "wrong metadata": ({"__metadata__": ["evermix"]}, b""),
}


@pytest.mark.parametrize("table, data", FORGED.values(), ids=FORGED)
def test_a_table_of_contents_that_lies_is_refused(tmp_path, table, data):
    (tmp_path / "a").write_bytes(without_digest(table, data))
    with pytest.raises(CheckpointError):
        read(tmp_path / "a")


@pytest.mark.parametrize("depth", [100, 5000, 100_000])
def test_deep_json_is_refused(tmp_path, depth):
    """In the table of contents, where the parser would give up, and in the header."""
    deep = "[" * depth + "]" * depth
    text = f'{{"a": {deep}}}'.encode()
    (tmp_path / "a").write_bytes(len(text).to_bytes(8, "little") + text)
    metadata = {"evermix": f'{{"format": 1, "a": {deep}}}'}
    save_file({"a": np.zeros(2)}, tmp_path / "b", metadata)
    for name in "ab":
        with pytest.raises(CheckpointError):
            read(tmp_path / name)


def test_a_file_of_brackets_takes_little_memory(tmp_path):
    """Lists in memory are far larger than their brackets in a file."""
    text = b'{"a":[' + b"[]," * 10**6 + b"[]]}"
    (tmp_path / "a").write_bytes(len(text).to_bytes(8, "little") + text)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="brackets"):
        read(tmp_path / "a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(text)


# ---- leftovers of killed writers -----------------------------------------------------------


def test_leftovers_of_killed_writers_go_and_files_of_living_ones_stay(children, tmp_path):
    path = tmp_path / "a"
    while not list(tmp_path.glob(".a.*.tmp")):
        with children.writer(path) as (process, reports):
            reports.recv()
            time.sleep(0.01)
            process.kill()
    (tmp_path / ".a.notes.tmp").write_text("of somebody else")
    with replacing(path) as file:  # a living writer
        mine = Path(file.name)
        remove_leftovers(path)
        assert set(tmp_path.glob(".a.*")) == {mine, tmp_path / ".a.notes.tmp"}
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert set(tmp_path.iterdir()) == {path, tmp_path / ".a.notes.tmp"}


def test_the_first_write_of_a_process_removes_leftovers(tmp_path):
    leftover = tmp_path / f".a.{'0' * 16}.tmp"
    leftover.write_bytes(b"half")
    write(tmp_path / "a", {}, HEADER)
    assert not leftover.exists()


def test_the_file_in_a_folder_is_named(tmp_path):
    folder = tmp_path / "tickets"
    folder.mkdir()
    with pytest.raises(CheckpointError, match=r"a folder, and there is no file \*.evermix in it"):
        read(folder)
    (folder / "log-1").touch()
    write(folder / "model.evermix", {}, {})
    with pytest.raises(CheckpointError, match=r"Give the file in it, .*tickets.model\.evermix\."):
        read(folder)
