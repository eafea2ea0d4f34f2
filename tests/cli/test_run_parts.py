"""What commands that learn share: traces, farewells, summaries and errors on going on."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from evermix.cli.runs.resuming import going_on

from evermix.cli.output.lines import Trace
from evermix.cli.runs.run import stoppable, summary
from evermix.io.trace import read_trace


def test_a_trace_goes_on_where_the_checkpoint_left_it(tmp_path):
    path = str(tmp_path / "trace.jsonl")
    trace = Trace(path, {})
    trace.write({"lap": 1})
    saved = trace.positions()
    trace.write({"lap": 2})  # of which the checkpoint knows nothing
    trace.close()
    trace = Trace(path, saved)
    trace.write({"lap": 3})
    trace.close()
    assert [event["lap"] for event in read_trace(path)] == [1, 3]


def test_a_trace_that_nobody_asked_for_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace = Trace(None, {"trace": 7})
    trace.write({"lap": 1})
    trace.close()
    assert trace.positions() == {} and not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_signal_waits_until_it_is_allowed_and_then_says_farewell(capsys):
    """The farewell speaks of what is known when the signal is obeyed."""
    done = 0
    with pytest.raises(typer.Exit) as ended, stoppable(lambda: f"after {done}") as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        done = 1
        with stop.allowed():
            done = 2
    assert ended.value.exit_code == 143
    assert capsys.readouterr().err == "evermix: after 1\n"


def test_what_users_can_mend_is_one_line_without_a_farewell(capsys):
    with pytest.raises(typer.Exit), stoppable(lambda: "farewell"):
        raise ValueError("no rows.")
    assert capsys.readouterr().err == "evermix: error: no rows.\n"


def test_a_summary_ends_with_what_was_wrong():
    assert summary(["3 rows", "2 clusters"], []) == "3 rows; 2 clusters"
    assert summary(["3 rows"], ["line 2"]) == "3 rows\nevermix: skipped: line 2"


def test_errors_on_going_on_name_the_files():
    settings = SimpleNamespace(sources=["a.jsonl", "b.jsonl"])
    with (
        pytest.raises(ValueError, match=r"from x\.evermix with a\.jsonl, b\.jsonl: other rows\."),
        going_on(settings, Path("x.evermix")),
    ):
        raise ValueError("other rows.")
