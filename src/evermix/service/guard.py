"""Who may ask, and how much: a layer before all answers."""

import hmac
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from evermix.service.replies import refusal
from evermix.service.static import is_open

OPEN = ("/health",)  # paths that need no token, beside those of the page
ADDRESSES = 10_000  # whose requests are counted
LOCAL = ("localhost", "127.0.0.1", "::1")


class Rates:
    """How many requests each address has sent lately.

    An address may send ``rate`` per second on average, and twice as many (ten at least) at once.
    """

    def __init__(self, rate: float) -> None:
        self.rate, self.most = rate, max(2.0 * rate, 10.0)
        self._left: dict[str, tuple[float, float]] = {}  # by address: requests left, and when

    def takes(self, address: str) -> bool:
        """Whether an address may send another request now, which is then counted."""
        now = time.monotonic()
        left, then = self._left.pop(address, (self.most, now))
        left = min(left + (now - then) * self.rate, self.most)
        self._left[address] = (left - (left >= 1.0), now)
        if len(self._left) > ADDRESSES:  # the one that was silent for longest
            del self._left[next(iter(self._left))]
        return left >= 1.0


class Guard:
    """Refuses requests without the token, and those that pages of other sites have sent.

    Parameters
    ----------
    app : ASGI application
    token : str or None
        What a request must bring as ``Authorization: Bearer``; None: nothing.
    rates : Rates, optional
        How many requests an address may send; without it, any number.
    hosts : sequence of str
        Names by which the service may be called where there is no token. A page that has its own
        name point to this machine would otherwise get at it by the browser of its reader.
    """

    def __init__(
        self,
        app: Any,
        token: str | None,
        rates: Rates | None = None,
        hosts: Sequence[str] = LOCAL,
    ) -> None:
        self._app, self._rates, self._hosts = app, rates, hosts
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            problem = self._problem(scope)
            if problem is not None:
                await refusal(*problem)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _problem(self, scope: Any) -> tuple[int, str] | None:
        """Return status and message of a request that is refused."""
        if self._rates is not None and scope["path"] not in OPEN:
            address = (scope.get("client") or ("", 0))[0]
            if not self._rates.takes(address):
                return 429, f"{address} sends more than {self._rates.rate:g} requests per second."
        headers = {name.lower(): value for name, value in scope["headers"]}
        if self._token is not None:
            if scope["path"] in OPEN or is_open(scope["path"]):
                return None
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            known = hmac.compare_digest(given.strip(), self._token)
            if scheme.lower() == b"bearer" and known:
                return None
            return 401, "send the token of the service: Authorization: Bearer TOKEN."
        host = headers.get(b"host", b"").decode("latin-1")
        if _name(f"//{host}") not in self._hosts:
            return 403, f"the service is not called {host[:80]!r}: use localhost, or a token."
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and _name(origin) not in self._hosts:
            return 403, "pages of other sites may not use the service."
        return None


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
