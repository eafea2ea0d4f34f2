"""Small versions of the attacks on a service."""

import os
import shutil

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
if os.name != "posix":
    pytest.skip("needs POSIX signals", allow_module_level=True)

from tests.attacks import requests, schema, service


def test_kills_under_load_lose_and_double_nothing(tmp_path):
    found = service.attack(tmp_path, kills=2, seed=0)
    assert found["lost"] == found["doubled"] == 0


def test_hostile_requests_change_nothing(tmp_path):
    found = requests.attack(tmp_path / "hostile", count=150, seed=2, slow_bodies=1)
    assert not {"200", "201", "500", "503"} & found["statuses"].keys()


@pytest.mark.slow
def test_what_is_made_from_the_description_is_answered_as_it_says(tmp_path):
    tool = shutil.which("schemathesis")
    if tool is None:
        pytest.skip("needs schemathesis")
    assert schema.attack(tmp_path, tool, ["--max-examples", "5", "--seed", "0"])["wrong"] == 0
