"""Runs that are killed in an operation on their files, a full disk, and folders of others."""

import os
import shutil
import subprocess

import pytest

from helpers.variants import slow_but
from tests.attacks import kills

FILES = kills.FILES


@pytest.fixture(scope="module")
def whole(children, tmp_path_factory):
    return kills.Whole(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("command", slow_but(["stream"], kills.COMMANDS))
def test_kills_in_operations_on_files_lose_and_double_nothing(whole, tmp_path, command):
    most = whole.operations[command]
    for number, moments in enumerate(([most // 3], [2 * most // 3, most // 4])):
        whole.check(command, tmp_path / str(number), moments)


@pytest.fixture
def small_disk(tmp_path):
    """A file system with little room."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a file system")
    # the pipe is closed, and the file system goes, also when these tests are killed
    unmount = ["sh", "-c", 'read _; umount -l "$0"', str(place)]
    waiting = subprocess.Popen(unmount, stdin=subprocess.PIPE, start_new_session=True)
    yield place
    waiting.communicate()
    assert waiting.returncode == 0


@pytest.mark.parametrize("command", slow_but(["topics"], kills.COMMANDS))
def test_a_full_disk_costs_nothing_that_was_saved(whole, children, small_disk, command):
    """The command ends with an error, and goes on when there is room again."""
    arguments = whole.arguments[command]
    saved = whole.places[command]
    room = sum((saved / name).stat().st_size for name in ("model.evermix", "trace.jsonl"))
    (small_disk / "ballast").write_bytes(b"x" * max(300_000 - room - 8192, 0))
    status = children.run(small_disk, *arguments)
    assert status == 1, "there was room enough"
    said = (small_disk / "stderr").read_text()
    assert "Traceback" not in said
    (small_disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    assert children.run(small_disk, *arguments, "--resume") == 0
    kills.compare(saved, small_disk)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="becomes an ordinary user")
@pytest.mark.parametrize("command", kills.COMMANDS)
def test_a_folder_that_cannot_be_written_is_reported_at_once(whole, children, tmp_path, command):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    place = tmp_path / "ours"
    place.mkdir()
    for name in ("stdout", "stderr"):
        (place / name).touch()
    source = tmp_path / "texts.jsonl"
    shutil.copy(whole.arguments[command][1], source)
    arguments = [command, str(source), *whole.arguments[command][2:]]
    assert children.run(place, *arguments, user=65534) == 1
    said = (place / "stderr").read_text()
    assert "Permission denied" in said and len(said.splitlines()) == 1
    assert {path.name for path in place.iterdir()} == {"stdout", "stderr"}
