"""What the service answers, as JSON Schema."""

from typing import Any

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
STATUS: Schema = {"enum": ["loading", "ready", "failed", "stopped"]}
VALUE: Schema = {"type": ["number", "string", "boolean", "null"]}
PERHAPS_NUMBER: Schema = {"type": ["number", "null"]}
PERHAPS_WHOLE: Schema = {"type": ["integer", "null"]}
PERHAPS_TEXT: Schema = {"type": ["string", "null"]}


def reference(name: str) -> Schema:
    """Return a reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def closed(required: tuple[str, ...], **properties: Any) -> Schema:
    """Return the schema of an object with these entries and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def full(**properties: Any) -> Schema:
    """Return the schema of an object with all of these entries and no others."""
    return closed(tuple(properties), **properties)


def several(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def by_name(values: Schema) -> Schema:
    """Return the schema of an object with any names."""
    return {"type": "object", "additionalProperties": values}


def answer_schemas() -> dict[str, Schema]:
    """Return the schemas of all answers, by name."""
    row = {
        "id": {"type": "string"},
        "cluster": WHOLE,
        "probability": NUMBER,
        "novelty": PERHAPS_NUMBER,
        "name": TEXT,
    }
    settings = {"oneOf": [reference("Settings"), full(kind=TEXT, imported=TEXT)]}
    marks = {"new": FLAG, "from": WHOLE, "since": VALUE, "duplicate": FLAG, "provisional": FLAG}
    said = ("cluster", "probability", "novelty")
    known = {"sequence": WHOLE, "rows": WHOLE, "provisional": FLAG}
    state = {"name": TEXT, "status": STATUS, "settings": settings}
    counts = {name: WHOLE for name in ("rows", "clusters", "sequence", "last_event", "waiting")}
    at = {"learnt_at": PERHAPS_NUMBER}
    return {
        "Error": full(error=TEXT),
        "Health": full(status={"const": "ok"}),
        "Ready": full(ready=FLAG, models=by_name(STATUS)),
        "Model": closed((*state, *counts, *at), **state, **counts, **at, problem=TEXT),
        "Models": full(models=several(reference("Model"))),
        "Made": full(name=TEXT, settings=settings),
        "Deleted": full(name=TEXT, deleted={"const": True}),
        "Answer": closed(said, **row),
        "Explanation": _explanation(),
        "Learnt": closed(("cluster", "probability", "new"), **row, **marks),
        "Clusters": closed(
            ("sequence", "rows", "clusters"),
            **known,
            clusters=several(_cluster()),
            hidden=WHOLE,
        ),
        "ClusterCard": closed(
            ("sequence", "rows", "card", "words", "traits", "examples"),
            **known,
            card=reference("Card"),
            words=several(TEXT),
            traits=several(several(TEXT)),
            examples=several(several(TEXT)),
        ),
        "Card": _card(),
        "History": closed(("sequence", "rows", "steps"), **known, steps=several(_step())),
        "Lineage": closed(("sequence", "rows", "lineage"), **known, lineage=several(_life())),
        "Done": {"oneOf": [full(duplicate={"const": True}), _done()]},
    }


def _explanation() -> Schema:
    contribution = full(name=TEXT, value=VALUE, log_odds=PERHAPS_NUMBER, unit=PERHAPS_TEXT)
    always = {
        **{"cluster": WHOLE, "other": WHOLE},
        **{"cluster_name": PERHAPS_TEXT, "other_name": PERHAPS_TEXT},
        **{"probability": NUMBER, "novelty": PERHAPS_NUMBER, "log_odds": PERHAPS_NUMBER},
        "contributions": several(contribution),
    }
    return closed(tuple(always), id=TEXT, **always)


def _cluster() -> Schema:
    always = {
        "id": WHOLE,
        "name": PERHAPS_TEXT,
        "pinned": FLAG,
        "size": NUMBER,
        "share": NUMBER,
    }
    worded = {
        "words": several(TEXT),
        "trend": PERHAPS_NUMBER,
        "growing": FLAG,
        "born": PERHAPS_WHOLE,
    }
    return closed(tuple(always), **always, **worded, since=VALUE)


def _card() -> Schema:
    ends = {"type": ["array", "null"], "items": NUMBER}
    trait = full(
        column=TEXT,
        level=VALUE,
        kind=TEXT,
        here=PERHAPS_NUMBER,
        elsewhere=PERHAPS_NUMBER,
        spread=PERHAPS_NUMBER,
        spread_elsewhere=PERHAPS_NUMBER,
        range=ends,
        range_elsewhere=ends,
        mean=PERHAPS_NUMBER,
        mean_elsewhere=PERHAPS_NUMBER,
        unit=PERHAPS_TEXT,
    )
    return full(
        id=WHOLE,
        name=PERHAPS_TEXT,
        pinned=FLAG,
        size=NUMBER,
        share=NUMBER,
        recent_share=PERHAPS_NUMBER,
        fading=FLAG,
        trend=PERHAPS_NUMBER,
        growing=FLAG,
        born=PERHAPS_WHOLE,
        since=VALUE,
        parent=PERHAPS_WHOLE,
        age=PERHAPS_WHOLE,
        last_seen=PERHAPS_WHOLE,
        traits=several(trait),
        examples=several(full(row=WHOLE, values=by_name(VALUE), units=by_name(TEXT))),
        nearest=several(full(id=WHOLE, nats=PERHAPS_NUMBER)),
        merged=several(WHOLE),
        changes=several(full(what=TEXT, clock=WHOLE, ids=several(WHOLE))),
    )


def _step() -> Schema:
    return full(
        rows=WHOLE,
        clock=WHOLE,
        K=WHOLE,
        births=several(WHOLE),
        dropped=several(WHOLE),
        merges=several(several(WHOLE)),
        log_predictive=PERHAPS_NUMBER,
        seconds=NUMBER,
        lap=WHOLE,
        batches=WHOLE,
        scalars=by_name(PERHAPS_NUMBER),
    )


def _life() -> Schema:
    return full(
        **{"id": WHOLE, "born": WHOLE, "found": WHOLE, "from": PERHAPS_WHOLE},
        ended=PERHAPS_WHOLE,
        into=PERHAPS_WHOLE,
    )


def _done() -> Schema:
    what = {"action": TEXT, "cluster": WHOLE}
    return closed(
        tuple(what),
        **what,
        name=PERHAPS_TEXT,
        merged=several(WHOLE),
        new=WHOLE,
        pinned=FLAG,
        undone=TEXT,
    )
