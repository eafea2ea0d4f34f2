"""The README's examples, and those of the command line, run as printed and in their order."""

import glob
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from helpers.commands import evermix, write_tickets

README = Path(__file__).parents[1] / "README.md"
COMMANDS = README.parent / "docs" / "guides" / "command_line.md"


@pytest.fixture(scope="module")
def examples():
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)


def test_every_example_runs(examples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert names["mix"].n_clusters_ >= 4


def test_it_is_short():
    assert len(README.read_text(encoding="utf-8").split()) < 950  # tables and code included


def test_the_printed_labels_are_right(examples):
    (example,) = (e for e in examples if "# array(" in e)
    printed = re.search(r"# array\((\[.*\])\)", example)[1]
    names = {}
    exec("import evermix as em\n" + example, names)
    counts = names["CountVectorizer"]().fit_transform(names["texts"])
    labels = names["em"].Mixture().fit_predict(counts)
    np.testing.assert_array_equal(labels, np.array(eval(printed)))


def test_the_command_lines_run_one_after_another(tmp_path, monkeypatch):
    """And those that write nothing to a file, twice; but with few sweeps, and without a cluster."""
    monkeypatch.chdir(tmp_path)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (block,) = re.findall(r"```\n(evermix stream tickets.*?)```", COMMANDS.read_text(), flags=re.S)
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    assert len(commands) == 13
    write_tickets("tickets.jsonl", 150)
    with (tmp_path / "tickets.jsonl").open() as file:
        records = [json.loads(line) for line in file]
    for name, more in (("tickets", "created"), ("abstracts", "year"), ("new", "x")):
        with (tmp_path / f"{name}.jsonl").open("w") as file:
            for i, record in enumerate(records):
                value = f"2024-01-{1 + i // 10:02}" if more == "created" else 2000 + i // 50
                file.write(json.dumps(record | {more: value}) + "\n")
    (tmp_path / "parts").mkdir()
    rng = np.random.default_rng(0)
    for i in range(2):
        table = arrow.table({"x": rng.normal(size=60), "y": rng.normal(size=60)})
        parquet.write_table(table, tmp_path / "parts" / f"{i}.parquet")
    for command in [*commands, commands[0], *commands[-5:-1]]:
        command = command.replace("--dask local", "--laps 3")
        command = command.replace("--prior hmngg", "--prior hmngg --burn-in 5 --draws 5")
        _, *words = shlex.split(command.partition("|")[0])
        found = [sorted(glob.glob(word, root_dir=tmp_path)) or [word] for word in words]
        evermix(*(word for some in found for word in some))
