"""tools/speed.py on two made-up packages, one of which does more when it is imported."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "speed.py"


def checkout(root, code):
    package = root / "src" / "evermix"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(code)
    return str(root)


def test_a_slower_import_is_seen(tmp_path):
    quick = checkout(tmp_path / "quick", "sum(range(10_000))")
    slow = checkout(tmp_path / "slow", "sum(range(3_000_000))")
    options = ["--only", "import", "--repeats", "2", "--pairs", "1"]
    command = [sys.executable, str(SCRIPT), quick, slow, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["import"]
    assert found["new / old"] > 2
    assert found["seconds"]["new"] > found["seconds"]["old"]
    assert found["same result"]


def test_unknown_work_is_refused(tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(tmp_path), "--only", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "['nothing'] not among adf_pass" in done.stderr
