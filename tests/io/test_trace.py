"""Line files hold what was written up to the last position, and go on from there exactly."""

import json

import numpy as np
import pytest

from evermix.io.trace import LineFile, LineFileError, TraceWriter, read_trace

pytestmark = pytest.mark.every_python


def test_events_come_back(tmp_path):
    """Plain and NumPy values are one line each; what JSON cannot hold becomes null."""
    with LineFile(tmp_path / "a") as out:
        out.write({"K": np.int64(3), "ms": 0.1, "weights": np.array([0.5, np.nan]), "new": True})
        out.write({"bound": float("-inf"), "text": "ä\n"})
    assert list(read_trace(tmp_path / "a")) == [
        {"K": 3, "ms": 0.1, "weights": [0.5, None], "new": True},
        {"bound": None, "text": "ä\n"},
    ]
    assert b"NaN" not in (tmp_path / "a").read_bytes()


def test_resuming_writes_every_line_exactly_once(tmp_path):
    """Cut at any recorded position and written again, the file equals an uninterrupted one."""
    with LineFile(tmp_path / "whole") as out:
        positions = [out.position()]
        for i in range(6):
            out.write({"i": i})
            positions.append(out.position())
    whole = (tmp_path / "whole").read_bytes()
    for start, position in enumerate(positions):
        (tmp_path / "cut").write_bytes(whole + b'{"half')
        with LineFile(tmp_path / "cut", at=position) as out:
            for i in range(start, 6):
                out.write({"i": i})
        assert (tmp_path / "cut").read_bytes() == whole


def test_new_file_replaces_an_old_one(tmp_path):
    """Without a position the file starts empty."""
    (tmp_path / "a").write_text("old\n")
    LineFile(tmp_path / "a").close()
    assert (tmp_path / "a").read_bytes() == b""


def test_position_is_the_length_on_disk(tmp_path):
    """Everything before a position can be read by others at once."""
    with LineFile(tmp_path / "a") as out:
        out.write({"i": 1})
        assert out.position() == (tmp_path / "a").stat().st_size > 0


def test_trace_is_visible_at_once(tmp_path):
    """A reader sees each event as soon as it is written."""
    with TraceWriter(tmp_path / "a") as trace:
        for i in range(3):
            trace.write({"i": i})
            assert [event["i"] for event in read_trace(tmp_path / "a")] == list(range(i + 1))


def test_half_a_line_is_not_an_event(tmp_path):
    """A last line that is still being written is left out; a spoilt line before it is named."""
    (tmp_path / "a").write_text(json.dumps({"i": 1}) + "\n" + '{"i": ')
    assert list(read_trace(tmp_path / "a")) == [{"i": 1}]
    (tmp_path / "b").write_text('{"i": 1}\noops\n{"i": 2}\n')
    with pytest.raises(LineFileError, match="line 2: expected a JSON object"):
        list(read_trace(tmp_path / "b"))


def test_file_shorter_than_the_checkpoint_says_is_refused(tmp_path):
    """A file that was changed or removed after the checkpoint is not patched up."""
    (tmp_path / "a").write_text("{}\n")
    with pytest.raises(LineFileError, match="at byte 10, it has only 3"):
        LineFile(tmp_path / "a", at=10)
    assert (tmp_path / "a").read_text() == "{}\n"
    with pytest.raises(LineFileError, match="No such file"):
        LineFile(tmp_path / "b", at=10)


def test_other_objects_are_refused(tmp_path):
    """What is neither JSON nor NumPy is an error that names the type."""
    with LineFile(tmp_path / "a") as out, pytest.raises(TypeError, match="got set"):
        out.write({"a": set()})


def test_words_are_written_as_people_read_them(tmp_path):
    with LineFile(tmp_path / "a.jsonl") as file:
        file.write({"name": "bill €60, Zürich", "x": float("nan")})
        file.write({"name": "half a letter \ud800"})
    first, second = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert first.decode() == '{"name": "bill €60, Zürich", "x": null}'
    assert json.loads(second) == {"name": "half a letter \ud800"}
