"""The requests of the service, as an OpenAPI description."""

from importlib.metadata import version
from typing import Any

from evermix.service.answers_schema import (
    FLAG,
    NUMBER,
    PERHAPS_TEXT,
    TEXT,
    VALUE,
    WHOLE,
    answer_schemas,
    closed,
    reference,
)
from evermix.service.bodies import FIELDS, KINDS, LONGEST_ID, MOST_COLUMNS, TIMES
from evermix.service.edits import MOST_MERGED
from evermix.service.explaining import MOST_EXPLAINED
from evermix.service.plans import LEAST_HALF_LIFE, MOST_CLUSTERS, MOST_WORDS

JSON = "application/json"
SWITCH: dict[str, Any] = {"enum": ["true", "false"]}
ID: dict[str, Any] = {
    "description": "By which something that is sent twice is done once.",
    "oneOf": [{"type": "string", "minLength": 1, "maxLength": LONGEST_ID}, WHOLE, {"type": "null"}],
}
CLUSTER: dict[str, Any] = {
    "description": "The id or name of a cluster.",
    "type": ["integer", "string"],
}
TIME: dict[str, Any] = {
    "description": "When it was, in a model with times: a date in a string, or a number.",
    "type": ["string", "number", "null"],
}
WORDS = "Also words that name the largest, and whether they grow."
CARDS = "Also send the cards of the clusters, 20 at most."
AGAINST: dict[str, Any] = {
    "name": "against",
    "in": "query",
    "required": False,
    "schema": {"type": ["integer", "string"], "minimum": -1},
    "description": "The id or name of the cluster to compare with; -1: a new one. Else the next.",
}
PROGRESS = "Also tell, without numbers, how far the model is, a few times a second."
_ERRORS = {
    "400": "Headers cannot be read, or the client has gone before its body had come.",
    "401": "There is no token, or a wrong one.",
    "403": "Without a token, a page of another site has sent the request.",
    "404": "There is no such model or cluster.",
    "408": "The body has not come in time.",
    "409": "There is a model with other settings, or too many.",
    "413": "The body is too large.",
    "415": "The Content-Type is not one that is taken.",
    "422": "The request is not what was wanted; the message says why.",
    "429": "Too many requests wait; Retry-After says when to try again.",
    "503": "The model is loading, stopping or has failed.",
}
_ALWAYS = "401", "403", "429"
_WITH_BODY = "400", "408", "413", "415", "422"


def description(batch: int) -> dict[str, Any]:
    """Return the description; ``batch`` observations may come at once."""
    learn, predict = "Learn observations, and answer.", "Answer without learning."
    explain = f"Say why {MOST_EXPLAINED} observations at most are in their clusters, in log odds."
    return {
        "openapi": "3.1.0",
        "info": {"title": "evermix", "version": version("evermix")},
        "paths": {
            "/health": {"get": _operation("Whether the process answers.", "Health")},
            "/ready": {"get": _ready()},
            "/metrics": {"get": _operation("Numbers for Prometheus.", form="text/plain")},
            "/openapi.json": {"get": _operation("This description.")},
            "/models": {"get": _operation("All models.", "Models")},
            "/models/{name}": _model(),
            "/models/{name}/observations": _rows(learn, "Learnt", batch),
            "/models/{name}/predict": _rows(predict, "Answer", batch),
            "/models/{name}/explain": _rows(explain, "Explanation", MOST_EXPLAINED),
            "/models/{name}/clusters": _read(
                "The clusters, the largest first.", "Clusters", words=WORDS
            ),
            "/models/{name}/clusters/{id}": _read(
                "What there is to know of a cluster.", "ClusterCard", "id"
            ),
            "/models/{name}/history": _read("What happened in the last steps.", "History"),
            "/models/{name}/lineage": _read(
                "Birth, parent, end and heir of every cluster.", "Lineage"
            ),
            "/models/{name}/events": _events(),
            "/models/{name}/rename": _edit(
                "Call a cluster by a name; null takes it away.", "Rename"
            ),
            "/models/{name}/merge": _edit("Make one cluster, the first, of several.", "Merge"),
            "/models/{name}/split": _edit("Make two clusters of one.", "Split"),
            "/models/{name}/pin": _edit("Keep a cluster: only people change it.", "Pin"),
            "/models/{name}/unpin": _edit("Undo a pin.", "Pin"),
            "/models/{name}/undo": _edit(
                "Undo the last of these, exactly; refused once rows were learnt.", "Undo"
            ),
        },
        "components": {
            "schemas": answer_schemas() | _request_schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _content(schema: Any, form: str = JSON) -> dict[str, Any]:
    return {form: {"schema": schema}}


def _operation(
    summary: str,
    schema: str | None = None,
    errors: tuple[str, ...] = (),
    form: str = JSON,
    **more: Any,
) -> dict[str, Any]:
    """Return a request that is answered by one of the schemas, or by an error."""
    answer: dict[str, Any] = {"type": "object"} if form == JSON else TEXT
    if schema is not None:
        answer = reference(schema)
    responses = {"200": {"description": "Done.", "content": _content(answer, form)}}
    for status in sorted({*_ALWAYS, *errors}):
        failed = _content(reference("Error"))
        responses[status] = {"description": _ERRORS[status], "content": failed}
    return {"summary": summary, "responses": responses, **more}


def _ready() -> dict[str, Any]:
    operation = _operation("Whether all models answer.", "Ready")
    content = _content(reference("Ready"))
    operation["responses"]["503"] = {"description": "They do not.", "content": content}
    return operation


def _parameters(*names: str) -> list[dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
        "id": {"type": "integer", "minimum": 0},
    }
    return [
        {"name": name, "in": "path", "required": True, "schema": schemas[name]} for name in names
    ]


def _flags(**flags: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": False, "schema": SWITCH, "description": text}
        for name, text in flags.items()
    ]


def _body(schema: dict[str, Any], lines: bool = False) -> dict[str, Any]:
    content = _content(schema)
    if lines:
        binary = {"description": "What numpy.save writes of vectors (n, D)."}
        content |= _content(TEXT, "application/x-ndjson") | _content(binary, "application/x-npy")
    return {"required": True, "content": content}


def _model() -> dict[str, Any]:
    made = _operation("Make a model.", "Made", errors=("409", "503", *_WITH_BODY))
    made["responses"]["200"]["description"] = "There is one with these settings already."
    made["responses"]["201"] = {
        "description": "It was made.",
        "content": _content(reference("Made")),
    }
    made["requestBody"] = _body(reference("Settings"))
    return {
        "parameters": _parameters("name"),
        "get": _operation("Settings and state of a model.", "Model", errors=("404",)),
        "put": made,
        "delete": _operation(
            "Delete a model, and all that it has learnt.", "Deleted", errors=("404", "503")
        ),
    }


def _rows(summary: str, schema: str, batch: int) -> dict[str, Any]:
    one, explains = reference("Observation"), schema == "Explanation"
    more: dict[str, Any] = {} if explains else {"cards": {"type": "object"}}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": batch}
    times = {"type": "array", "items": TIME, "minItems": 1, "maxItems": batch}
    whole = closed(("observations",), observations=several, times=times)
    each = {"type": "array", "items": reference(schema)}
    answers = closed(("answers",), answers=each, **more)
    single = answer_schemas()[schema]
    single = single | {"properties": single["properties"] | more}
    operation = _operation(summary, errors=("404", "503", *_WITH_BODY))
    operation["responses"]["200"]["content"] = _content({"oneOf": [answers, single]})
    operation["requestBody"] = _body({"oneOf": [one, several, whole]}, lines=True)
    batch_id = {
        "name": "id",
        "in": "query",
        "required": False,
        "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
        "description": "Of an array: by which its rows, if sent twice, are learnt once.",
    }
    flags = [AGAINST] if explains else _flags(cards=CARDS)
    parameters = [*_parameters("name"), *flags, batch_id]
    return {"parameters": parameters, "post": operation}


def _read(summary: str, schema: str, *more: str, **flags: str) -> dict[str, Any]:
    operation = _operation(summary, schema, errors=("404", "422", "503"))
    return {"parameters": [*_parameters("name", *more), *_flags(**flags)], "get": operation}


def _events() -> dict[str, Any]:
    after = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "integer", "minimum": 0},
        "description": "Send the events behind this one first.",
    }
    summary = "Server-Sent Events: births, merges and deaths, and what people do."
    errors = "400", "404", "422", "503"
    operation = _operation(summary, errors=errors, form="text/event-stream")
    flags = _flags(progress=PROGRESS)
    return {"parameters": [*_parameters("name"), after, *flags], "get": operation}


def _edit(summary: str, schema: str) -> dict[str, Any]:
    errors = "404", "503", *_WITH_BODY
    operation = _operation(summary, "Done", errors, requestBody=_body(reference(schema)))
    return {"parameters": _parameters("name"), "post": operation}


def _request_schemas() -> dict[str, Any]:
    vector = {"type": "array", "items": NUMBER, "minItems": 1, "maxItems": MOST_COLUMNS}
    record = {"type": "object", "additionalProperties": VALUE, "minProperties": 1}
    several = {"type": "array", "items": CLUSTER, "minItems": 2, "maxItems": MOST_MERGED}
    more = {"id": ID, "time": TIME}
    return {
        "Settings": _with_or_without_times(
            ("kind",),
            kind={"enum": [*KINDS, *FIELDS]},
            max_clusters={"type": "integer", "minimum": 1, "maximum": MOST_CLUSTERS},
            half_life={
                "type": ["number", "null"],
                "minimum": LEAST_HALF_LIFE,
                "maximum": 1e12,
                "description": "In rows, from 1 on, or with times in their unit: seconds of dates.",
            },
            times={"enum": [*TIMES, None]},
            seed={"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
            vocabulary={"type": "integer", "minimum": 1, "maximum": MOST_WORDS},
            min_count={"type": "integer", "minimum": 1, "maximum": 1000},
            hash={"type": ["integer", "null"], "minimum": 1, "maximum": MOST_WORDS},
        ),
        "Observation": {
            "oneOf": [
                {**closed((name,), **{name: schema}, **more), "additionalProperties": True}
                for name, schema in (("vector", vector), ("record", record), ("text", TEXT))
            ]
        },
        "Rename": closed(("cluster", "name"), cluster=CLUSTER, name=PERHAPS_TEXT, id=ID),
        "Merge": closed(("clusters",), clusters=several, pin=FLAG, id=ID),
        "Split": closed(("cluster",), cluster=CLUSTER, pin=FLAG, id=ID),
        "Pin": closed(("cluster",), cluster=CLUSTER, id=ID),
        "Undo": closed((), id=ID),
    }


def _with_or_without_times(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    """Return the schema of settings, of which a half-life without times is in rows."""
    rows = properties["half_life"] | {"minimum": 1}
    with_times = closed((*required, "times"), **properties | {"times": {"enum": [*TIMES]}})
    without = closed(required, **properties | {"times": {"type": "null"}, "half_life": rows})
    return {"anyOf": [with_times, without]}
