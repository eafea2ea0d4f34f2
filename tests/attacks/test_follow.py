"""Files that are followed while they grow, are rotated, cut and replaced, and over kills."""

import json
import os
import shutil
import signal
import time
from contextlib import contextmanager

import pytest

from evermix.io.sources import SourceError, open_source
from tests.attacks import live

FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
QUICK = ["--max-wait", "0.05", "--batch", "20", "--every", "40"]


def rows(first, last):
    return "".join(
        json.dumps({"id": i, "vector": [i % 2 * 9.0, float(i)]}) + "\n" for i in range(first, last)
    )


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


class Reader:
    """The rows that a followed source yields when something was done to its files."""

    def __init__(self, *paths, marks=(), **options):
        self.source = open_source(
            paths, follow=True, marked=True, max_wait=0.02, kind="vectors", marks=marks, **options
        )
        self._chunks, self.marks = self.source.chunks(0, 7), []

    def __call__(self):
        """Return the ids that come until there is a pause."""
        found = []
        for _ in range(500):
            chunk = next(self._chunks)
            found += chunk.ids
            self.marks = self.source.marks(chunk.offset, chunk.read)
            if not chunk.ids:
                return found
        raise AssertionError("there is no end")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(rows(0, 5))
    return path


def test_files_that_grow_are_read_on_and_lines_wait_until_they_are_whole(log):
    reader = Reader(log)
    assert reader() == [0, 1, 2, 3, 4]
    line = rows(5, 6)
    append(log, line[:9])
    assert reader() == []
    append(log, line[9:-1])
    assert reader() == []
    append(log, "\n" + rows(6, 8))
    assert reader() == [5, 6, 7] and reader() == []


def test_a_file_that_is_renamed_is_read_to_its_end_before_the_new_one(log):
    reader = Reader(log)
    assert reader() == [0, 1, 2, 3, 4]
    append(log, rows(5, 7))
    log.rename(log.with_name("log.jsonl.1"))
    log.write_text(rows(8, 10))
    append(log.with_name("log.jsonl.1"), rows(7, 8))  # the writer has it open still
    assert reader() == [5, 6, 7, 8, 9]
    log.rename(log.with_name("log.jsonl.2"))
    append(log.with_name("log.jsonl.2"), rows(10, 11)[:-1])
    log.write_text(rows(11, 12))
    assert reader() == [10, 11]
    append(log, rows(12, 13))
    log.unlink()  # it is open, and can be read still
    assert reader() == [12]
    log.write_text(rows(13, 14))
    assert reader() == [13]


def test_a_file_that_is_cut_is_read_from_its_start(log):
    reader = Reader(log)
    assert reader() == [0, 1, 2, 3, 4]
    log.write_text(rows(5, 7))
    with pytest.warns(UserWarning, match="truncated"):
        assert reader() == [5, 6]
    log.write_text(rows(7, 20))  # longer than what it held
    with pytest.warns(UserWarning, match="truncated"):
        assert reader() == list(range(7, 20))


def test_a_copy_that_takes_the_place_of_a_file_is_no_new_one(log):
    reader = Reader(log)
    assert len(reader()) == 5
    shutil.copy(log, log.with_name("copy"))
    append(log.with_name("copy"), rows(5, 6))
    os.replace(log.with_name("copy"), log)
    assert reader() == [5]


def test_folders_and_patterns_get_new_files(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.jsonl").write_text(rows(0, 2))
    reader = Reader(folder, tmp_path / "more*.jsonl", tmp_path / "later.jsonl")
    assert reader() == [0, 1]
    (folder / "a.jsonl").write_text(rows(2, 4))
    (folder / ".hidden.jsonl").write_text(rows(90, 94))
    (folder / "notes.txt").write_text("none")
    assert reader() == [2, 3]
    (tmp_path / "more1.jsonl").write_text(rows(4, 5))
    (tmp_path / "later.jsonl").write_text(rows(5, 6))
    assert reader() == [4, 5]
    append(folder / "b.jsonl", rows(6, 7))
    (folder / "a.jsonl").rename(folder / "c.jsonl")
    assert reader() == [6]
    append(folder / "c.jsonl", rows(7, 8))
    assert reader() == [7]


def test_only_lines_of_json_are_followed(tmp_path):
    with pytest.raises(SourceError, match="only JSON lines can be followed"):
        open_source(tmp_path / "rows.csv", follow=True)


def test_more_files_than_may_be_open(tmp_path):
    for i in range(150):
        (tmp_path / f"{i:03}.jsonl").write_text(rows(i, i + 1))
    reader, before = Reader(tmp_path), len(os.listdir("/proc/self/fd"))
    assert reader() == list(range(150))
    assert len(os.listdir("/proc/self/fd")) - before < 100
    for i in (0, 149, 3):
        append(tmp_path / f"{i:03}.jsonl", rows(1000 + i, 1001 + i))
    assert sorted(reader()) == [1000, 1003, 1149]


# ---- going on --------------------------------------------------------------------------------


def test_a_later_run_goes_on_in_every_file_whatever_its_name_is(log):
    reader = Reader(log)
    reader()
    append(log, rows(5, 6))
    log.rename(log.with_name("log.jsonl.1"))
    log.write_text(rows(6, 8))
    again = Reader(log, marks=reader.marks)
    assert again() == [5, 6, 7]
    log.with_name("log.jsonl.1").unlink()  # it was read
    append(log, rows(8, 9))
    assert Reader(log, marks=again.marks)() == [8]
    shutil.copy(log, log.with_name("copy"))  # with another inode
    os.replace(log.with_name("copy"), log)
    assert Reader(log, marks=again.marks)() == [8]


@pytest.mark.parametrize("change", ["cut", "removed", "rewritten", "replaced"])
def test_rows_that_are_lost_are_reported(log, change):
    reader = Reader(log)
    reader()
    if change == "cut":
        log.write_text(rows(5, 6))
    elif change == "rewritten":
        log.write_text(rows(50, 70))
    else:
        log.unlink()
        if change == "replaced":
            log.write_text(rows(5, 9))
    with pytest.raises(SourceError, match="cannot be found.*--skip-bad"):
        Reader(log, marks=reader.marks)
    with pytest.warns(UserWarning, match="cannot be found"):
        again = Reader(log, marks=reader.marks, skip_bad=True)
    left = {"cut": [5], "removed": [], "rewritten": list(range(50, 70)), "replaced": [5, 6, 7, 8]}
    assert again() == left[change]


def test_bad_lines_are_named_by_file_and_line(log):
    append(log, "oops\n")
    with pytest.raises(SourceError, match=r"log.jsonl: line 6: expected a JSON object"):
        Reader(log)()


# ---- the command -----------------------------------------------------------------------------


@contextmanager
def following(children, folder, *arguments):
    process = children.start(folder, "stream", *arguments, *FILES)
    try:
        yield process
    finally:
        if process.exitcode is None:
            process.kill()
            process.join()


def wait_for(folder, children, n):
    """Wait until there are lines for n rows."""
    for _ in range(1200):
        path = folder / "out.jsonl"
        if path.exists() and len(path.read_bytes().splitlines()) >= n:
            return
        time.sleep(0.05)
    raise AssertionError("rows were not answered")


def stop(process, children, number):
    os.kill(process.pid, number)
    return children.finish(process)


def test_kills_and_rotations_lose_and_double_nothing(children, tmp_path):
    folder, log = tmp_path / "run", tmp_path / "log.jsonl"
    folder.mkdir()
    lines = [json.dumps(row) + "\n" for row in live.vectors(400)]
    begun = [str(log), "--follow", *QUICK]
    again = [str(log), "--resume", "--max-wait", "0.05"]
    with following(children, folder, *begun) as process:  # before there is a file
        append(log, "".join(lines[:90]))
        wait_for(folder, children, 90)
        assert stop(process, children, signal.SIGTERM) == 143
    assert "--resume" in (folder / "stderr").read_text()
    with following(children, folder, *again) as process:
        append(log, "".join(lines[90:150]))
        wait_for(folder, children, 150)
        assert stop(process, children, signal.SIGKILL) == -signal.SIGKILL
    append(log, "".join(lines[150:180]))
    log.rename(tmp_path / "log.jsonl.1")  # while nobody looks
    append(log, "".join(lines[180:220]))
    with following(children, folder, *again) as process:
        wait_for(folder, children, 220)
        log.rename(tmp_path / "log.jsonl.2")
        append(tmp_path / "log.jsonl.2", "".join(lines[220:250]))
        append(log, "".join(lines[250:320]))
        wait_for(folder, children, 300)
        assert stop(process, children, signal.SIGKILL) == -signal.SIGKILL
    append(log, "".join(lines[320:]))
    with following(children, folder, *again) as process:
        wait_for(folder, children, 400)
        assert stop(process, children, signal.SIGINT) == 130
    assert [line["id"] for line in children.lines(folder / "out.jsonl")] == list(range(400))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    whole = tmp_path / "whole"
    whole.mkdir()
    assert children.run(whole, "stream", "../rows.jsonl", "--batch", "20", *FILES) == 0
    found = [children.checkpoint.read(place / "model.evermix") for place in (folder, whole)]
    states = [{k: v.tobytes() for k, v in a.items() if k.startswith("state.")} for a, _ in found]
    assert states[0] == states[1] and found[0][1]["state"] == found[1][1]["state"]


def test_a_run_over_what_is_there_may_be_followed_later(children, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(rows(0, 80)[:-1])  # the last line is whole without its newline
    assert children.run(tmp_path, "stream", str(log), *FILES) == 0
    append(log, "\n" + rows(80, 100))
    with following(children, tmp_path, str(log), "--follow", "--resume", *QUICK[:2]) as process:
        wait_for(tmp_path, children, 100)
        assert stop(process, children, signal.SIGTERM) == 143
    assert [line["id"] for line in children.lines(tmp_path / "out.jsonl")] == list(range(100))
