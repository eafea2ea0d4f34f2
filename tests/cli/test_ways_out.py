"""Errors that newcomers meet name what to do instead."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import evermix as em
from evermix.cli.app import app


def fails(*arguments):
    result = CliRunner().invoke(app, [str(word) for word in arguments])
    assert result.exit_code == 1
    return result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savetxt("rows.csv", rng.normal(size=(50, 2)), delimiter=",", header="a,b", comments="")
    words = np.array(["paper", "printer", "jam", "password", "reset", "link"])
    lines = (f'{{"text": "{" ".join(rng.choice(words, 3))}"}}\n' for _ in range(30))
    (tmp_path / "texts.jsonl").write_text("".join(lines))
    return tmp_path


@pytest.mark.parametrize("estimator", [em.Mixture, em.TopicModel, em.DependentMixture])
@pytest.mark.parametrize("name", ["n_clusters", "n_components", "k"])
def test_a_number_of_clusters_is_learnt(estimator, name):
    with pytest.raises(TypeError, match=f"has no parameter '{name}': it learns the number") as said:
        estimator(**{name: 4})
    assert ("coarse(4)" in str(said.value)) == hasattr(estimator, "coarse")
    assert ("max_clusters=4" in str(said.value)) == (estimator is em.Mixture)
    with pytest.raises(TypeError, match="unexpected keyword argument 'famly'"):
        estimator(famly=1)
    assert list(inspect.signature(estimator).parameters) == sorted(
        estimator().get_params(deep=False), key=list(inspect.signature(estimator).parameters).index
    )
    clone(estimator())


def test_files_of_the_wrong_kind_name_what_reads_them(folder):
    run = CliRunner().invoke(app, ["fit", "rows.csv"])
    assert run.exit_code == 0
    said = fails("explain", "rows.evermix", "7")
    assert "7: there is no such file" in said and "evermix explain rows.evermix rows.csv" in said
    assert "lists the ids: 0" in fails("edit", "rows.evermix", "rename", 99, "x")
    with pytest.raises(ValueError, match="there is no cluster 99; the ids are in cluster_ids_: 0"):
        em.load("rows.evermix").card(99)
    topics = ["topics", "texts.jsonl", "--prior", "hdp", "--burn-in", "2", "--draws", "2"]
    assert CliRunner().invoke(app, topics).exit_code == 0
    for command in (["explain", "texts.evermix", "texts.jsonl"], ["edit", "texts.evermix", "undo"]):
        assert "`evermix info`, `predict` and `report` read topic models" in fails(*command)
    (folder / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    said = fails("fit", "sheet.xlsx")
    assert "Save it as CSV" in said and "pandas.read_excel(" in said
