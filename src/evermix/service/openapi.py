"""The requests of the service, as an OpenAPI description."""

from importlib.metadata import version
from typing import Any

from evermix.service.bodies import KINDS, LONGEST_ID, MOST_COLUMNS
from evermix.service.core import MOST_MERGED
from evermix.service.plans import MOST_CLUSTERS, MOST_WORDS

NUMBER: dict[str, Any] = {"type": "number"}
WHOLE: dict[str, Any] = {"type": "integer"}
TEXT: dict[str, Any] = {"type": "string"}
FLAG: dict[str, Any] = {"type": "boolean"}
ID: dict[str, Any] = {
    "description": "By which something that is sent twice is done once.",
    "oneOf": [{"type": "string", "minLength": 1, "maxLength": LONGEST_ID}, WHOLE],
}
WORDS = "Also words that name the largest, and whether they grow."
PROGRESS = "Also tell, without numbers, how far the model is, a few times a second."
_ERRORS = {
    "401": "There is no token, or a wrong one.",
    "404": "There is no such model or cluster.",
    "422": "The body is not what was asked for; the message says why.",
    "429": "Too many requests wait; Retry-After says when to try again.",
    "503": "The model is loading, stopping or has failed.",
}


def description(batch: int) -> dict[str, Any]:
    """Return the description; ``batch`` observations may come at once."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "evermix", "version": version("evermix")},
        "paths": {
            "/health": {"get": _operation("Whether the process answers.")},
            "/ready": {"get": _operation("Whether all models can be asked.", errors=("503",))},
            "/metrics": {"get": _operation("Numbers for Prometheus.", form="text/plain")},
            "/openapi.json": {"get": _operation("This description.")},
            "/models": {"get": _operation("All models.")},
            "/models/{name}": _model(),
            "/models/{name}/observations": _rows(
                "Learn observations, and answer.", "Learnt", batch
            ),
            "/models/{name}/predict": _rows("Answer without learning.", "Answer", batch),
            "/models/{name}/clusters": _read("The clusters, the largest first.", words=WORDS),
            "/models/{name}/clusters/{id}": _read("What there is to know of a cluster.", "id"),
            "/models/{name}/history": _read("What happened in the last steps."),
            "/models/{name}/lineage": _read("Birth, parent, end and heir of every cluster."),
            "/models/{name}/events": _events(),
            "/models/{name}/rename": _edit(
                "Call a cluster by a name; null takes it away.", "Rename"
            ),
            "/models/{name}/merge": _edit("Make one cluster, the first, of several.", "Merge"),
            "/models/{name}/split": _edit("Make two clusters of one.", "Split"),
            "/models/{name}/pin": _edit("Keep a cluster: only people change it.", "Pin"),
            "/models/{name}/unpin": _edit("Undo a pin.", "Pin"),
        },
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(
    summary: str,
    schema: str | None = None,
    errors: tuple[str, ...] = (),
    form: str = "application/json",
    **more: Any,
) -> dict[str, Any]:
    answer = {"type": "object"} if form == "application/json" else TEXT
    if schema is not None:
        answer = {"$ref": f"#/components/schemas/{schema}"}
    responses = {"200": {"description": "Done.", "content": {form: {"schema": answer}}}}
    failed = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for status in ("401", *errors):
        responses[status] = {"description": _ERRORS[status], "content": failed}
    return {"summary": summary, "responses": responses, **more}


def _parameters(*names: str) -> list[dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
        "id": {"type": "integer", "minimum": 0},
    }
    return [
        {"name": name, "in": "path", "required": True, "schema": schemas[name]} for name in names
    ]


def _body(schema: dict[str, Any], lines: bool = False) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    if lines:
        content["application/x-ndjson"] = {"schema": TEXT}
    return {"required": True, "content": content}


def _model() -> dict[str, Any]:
    made = _operation("Make a model.", errors=("422",))
    made["responses"]["201"] = {"description": "It was made."}
    made["responses"]["409"] = {"description": "There is one with other settings."}
    made["requestBody"] = _body({"$ref": "#/components/schemas/Settings"})
    return {
        "parameters": _parameters("name"),
        "get": _operation("Settings and state of a model.", errors=("404",)),
        "put": made,
    }


def _rows(summary: str, schema: str, batch: int) -> dict[str, Any]:
    one = {"$ref": "#/components/schemas/Observation"}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": batch}
    whole = {
        "type": "object",
        "properties": {"observations": several},
        "required": ["observations"],
        "additionalProperties": False,
    }
    answer = {"$ref": f"#/components/schemas/{schema}"}
    answers = {"type": "object", "properties": {"answers": {"type": "array", "items": answer}}}
    operation = _operation(summary, errors=("404", "422", "429", "503"))
    operation["responses"]["200"]["content"] = {
        "application/json": {"schema": {"anyOf": [answers, answer]}}
    }
    operation["requestBody"] = _body({"oneOf": [one, several, whole]}, lines=True)
    cards = {
        "name": "cards",
        "in": "query",
        "required": False,
        "schema": {"enum": ["true", "false"]},
        "description": "Also send the cards of the clusters, 20 at most.",
    }
    return {"parameters": [*_parameters("name"), cards], "post": operation}


def _read(summary: str, *more: str, **flags: str) -> dict[str, Any]:
    operation = _operation(summary, errors=("404", "503"))
    return {"parameters": [*_parameters("name", *more), *_flags(**flags)], "get": operation}


def _flags(**flags: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": False, "schema": FLAG, "description": text}
        for name, text in flags.items()
    ]


def _events() -> dict[str, Any]:
    after = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "integer", "minimum": 0},
        "description": "Send the events behind this one first.",
    }
    summary = "Server-Sent Events: births, merges and deaths, and what people do."
    operation = _operation(summary, errors=("404", "503"), form="text/event-stream")
    flags = _flags(progress=PROGRESS)
    return {"parameters": [*_parameters("name"), after, *flags], "get": operation}


def _edit(summary: str, schema: str) -> dict[str, Any]:
    body = _body({"$ref": f"#/components/schemas/{schema}"})
    operation = _operation(summary, errors=("404", "422", "429", "503"), requestBody=body)
    return {"parameters": _parameters("name"), "post": operation}


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _schemas() -> dict[str, Any]:
    vector = {"type": "array", "items": NUMBER, "minItems": 1, "maxItems": MOST_COLUMNS}
    value = {"type": ["number", "string", "boolean", "null"]}
    record = {"type": "object", "additionalProperties": value, "minProperties": 1}
    answer = {"id": ID, "cluster": WHOLE, "probability": NUMBER, "novelty": NUMBER, "name": TEXT}
    rename = {"cluster": WHOLE, "name": {"type": ["string", "null"]}, "id": ID}
    several = {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": MOST_MERGED}
    return {
        "Error": _object(("error",), error=TEXT),
        "Settings": _object(
            ("kind",),
            kind={"enum": list(KINDS)},
            max_clusters={"type": "integer", "minimum": 1, "maximum": MOST_CLUSTERS},
            half_life={"type": ["number", "null"], "minimum": 1},
            seed={"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
            vocabulary={"type": "integer", "minimum": 1, "maximum": MOST_WORDS},
            min_count={"type": "integer", "minimum": 1, "maximum": 1000},
            hash={"type": ["integer", "null"], "minimum": 1, "maximum": MOST_WORDS},
        ),
        "Observation": {
            "oneOf": [
                _object((name,), **{name: schema, "id": ID})
                for name, schema in (("vector", vector), ("record", record), ("text", TEXT))
            ]
        },
        "Answer": {"type": "object", "properties": answer},
        "Learnt": {
            "type": "object",
            "properties": {
                **answer,
                "new": FLAG,
                "from": WHOLE,
                "duplicate": FLAG,
                "provisional": FLAG,
            },
        },
        "Rename": _object(("cluster", "name"), **rename),
        "Merge": _object(("clusters",), clusters=several, pin=FLAG, id=ID),
        "Split": _object(("cluster",), cluster=WHOLE, pin=FLAG, id=ID),
        "Pin": _object(("cluster",), cluster=WHOLE, id=ID),
    }
