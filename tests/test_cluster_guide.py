"""The examples of the guide on clusters run as printed, in their order."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "clusters.md"


def test_every_example_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the guide writes its report
    names = {}
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.S)
    for example in examples:
        exec(compile(example, "clusters.md", "exec"), names)
    labels = names["labels"]
    assert labels[0] == labels[1] == labels[5] and labels[2] != labels[3]
    mix, c, new = names["mix"], names["c"], names["new"]
    assert mix.card(c).name == "tall" and mix.card(c).traits[0].column == "1"
    assert names["a"] in mix.cluster_ids_ and new not in mix.cluster_ids_  # the split is undone
    assert [change.what for change in mix.lineage_.hand.changes] == [
        "rename",
        "merge",
        "pin",
    ]
