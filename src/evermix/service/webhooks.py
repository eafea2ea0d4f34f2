"""New clusters, posted to another service once they are confirmed."""

import http.client
import json
import time
from collections import deque
from threading import Condition, Thread
from urllib.parse import urlsplit

from evermix.service.events import Event

KEPT = 1000  # events that may wait; more are dropped
WAITS = 1.0, 2.0, 4.0, 8.0, 16.0  # seconds before each of the next attempts
PATIENCE = 10.0  # seconds for an answer


class Webhook:
    """Posts every new cluster that is confirmed to an address, in a thread of its own.

    Learning never waits for it. An answer other than 2xx is a failure, and so are redirects, which
    are not followed. After six attempts an event is given up; the stream of events still has it.

    Parameters
    ----------
    address : str
        http:// or https://.
    waits : tuple of float

    Attributes
    ----------
    sent, failed, dropped : int
        Events that were delivered, given up after all attempts, and never tried since too many
        waited.
    why : str
        Why the last attempt that failed has failed; "" if none has.
    """

    def __init__(self, address: str, waits: tuple[float, ...] = WAITS) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ValueError(
                "--webhook must be an address such as http://127.0.0.1:9000/clusters, without a "
                f"password in it, got {address!r:.80}."
            )
        self._parts, self._waits = parts, waits
        self._port = parts.port  # raises ValueError for a wrong one
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.sent = self.failed = self.dropped = 0
        self.why = ""
        self._waiting: deque[bytes] = deque()
        self._sending = 0
        self._changed, self._stopping = Condition(), False
        self._thread = Thread(target=self._run, name="evermix webhook", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def tell(self, model: str, event: Event) -> None:
        """Have an event sent that confirms a cluster; others are ignored. It returns at once."""
        if event["type"] != "confirmed":
            return
        body = json.dumps({"model": model, "event": event}).encode()
        with self._changed:
            if len(self._waiting) >= KEPT:
                self.dropped += 1
                return
            self._waiting.append(body)
            self._changed.notify_all()

    def stop(self, seconds: float = 5.0) -> None:
        """Send what waits, for some seconds at most and without further attempts."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def lost(self) -> str:
        """Return how many events could not be delivered, where and why; "" if all were."""
        with self._changed:
            n = self.failed + self.dropped + len(self._waiting) + self._sending
        if not n:
            return ""
        one = "1 new cluster was" if n == 1 else f"{n:,} new clusters were"
        place = f"{self._parts.scheme}://{self._parts.netloc}{self._parts.path}"
        return f"{one} not delivered to {place} ({self.why or 'no answer came in time'})."

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopping)
                if not self._waiting:
                    return
                body, self._sending = self._waiting.popleft(), 1
            delivered = self._delivered(body)
            with self._changed:
                self.sent, self.failed = self.sent + delivered, self.failed + (not delivered)
                self._sending = 0

    def _delivered(self, body: bytes) -> bool:
        for wait in (0.0, *self._waits):
            end = time.monotonic() + wait
            with self._changed:
                self._changed.wait_for(lambda: self._stopping, wait)
            if wait and time.monotonic() < end:  # the service stops
                return False
            if self._posted(body):
                return True
        return False

    def _posted(self, body: bytes) -> bool:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(str(self._parts.hostname), self._port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json", "User-Agent": "evermix"}
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            if 200 <= answer.status < 300:
                return True
            self.why = f"the answer was {answer.status} {answer.reason}".rstrip()
            return False
        except (OSError, http.client.HTTPException) as error:
            self.why = str(error) or type(error).__name__
            return False
        finally:
            connection.close()
