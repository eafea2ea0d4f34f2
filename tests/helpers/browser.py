"""A real Chromium without a window, driven through its DevTools protocol over a pipe."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0  # seconds for an answer
# The browser reads commands from descriptor 3 and writes answers to descriptor 4.
LAUNCH = """if True:
    import fcntl, os, sys
    ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
    for place, end in enumerate(ends, 3):
        os.dup2(end, place)
    os.execvp(sys.argv[3], sys.argv[3:])
"""


def chromium():
    """Return the path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab; use it in a ``with`` block.

    ``errors`` collects what the page logs as errors or warnings, exceptions, and requests to
    other places than its own.
    """

    def __init__(self, **environment):
        self._environment, self._origin = {**os.environ, **environment}, "file:"

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (to_read, self._out), (self._in, to_write) = os.pipe(), os.pipe()
        command = [
            *(chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *(
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                f"--user-data-dir={self._folder.name}",
            ),
            *("--disable-background-networking", "--remote-debugging-pipe", "about:blank"),
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        ends = to_read, to_write
        launch = [sys.executable, "-c", LAUNCH, *map(str, ends), *command]
        self._process = subprocess.Popen(launch, pass_fds=ends, env=self._environment, **quiet)
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session, self.errors = 0, b"", None, []
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        os.close(self._out)  # which ends the browser
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._folder.cleanup()

    def call(self, method, **parameters):
        """Send a command and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path, width=1200, height=900, scheme="light"):
        """Open a file, or a page by its URL, and wait until it is drawn."""
        mobile = width < 600
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.errors.clear()
        served = str(path).startswith("http")
        url = path if served else Path(path).resolve().as_uri()
        self._origin = "/".join(url.split("/")[:3]) + "/" if served else "file:"
        self.call("Page.navigate", url=url)
        # A page may add what it shows, after a #, before it is complete.
        there = f"location.href.startsWith({json.dumps(url)})"
        ready = f"document.readyState === 'complete' && {there}"
        self.wait_for(ready)
        frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.run(frames)

    def wait_for(self, condition):
        """Wait until an expression of the page is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < deadline, f"the page never came to {condition}"
            time.sleep(0.02)

    def run(self, script):
        """Return the value of an expression of the page."""
        settings = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        answer = self.call("Runtime.evaluate", expression=script, **settings)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, text=None):
        """Press a key, or type a text."""
        if text is not None:
            self.call("Input.insertText", text=text)
            return
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "/": 191}
        shared = {"key": key, "windowsVirtualKeyCode": codes[key]}
        typed = {"Enter": "\r", "/": "/"}.get(key)
        down = {"type": "keyDown", "text": typed} if typed else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **down, **shared)
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def picture(self, path, whole=True):
        """Write a picture of the page to a PNG file."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _message(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("the browser does not answer.")
            if not (some := os.read(self._in, 1 << 20)):
                raise ConnectionError("the browser has ended.")
            self._rest += some
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        about = event.get("params", {})
        method = event.get("method")
        if method == "Runtime.exceptionThrown":
            self.errors.append(about["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.errors.append(about["args"])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"])
        elif method == "Network.requestWillBeSent":
            url = about["request"]["url"]
            if not url.startswith((self._origin, "about:")):
                self.errors.append(url)
