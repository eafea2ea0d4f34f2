"""Do what the Dockerfile does, without a container, and see that the service works.

The wheel in dist/ is installed into a new environment that nobody may write to, and its service is
run by an ordinary user who can write to one folder only: it learns, is killed, and goes on. Run as
root, so that there is another user; otherwise the present user is taken. From the root of the
repository, after ``make wheel``, with a Python that every user may run:

    /usr/bin/python3 deploy/check.py
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
USER = 65534  # nobody
PORT = 8799
TOKEN = "a-token-for-this-check"
PATIENCE = 120.0  # seconds to wait for an answer


def call(method: str, path: str, body: Any = None, token: str = TOKEN) -> Any:
    """Return what the service answers."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{PORT}{path}"
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def entry(bin: Path, state: Path) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of the Dockerfile, for another place."""
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    (found,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    command = [part.replace("/state", str(state)) for part in json.loads(found)]
    (cache,) = re.findall(r"^ENV NUMBA_CACHE_DIR=(.*)$", text, re.MULTILINE)
    cache = cache.replace("/state", str(state))
    environment = {"PATH": f"{bin}:/usr/bin:/bin", "HOME": "/nonexistent", "EVERMIX_TOKEN": TOKEN}
    return [*command, "--port", str(PORT)], environment | {"NUMBA_CACHE_DIR": cache}


def started(command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start the service as an ordinary user, and wait until it answers."""
    user = {"user": USER, "group": USER, "extra_groups": []} if os.getuid() == 0 else {}
    process = subprocess.Popen(command, env=environment, cwd="/", **user)  # type: ignore[call-overload]
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if call("GET", "/ready")["ready"]:
                return process  # type: ignore[no-any-return]
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise SystemExit("the service did not start")


def main() -> None:
    """Install, learn, kill, go on, stop."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        bin, state = place / "venv" / "bin", place / "state"
        subprocess.run([bin / "pip", "install", "-q", f"{wheel}[serve]"], check=True)
        subprocess.run(["chmod", "-R", "a-w,a+rX", place / "venv"], check=True)
        state.mkdir()
        if os.getuid() == 0:
            os.chown(state, USER, USER)
        command, environment = entry(bin, state)
        process = started(command, environment)
        call("PUT", "/models/tickets", {"kind": "texts"})
        texts = ["invoice paid twice refund", "password reset login fails"] * 50
        rows = [{"text": text, "id": str(i)} for i, text in enumerate(texts)]
        answers = call("POST", "/models/tickets/observations", rows)["answers"]
        assert len(answers) == len(rows)
        process.kill()
        process.wait()
        process = started(command, environment)
        again = call("POST", "/models/tickets/observations", rows)["answers"]
        assert all(answer["duplicate"] for answer in again)
        process.send_signal(signal.SIGTERM)
        status = process.wait(PATIENCE)
        subprocess.run(["chmod", "-R", "u+w", place / "venv"], check=True)
        print(json.dumps({"learnt": len(rows), "after_kill": len(again), "status": status}))
        assert status == 0


if __name__ == "__main__":
    main()
