"""Who may ask, and how much: a layer before all answers."""

import hmac
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from evermix.service.replies import refusal
from evermix.service.static import is_open

OPEN = ("/health",)  # paths that need no token, beside those of the page
LOCAL = ("localhost", "127.0.0.1", "::1")


class Guard:
    """Refuses requests without the token, and those that pages of other sites have sent.

    Parameters
    ----------
    app : ASGI application
    token : str or None
        What a request must bring as ``Authorization: Bearer``; None: nothing.
    hosts : sequence of str
        Names by which the service may be called where there is no token. A page that has its own
        name point to this machine would otherwise get at it by the browser of its reader.
    """

    def __init__(self, app: Any, token: str | None, hosts: Sequence[str] = LOCAL) -> None:
        self._app, self._hosts = app, hosts
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
