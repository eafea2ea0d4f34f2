"""Answers to requests: JSON, and errors with a reason."""

from typing import Any

import orjson
from starlette.responses import Response

from evermix.service.bodies import BodyError
from evermix.service.models import AbsentError, ConflictError
from evermix.service.worker import BusyError, UnavailableError

RETRY = 1  # seconds after which to try again


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def reply(value: Any, status: int = 200) -> Response:
    """Return values as JSON; numbers that are not finite are null."""
    return Response(orjson.dumps(value), status, media_type="application/json")


def refusal(status: int, message: str) -> Response:
    """Return an error as JSON."""
    response = reply({"error": message}, status)
    if status in (429, 503):
        response.headers["Retry-After"] = str(RETRY)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def refused(error: Exception) -> Response:
    """Return the answer to a request that has failed."""
    if isinstance(error, RequestError):
        return refusal(error.status, str(error))
    if isinstance(error, BusyError):
        return refusal(429, str(error))
    if isinstance(error, UnavailableError):
        return refusal(503, str(error))
    if isinstance(error, AbsentError):
        return refusal(404, str(error))
    if isinstance(error, ConflictError):
        return refusal(409, str(error))
    if isinstance(error, BodyError):
        return refusal(422, str(error))
    if isinstance(error, ValueError | TypeError):  # what a mixture says of rows and clusters
        return refusal(422, str(error)[:1000])
    if isinstance(error, OSError):
        return refusal(503, f"the disk cannot be written: {error.strerror or error}.")
    raise error
