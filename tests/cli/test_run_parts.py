"""What commands that learn share: traces, signals, and when checkpoints are due."""

import os
import signal

import pytest

from evermix.cli.output.lines import Trace
from evermix.cli.runs import interrupts
from evermix.cli.runs.interrupts import CheckpointTimer, Interrupts, Stopped
from evermix.io.trace import read_trace


def test_a_trace_goes_on_where_the_checkpoint_left_it(tmp_path):
    path = str(tmp_path / "trace.jsonl")
    trace = Trace(path, {})
    trace.write({"lap": 1})
    saved = trace.positions()
    trace.write({"lap": 2})  # after the checkpoint
    trace.close()
    trace = Trace(path, saved)
    trace.write({"lap": 3})
    trace.close()
    assert [event["lap"] for event in read_trace(path)] == [1, 3]


def test_without_a_file_a_trace_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace = Trace(None, {"trace": 7})
    trace.write({"lap": 1})
    trace.close()
    assert trace.positions() == {} and not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_waits_until_it_is_allowed(number, status):
    before = signal.getsignal(number)
    done = []
    with Interrupts() as waiting:
        os.kill(os.getpid(), number)
        done.append("the step")
        with pytest.raises(Stopped) as stopped, waiting.allowed():
            done.append("the next step")
    assert stopped.value.status == status and done == ["the step"]
    assert signal.getsignal(number) == before


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Interrupts() as waiting, waiting.allowed():
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_checkpoints_are_due_so_seldom_that_they_cost_little(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: now[0])
    timer = CheckpointTimer()
    assert not timer.due
    now[0] = 5.0
    assert timer.due
    with timer.writing():
        now[0] = 7.0
    now[0] = 26.9
    assert not timer.due
    now[0] = 27.0
    assert timer.due
