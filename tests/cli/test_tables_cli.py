"""Tables on the command line: CSV and Parquet with words, yes/no and holes."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from helpers.commands import evermix

N = 240


def made():
    """Return columns of a table with holes, and which row is of which cluster."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, size=N)
    columns = {
        "age": np.round(rng.normal(30 + 15 * z, 2.0), 2).tolist(),
        "country": np.array(["de", "fr", "it"])[(z + (rng.random(N) < 0.1)) % 3].tolist(),
        "member": (rng.random(N) < np.array([0.1, 0.9, 0.5])[z]).tolist(),
    }
    for values in columns.values():
        for i in rng.choice(np.arange(1, N), size=N // 10, replace=False):
            values[i] = None
    for i in range(N):
        if all(values[i] is None for values in columns.values()):
            columns["age"][i] = 30.0
    return columns, z


def write(path, columns):
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
        return
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow(["" if value is None else value for value in row])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_is_fitted_and_predicted(suffix, tmp_path):
    columns, z = made()
    source, model, out = tmp_path / f"t{suffix}", tmp_path / "t.model", tmp_path / "out.jsonl"
    write(source, columns)
    evermix("fit", source, "--checkpoint", model, "--quiet")
    mix = em.load(model)
    assert sorted(mix.levels_["country"]) == ["de", "fr", "it"]
    evermix("predict", model, source, "--out", out, "--quiet")
    labels = [json.loads(line)["cluster"] for line in out.read_text().splitlines()]
    assert adjusted_mutual_info_score(z, labels) > 0.8
    np.testing.assert_array_equal(labels, mix.predict(columns))


def test_a_stream_of_a_table_resumes_as_if_it_had_not_stopped(tmp_path):
    columns, _ = made()
    columns["country"][150:] = ["at" if c == "de" else c for c in columns["country"][150:]]
    half = {name: values[:130] for name, values in columns.items()}
    whole, part = tmp_path / "whole", tmp_path / "part"
    for folder, some in ((whole, columns), (part, half)):
        folder.mkdir()
        write(folder / "t.csv", some)
        files = ["--checkpoint", folder / "c", "--out", folder / "o", "--quiet", "--batch", "50"]
        evermix("stream", folder / "t.csv", *files)
    write(part / "t.csv", columns)
    evermix("stream", part / "t.csv", "--checkpoint", part / "c", "--out", part / "o", "--resume")
    one, two = em.load(whole / "c"), em.load(part / "c")
    assert one.levels_ == two.levels_
    assert "at" in one.levels_["country"]
    np.testing.assert_array_equal(one.state_.tally.stats, two.state_.tally.stats)


def test_words_in_a_column_of_numbers_are_refused(tmp_path):
    columns, _ = made()
    source, model = tmp_path / "t.csv", tmp_path / "t.model"
    write(source, columns)
    evermix("fit", source, "--checkpoint", model, "--quiet")
    columns["age"][7] = "old"
    write(source, columns)
    result = evermix("predict", model, source, "--out", tmp_path / "o", status=1)
    assert "t.csv: line 9: expected a number in column 'age', got 'old'" in result.output
