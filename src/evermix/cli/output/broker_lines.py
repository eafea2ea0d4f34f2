"""Answers that go to a broker, each once, also after a crash."""

import json
import time
import uuid
from collections.abc import Iterable
from functools import partial
from typing import Any

from evermix.cli.console import note
from evermix.cli.options.settings import Settings
from evermix.cli.output.answers import Beside
from evermix.cli.output.lines import Lines, open_answers
from evermix.io.brokers import (
    Changed,
    Disconnected,
    make_reader,
    make_writer,
    parse_address,
    read_config,
)
from evermix.io.sources import Chunk
from evermix.io.trace import json_line

PATIENCE = 60.0  # seconds to wait for a broker that has gone
PAUSE = 0.5  # seconds between two attempts to reach it


class BrokerLines:
    """JSON lines of a run, as messages.

    What was written cannot be cut off, as a file can. So each message carries the name of the run
    and, in its line, the offset of its row; a run that goes on reads the messages after the last
    one that its checkpoint knows, and does not write those again.

    Parameters
    ----------
    text : str
        The address.
    config : str or None
        A file with more settings for the client.
    notes : dict or None
        What :meth:`notes` has returned for the checkpoint of the run; None if the run begins.
    """

    def __init__(self, text: str, config: str | None, notes: dict[str, Any] | None) -> None:
        address = parse_address(text)
        settings = read_config(config, address.scheme)
        self.path = text
        self._writer, self._reader = make_writer(address, settings), make_reader(address, settings)
        self._run = uuid.uuid4().hex if notes is None else notes["run"]
        self._writer.last = {} if notes is None else dict(notes["last"])
        self._held: list[tuple[str, bytes]] = []
        self._writer.open()
        self._written = self._find_written()

    def write(self, value: dict[str, Any]) -> None:
        """Add a line, which has an offset."""
        self._held.append((value["offset"], json_line(value).rstrip(b"\n")))

    def flush(self) -> None:
        """Send what was written, and wait until the broker has it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            new = [data for offset, data in self._held if offset not in self._written]
            try:
                if new:
                    self._writer.send(new, self._run)
                break
            except Disconnected as error:
                self._return(error, deadline)
        self._written.difference_update(offset for offset, _ in self._held)
        self._held = []

    def position(self) -> int:
        """Send everything; where the messages end is among the :meth:`notes`."""
        self.flush()
        return 0

    def notes(self) -> dict[str, Any]:
        """Return what a checkpoint holds of the messages."""
        return {"run": self._run, "last": dict(self._writer.last)}

    def close(self) -> None:
        """End the connection."""
        self._writer.close()

    def _return(self, error: Disconnected, deadline: float) -> None:
        """Reach the broker again, and find out which messages it has got, or raise."""
        note(f"{error} Trying again for {PATIENCE:.0f} seconds.")
        while True:
            time.sleep(PAUSE)
            try:
                self._writer.open()
                self._written |= self._find_written()
                return
            except Disconnected:
                if time.monotonic() > deadline:
                    raise

    def _find_written(self) -> set[str]:
        """Return the offsets of answers of this run after the last one that is known."""
        found: set[str] = set()
        if not self._writer.last:  # nothing that a checkpoint or an acknowledgement speaks of
            return found
        try:
            self._reader.open(self._writer.last, skip_lost=True, alone=True)
            while True:
                messages = self._reader.fetch(PAUSE)
                for message in messages:
                    if message.run == self._run:
                        found.add(json.loads(message.data)["offset"])
                        self._writer.last[message.part] = message.offset
                if not messages and self._reader.at_end:
                    return found
        except Changed as error:
            note(f"warning: {error} Answers that are gone are not written again.")
            return found
        finally:
            self._reader.close()


def open_stream_answers(
    settings: Settings, at: int | None, notes: dict[str, Any] | None, beside: Beside
) -> "Lines | BrokerLines":
    """Open what the answers of a run go to: a file, standard output or a broker.

    ``at`` is how long the file was when the checkpoint was made, which holds these notes;
    ``beside`` knows what an answer may hold.
    """
    before = (notes or {}).get("to")
    if settings.to is not None:
        return BrokerLines(settings.to, settings.broker_config, before)
    if before is not None:
        raise ValueError(
            "the answers of this run went to a broker so far: name its address again with --to."
        )
    opened = partial(open_answers, columns=beside.columns, fields=beside.kept)
    return Lines(settings.out, at, opened)


def placed(chunk: Chunk) -> Chunk:
    """Return a chunk whose rows have offsets, by which answers are known."""
    if chunk.offsets is not None:
        return chunk
    return chunk._replace(offsets=[str(row) for row in chunk.rows])


def check_notes(notes: Any) -> None:
    """Raise TypeError or LookupError unless notes are such as :meth:`BrokerLines.notes`."""
    texts: Iterable[Any] = [notes["run"], *notes["last"], *notes["last"].values()]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"where answers end must be given by texts, got {notes!r:.80}")
