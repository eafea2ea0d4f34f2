"""The live page: files that every browser may have, since they hold no data."""

from hashlib import blake2b
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from evermix.service.models import AbsentError

FOLDER = "/page/"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SHARED = "style.css", "charts.js"  # with reports
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
ASKS = b'data-token="no"'


def is_open(path: str) -> bool:
    """Whether a path is one of the page, which needs no token."""
    return path == "/" or path.startswith(FOLDER)


class Page:
    """The files of the page.

    Parameters
    ----------
    token : bool
        Whether the service wants one, for which the page then asks.

    Attributes
    ----------
    files : dict of str to bytes
        By name.
    """

    def __init__(self, token: bool) -> None:
        own, report = files("evermix.service") / "page", files("evermix.report") / "web"
        found = [entry for entry in own.iterdir() if entry.name.rpartition(".")[2] in TYPES]
        self.files = {entry.name: entry.read_bytes() for entry in found}
        self.files |= {name: (report / name).read_bytes() for name in SHARED}
        if token:
            start = self.files["index.html"]
            self.files["index.html"] = start.replace(ASKS, b'data-token="yes"')

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    async def answer(self, request: Request) -> Response:
        """Return the file that a request wants."""
        name = request.path_params.get("file", "index.html")
        body = self.files.get(name)
        if body is None:
            raise AbsentError(f"there is no file {name!r:.80} of the page.")
        tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
        headers = {**HEADERS, "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        kind = TYPES[name.rpartition(".")[2]]
        return Response(body, media_type=kind, headers=headers)
