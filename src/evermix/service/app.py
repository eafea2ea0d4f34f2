"""The application: which request is answered how."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from evermix.service import reading
from evermix.service.bodies import Observations, parsed_object
from evermix.service.core import LEARN, Core
from evermix.service.edits import EDITS
from evermix.service.event_stream import event_stream, last_number
from evermix.service.explaining import explained
from evermix.service.forms import ARRAY, FORMS, taken
from evermix.service.guard import Guard, Rates
from evermix.service.metrics import FORM, metrics
from evermix.service.npy import tagged
from evermix.service.openapi import description
from evermix.service.plans import SETTINGS, Plan
from evermix.service.progress import Progress
from evermix.service.replies import RequestError, refusal, refused, reply
from evermix.service.served import Catalogue, Served
from evermix.service.static import FOLDER, Page
from evermix.service.worker import READY, STOPPED, UnavailableError

SMALL = 2**17  # bytes of a body that is read at once: another thread would hold Python's lock too


@dataclass(frozen=True)
class RequestLimits:
    """What a request may be.

    Attributes
    ----------
    body : int
        Bytes of a body.
    batch : int
        Observations in it.
    seconds : float
        In which it must have come.
    readers : int
        Of events at a time.
    rate : float or None
        Requests per second from one address; None does not count them.
    """

    body: int = 2**23
    batch: int = 10_000
    seconds: float = 30.0
    readers: int = 100
    rate: float | None = None


class Service:
    """Answers requests to models.

    Parameters
    ----------
    models : Catalogue
    limits : RequestLimits
    """

    def __init__(self, models: Catalogue, limits: RequestLimits) -> None:
        self._models, self._limits = models, limits
        self._started, self._readers = time.monotonic(), 0
        self.stopping: Callable[[], bool] = lambda: False

    def app(self, token: str | None, unanswered: tuple[str, ...] = ()) -> Any:
        """Return the ASGI application, without some of the paths."""
        page = Page(token is not None)
        answers: dict[str, dict[str, Any]] = {}
        for path, method, answer in (
            ("/", "GET", page.answer),
            (FOLDER + "{file}", "GET", page.answer),
            ("/health", "GET", self._health),
            ("/ready", "GET", self._ready),
            ("/metrics", "GET", self._metrics),
            ("/openapi.json", "GET", self._openapi),
            ("/models", "GET", self._list),
            ("/models/{name}", "GET", self._about),
            ("/models/{name}", "PUT", self._make),
            ("/models/{name}", "DELETE", self._remove),
            ("/models/{name}/observations", "POST", self._learn),
            ("/models/{name}/predict", "POST", self._predict),
            ("/models/{name}/explain", "POST", self._explain),
            ("/models/{name}/clusters", "GET", self._clusters),
            ("/models/{name}/clusters/{id}", "GET", self._card),
            ("/models/{name}/history", "GET", self._reading(reading.history)),
            ("/models/{name}/lineage", "GET", self._reading(reading.lineage)),
            ("/models/{name}/events", "GET", self._events),
            *((f"/models/{{name}}/{action}", "POST", self._editing(action)) for action in EDITS),
        ):
            if path not in unanswered:
                answers.setdefault(path, {})[method] = answer
        routes = [
            Route(path, self._answering(some), methods=list(some)) for path, some in answers.items()
        ]
        handlers: dict[Any, Any] = {HTTPException: _plain}
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._life)
        rates = None if self._limits.rate is None else Rates(self._limits.rate)
        return Guard(app, token, rates)

    @asynccontextmanager
    async def _life(self, app: Any) -> AsyncIterator[None]:
        self._models.start()
        yield
        await run_in_threadpool(self._models.stop)

    def _answering(self, answers: dict[str, Any]) -> Any:
        """Return an endpoint that answers by method, and turns errors into answers."""

        async def endpoint(request: Request) -> Response:
            try:
                return await answers["GET" if request.method == "HEAD" else request.method](request)
            except Exception as error:
                return refused(error)

        return endpoint

    # ---- the service -----------------------------------------------------------------------

    async def _health(self, request: Request) -> Response:
        return reply({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        ready = self._models.ready and not self.stopping()
        states = {name: worker.status for name, worker in self._models.items()}
        return reply({"ready": ready, "models": states}, 200 if ready else 503)

    async def _metrics(self, request: Request) -> Response:
        models = self._models
        text = metrics(models.items(), self._started, models.webhook)
        return PlainTextResponse(text, media_type=FORM)

    async def _openapi(self, request: Request) -> Response:
        return reply(description(self._limits.batch))

    # ---- models ----------------------------------------------------------------------------

    async def _list(self, request: Request) -> Response:
        models = [reading.about(name, worker) for name, worker in self._models.items()]
        return reply({"models": models})

    async def _about(self, request: Request) -> Response:
        name = request.path_params["name"]
        return reply(reading.about(name, self._models[name]))

    async def _make(self, request: Request) -> Response:
        name, (_, body) = request.path_params["name"], await self._body(request, ("json",))
        plan = Plan.parsed(parsed_object(body, SETTINGS))
        made = await run_in_threadpool(self._models.make, name, plan)
        return reply({"name": name, "settings": plan.to_spec()}, 201 if made else 200)

    async def _remove(self, request: Request) -> Response:
        name = request.path_params["name"]
        await run_in_threadpool(self._models.remove, name)
        return reply({"name": name, "deleted": True})

    async def _learn(self, request: Request) -> Response:
        worker, cards = self._model(request), switched(request, "cards")
        form, body = await self._rows(request)
        given = await self._observations(form, body)
        answers = await asyncio.wrap_future(worker.submit(LEARN, form, body, given))
        return await self._answered(worker, answers, given.single, cards)

    async def _predict(self, request: Request) -> Response:
        worker, cards = self._model(request), switched(request, "cards")
        form, body = await self._rows(request)
        given = await self._observations(form, body)
        answers = await run_in_threadpool(_asked, worker, lambda core: core.predicted(given))
        return await self._answered(worker, answers, given.single, cards)

    async def _explain(self, request: Request) -> Response:
        worker, against = self._model(request), request.query_params.get("against")
        form, body = await self._rows(request)
        given = await self._observations(form, body)
        answers = await run_in_threadpool(
            _asked, worker, lambda core: explained(core, given, against)
        )
        return await self._answered(worker, answers, given.single, cards=False)

    async def _rows(self, request: Request) -> tuple[str, bytes]:
        """Return the form and the body of observations; an array has its id in the address."""
        form, body = await self._body(request, ("json", "jsonl", ARRAY))
        id = request.query_params.get("id")
        if form != ARRAY and id is not None:
            raise RequestError(422, "an id in the address is for arrays; others have ids in rows.")
        return form, tagged(id, body) if form == ARRAY else body

    async def _observations(self, form: str, body: bytes) -> Observations:
        """Return the observations of a body, or raise BodyError."""
        if len(body) <= SMALL:
            return taken(body, form, self._limits.batch)
        return await run_in_threadpool(taken, body, form, self._limits.batch)

    async def _answered(
        self, worker: Served, answers: list[dict[str, Any]], single: bool, cards: bool
    ) -> Response:
        """Return answers, perhaps with the cards of their clusters."""
        whole = answers[0] if single else {"answers": answers}
        if cards:
            ids = [answer["cluster"] for answer in answers]
            found = await run_in_threadpool(_asked, worker, lambda core: reading.cards(core, ids))
            whole = whole | {"cards": found}
        return reply(whole)

    def _editing(self, action: str) -> Any:
        async def edit(request: Request) -> Response:
            worker = self._model(request)
            _, body = await self._body(request, ("json",))
            parsed_object(body, EDITS[action])
            return reply(await asyncio.wrap_future(worker.submit(action, "json", body)))

        return edit

    def _reading(self, question: Callable[[Core], Any]) -> Any:
        async def read(request: Request) -> Response:
            worker = self._model(request)
            return await run_in_threadpool(lambda: reply(_asked(worker, question)))

        return read

    async def _clusters(self, request: Request) -> Response:
        words = switched(request, "words")
        return await self._reading(lambda core: reading.clusters(core, words))(request)

    async def _card(self, request: Request) -> Response:
        id = request.path_params["id"]
        return await self._reading(lambda core: reading.card(core, id))(request)

    async def _events(self, request: Request) -> Response:
        worker = self._model(request)
        after = last_number(request.headers.get("last-event-id"))
        news = Progress(worker).news if switched(request, "progress") else None
        if self._readers >= self._limits.readers:
            raise UnavailableError(f"{self._readers} others read events already.")

        def ended() -> bool:
            return self.stopping() or worker.status == STOPPED

        async def counted() -> AsyncIterator[str]:
            self._readers += 1
            try:
                async for message in event_stream(worker.core.events, after, ended, news):
                    yield message
            finally:
                self._readers -= 1

        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(counted(), media_type="text/event-stream", headers=headers)

    # ---- requests --------------------------------------------------------------------------

    def _model(self, request: Request) -> Served:
        """Return the model that a request is about, if it can answer."""
        worker = self._models[request.path_params["name"]]
        if worker.status != READY:
            raise UnavailableError(worker.problem or f"the model is {worker.status}.")
        return worker

    async def _body(self, request: Request, forms: tuple[str, ...]) -> tuple[str, bytes]:
        """Return the form of a body and the body, or raise RequestError."""
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        form, most = FORMS.get(given), self._limits.body
        if form not in forms:
            wanted = ", ".join(name for name, form in FORMS.items() if form in forms)
            raise RequestError(415, f"the Content-Type must be {wanted}, got {given!r:.80}.")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise RequestError(413, f"a body may have {most:,} bytes. Send several.")
                    parts.append(part)
        except TimeoutError:
            raise RequestError(
                408, f"the body has not come within {self._limits.seconds:g} seconds."
            ) from None
        except ClientDisconnect:
            raise RequestError(400, "the client has gone before its body had come.") from None
        assert form is not None
        return form, b"".join(parts)


def switched(request: Request, name: str) -> bool:
    """Return whether ``?name=true`` is in the address, or raise RequestError."""
    given = request.query_params.get(name, "false")
    if given not in ("true", "false"):
        raise RequestError(422, f"{name} must be true or false, got {given!r:.40}.")
    return given == "true"


def _asked(worker: Served, question: Callable[[Core], Any]) -> Any:
    """Ask a snapshot of a model."""
    core = worker.snapshot()
    with worker.reading:
        return question(core)


async def _plain(request: Request, error: Exception) -> Response:
    """Answer requests that no route takes."""
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path:.80}: {error.detail}."
    if error.status_code == 404:
        paths = [str(getattr(route, "path", "")) for route in request.app.routes]
        of_model = request.url.path.startswith("/models/")
        known = ", ".join(path for path in paths if path.startswith("/models/") == of_model)
        message = (
            f"there is no {request.url.path:.80}. There are {known}. GET /openapi.json describes "
            "them."
        )
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{request.url.path:.80} takes {allowed}, got {request.method}."
    response = refusal(error.status_code, message)
    response.headers.update(error.headers or {})
    return response
