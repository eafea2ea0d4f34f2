"""Texts of three years for `evermix topics`, and the command on them."""

import json

import numpy as np
from typer.testing import CliRunner

from evermix.cli import app

WORDS = {"sea": "ship wave salt harbour sail", "sky": "cloud wing wind feather moon"}
SHORT = ["--burn-in", "6", "--draws", "4"]


def records():
    """Texts of three years: the sky takes over from the sea."""
    rng = np.random.default_rng(0)
    for i in range(60):
        year = 2001 + i // 20
        topic = "sky" if rng.random() < (0.05, 0.5, 0.95)[year - 2001] else "sea"
        text = " ".join(rng.choice(WORDS[topic].split(), size=10))
        month = 1 + i % 12
        season = ("spring", "fall", "autumn")[i // 20]
        day = f"{year}-{month:02}-03"
        yield {"id": i, "text": text, "year": year, "day": day, "season": season}


def evermix(*arguments, **settings):
    return CliRunner().invoke(app, ["topics", *map(str, arguments)], **settings)


def topics(*arguments):
    """Run the command and return what it wrote to standard output."""
    said = evermix(*arguments, "--overwrite", *SHORT)
    assert said.exit_code == 0, said.stderr
    return json.loads(said.stdout)


def working_directory(folder, monkeypatch):
    """Work in a folder with a small source of texts, and return the folder."""
    with (folder / "texts.jsonl").open("w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records())
    monkeypatch.chdir(folder)
    # Pictures that are made by default would take most of the time.
    monkeypatch.setattr("evermix.cli.output.topic_report.find_spec", lambda _: None)
    return folder
