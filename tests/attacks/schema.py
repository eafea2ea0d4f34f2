"""Requests that schemathesis makes from the OpenAPI description, allowed ones and others.

``python -m tests.attacks.schema --examples 100 --seed 0`` starts a service with a model of each
kind, and lets ``schemathesis`` (``pip install schemathesis``; --tool says where it is, it may have
an environment of its own) try every request but the endless stream of events: edge cases of every
entry, and random bodies. No answer may be an error of the server, have a status or content that the
description does not know, or take what it forbids. What it allows must be taken where nothing but
the description decides, which is where models are made. Lists of more than a hundred are left to
``tests.attacks.requests``, since the tool takes minutes to make one. It prints JSON.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.services import Running, vectors

EVENTS = "/models/{name}/events"
MODEL = "/models/{name}"
Description = dict[str, Any]
DECIDED_BY_MODELS = "positive_data_acceptance"  # whether a row fits, or a cluster is there
LONG = 100  # of a list
TEXTS = "the invoice was paid twice", "no login without a password", "the parcel came late"


def rows(kind: str, n: int) -> list[dict]:
    """Return n observations of a kind."""
    if kind == "texts":
        return [{"text": TEXTS[i % 3]} for i in range(n)]
    if kind == "vectors":
        return vectors(n)
    fields = [
        {"weight": row["vector"][0], "colour": "rgb"[i % 3]}
        for i, row in enumerate(rows("vectors", n))
    ]
    return [{"record": row} for row in fields]


def without_long_lists(schema: Any) -> Any:
    """Return a schema without bounds on long lists."""
    if isinstance(schema, list):
        return [without_long_lists(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if k != "maxItems" or v <= LONG}
    return {name: without_long_lists(value) for name, value in kept.items()}


def only_of(name: str, description: Description) -> Description:
    """Return the description of the requests to one model, but for its events."""
    paths = {}
    for path, operations in description["paths"].items():
        if path.startswith(MODEL) and path != EVENTS:
            others = [each for each in operations["parameters"] if each["name"] != "name"]
            paths[path.replace("{name}", name)] = operations | {"parameters": others}
    return description | {"paths": paths}


class Tool:
    """Runs schemathesis in a folder against a service."""

    def __init__(self, command: str, folder: Path, service: Running, options: list[str]) -> None:
        self._folder, self.found = folder, list[str]()
        self.description = without_long_lists(service.get("/openapi.json")[1])
        self._run = [
            *(command, "run", "openapi.json", "--url", f"http://127.0.0.1:{service.port}"),
            *("--continue-on-failure", "--no-color", "--request-timeout", "60"),
            *("--phases", "examples,coverage,fuzzing", *options),
        ]

    def cases(self, description: Description, *options: str) -> int:
        """Try what is described; note what is wrong, and return how many requests that were."""
        (self._folder / "openapi.json").write_text(json.dumps(description))
        done = subprocess.run(
            [*self._run, *options], cwd=self._folder, capture_output=True, text=True, check=False
        )
        number = re.search(r"(\d+) generated", done.stdout)
        assert number is not None, done.stdout + done.stderr
        if done.returncode:
            self.found.append(done.stdout)
        return int(number[1])


def attack(folder: Path, command: str, options: list[str]) -> dict[str, object]:
    """Return how many requests were tried, and raise AssertionError if any answer was wrong."""
    start, service = time.perf_counter(), Running(folder)
    try:
        tool, n = Tool(command, folder, service, options), 0
        whole = tool.description
        shared = {path: some for path, some in whole["paths"].items() if f"{MODEL}/" not in path}
        n += tool.cases(whole | {"paths": shared})
        for kind in ("vectors", "records", "texts"):
            name = f"some-{kind}"
            service.make(name, kind, max_clusters=50)
            assert service.post(f"/models/{name}/observations", rows(kind, 400))[0] == 200
            kept = "--exclude-method", "DELETE", "--exclude-checks", DECIDED_BY_MODELS
            n += tool.cases(only_of(name, whole), *kept)
        states = service.get("/ready")
        assert states[0] == 200, states
    finally:
        ended = service.stop()
    assert not tool.found, "\n".join(tool.found)
    assert ended == 0 and "Traceback" not in service.said(), service.said()
    return {"requests": n, "wrong": 0, "seconds": round(time.perf_counter() - start)}


def main() -> None:
    """Print what happened, or fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=shutil.which("schemathesis"))
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.tool is None:
        raise SystemExit("schemathesis is not installed: pip install schemathesis")
    options = ["--max-examples", str(args.examples), "--seed", str(args.seed)]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(attack(Path(folder), args.tool, options)))


if __name__ == "__main__":
    main()
