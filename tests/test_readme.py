"""The README's Python examples run as printed, in their order."""

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def examples():
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)


def test_every_example_runs(examples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert names["mix"].n_clusters_ >= 4


def test_the_printed_labels_are_right(examples):
    (example,) = (e for e in examples if "# array(" in e)
    printed = re.search(r"# array\((\[.*\])\)", example)[1]
    names = {}
    exec("import evermix as em\n" + example, names)
    labels = names["em"].Mixture().fit_predict(names["counts"])
    np.testing.assert_array_equal(labels, np.array(eval(printed)))
