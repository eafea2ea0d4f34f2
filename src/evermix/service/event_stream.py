"""Server-Sent Events: births, merges and ends of clusters as they happen."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from evermix.service.events import Event, Events
from evermix.service.replies import RequestError

BEHIND = 10_000  # events that a slow reader may be behind; it is then cut off, and may come back
ALIVE = 15.0  # seconds after which something is sent, so that the connection stays open
CHUNK = 100  # events that are written together
TICK = 0.2  # seconds after which it is looked whether the service stops


def last_number(text: str | None) -> int | None:
    """Return the number of ``Last-Event-ID``, None if there is none, or raise RequestError."""
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", text):
        raise RequestError(400, "Last-Event-ID is the number of an event.")
    return int(text)


async def event_stream(
    events: Events,
    after: int | None,
    stopping: Callable[[], bool],
    news: Callable[[], dict[str, Any] | None] | None = None,
) -> AsyncIterator[str]:
    """Yield the events behind a number (None: from now on) until the service stops.

    ``news`` is called a few times a second for messages without a number.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event]()

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    events.listen(tell)
    try:
        number = events.number if after is None else after
        yield "retry: 1000\n\n"
        before, lost = events.after(number)
        if lost:
            first = before[0]["number"] if before else events.number + 1
            yield _message({"type": "lost", "from": number + 1, "to": first - 1}, first - 1)
        for start in range(0, len(before), CHUNK):
            some = before[start : start + CHUNK]
            number = some[-1]["number"]
            yield _messages(some)
            await asyncio.sleep(0)  # so that it is known whether the reader has gone
        silent = sent = 0.0
        while not stopping() and queue.qsize() <= BEHIND:
            if news is not None and loop.time() - sent >= TICK:
                sent = loop.time()
                if (now := news()) is not None:
                    yield f"event: progress\ndata: {json.dumps(now)}\n\n"
            try:
                event = await asyncio.wait_for(queue.get(), TICK)
            except TimeoutError:
                silent += TICK
                if silent >= ALIVE:
                    silent = 0.0
                    yield ": still here\n\n"
                continue
            some = [event]
            while len(some) < CHUNK and not queue.empty():
                some.append(queue.get_nowait())
            if some := [event for event in some if event["number"] > number]:
                number, silent = some[-1]["number"], 0.0
                yield _messages(some)
                await asyncio.sleep(0)
    finally:
        events.leave(tell)


def _messages(events: list[Event]) -> str:
    return "".join(_message(event, event["number"]) for event in events)


def _message(event: dict[str, Any], number: int) -> str:
    return f"id: {number}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n"
