"""The command line in this process."""

import json

import numpy as np
from typer.testing import CliRunner

from evermix.cli import app

TICKETS = ["invoice refund payment billing", "printer paper toner tray", "password login account"]


def evermix(*arguments, status=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


def write_tickets(path, n=300):
    """Write short texts of three subjects in turn, with ids and years."""
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for i in range(n):
            text = " ".join(rng.choice(TICKETS[i % 3].split(), size=6))
            line = {"id": f"T{i}", "text": text, "year": 2000 + i // 100}
            file.write(json.dumps(line) + "\n")
