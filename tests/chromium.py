"""A headless Chromium for tests, driven through the DevTools protocol over a pipe: no port, no dependency."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pytest

PROGRAM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    PROGRAM is None,
    reason="no Chromium is installed (Debian: apt install chromium), so the page is not tried in a browser",
)
PATIENCE: Final = 60.0
"""Seconds until a test gives up; long enough anywhere."""

# The browser reads commands from descriptor 3 and answers on 4.
_START: Final = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_OPTIONS: Final = (
    "--headless=new",
    "--no-sandbox",  # tests run in containers, as root, and load nothing but our page
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "about:blank",
)


class Chromium:
    """One browser with one page, until the `with` ends. profile: an empty directory."""

    def __init__(self, profile: Path) -> None:
        if PROGRAM is None:
            raise RuntimeError("no Chromium is installed")
        (read, self._write), (self._read, write) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (read, write)]
        command = [sys.executable, "-c", _START, *map(str, theirs), PROGRAM, f"--user-data-dir={profile}", *_OPTIONS]
        self._process = subprocess.Popen(
            command, pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for each in (read, write, *theirs):
            os.close(each)
        self._number, self._session, self._left = 0, "", b""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self("Page.enable")

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self._session = ""
            self("Browser.close")
        for each in (self._write, self._read):
            os.close(each)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol, and its answer. Of events in between what the page complains of, and what it asks
        for, is kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            said = self._receive()
            if said.get("id") == self._number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                result: dict[str, Any] = said["result"]
                return result
            self._heard(said)

    def _heard(self, said: dict[str, Any]) -> None:
        about: dict[str, Any] = said.get("params", {})
        match said.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(about["exceptionDetails"]))
            case "Log.entryAdded" if about["entry"]["level"] in ("error", "warning"):
                self.complaints.append(about["entry"]["text"])
            case "Runtime.consoleAPICalled" if about["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(about["args"]))

    def listen(self) -> None:
        """From here on `complaints` holds what the console shows, and `requests` every address that is asked for."""
        for domain in ("Network", "Runtime", "Log"):
            self(f"{domain}.enable")
        self.complaints, self.requests = [], []

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise RuntimeError("Chromium does not answer")
            more = os.read(self._read, 1 << 16)
            if not more:
                raise RuntimeError(f"Chromium has ended, with code {self._process.wait()}")
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        said: dict[str, Any] = json.loads(message)
        return said

    def window(self, width: int, height: int = 900, dark: bool = False) -> None:
        """The size of the window, in CSS pixels, and what the person prefers."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Load a page."""
        self._replace("Page.navigate", url=url)

    def reload(self) -> None:
        """Load this page again."""
        self._replace("Page.reload")

    def _replace(self, method: str, **params: Any) -> None:
        """For a moment the document before would pass for the one that is loaded: it is marked."""
        self.evaluate("window.stale = true")
        self(method, **params)
        self.wait("!window.stale && document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        said = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise RuntimeError(str(said["exceptionDetails"]))
        return said["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression is true."""
        give_up = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(RuntimeError):  # between two pages there is no context to ask in
                if self.evaluate(expression):
                    return
            assert time.monotonic() < give_up, f"it never came true: {expression}"
            time.sleep(0.05)

    def click(self, selector: str, times: int = 1) -> None:
        """Press the mouse on an element, as often as said, as fast as possible."""
        where = self.evaluate(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
            " found.scrollIntoView({block: 'center'}); const box = found.getBoundingClientRect();"
            " return {x: box.x + box.width / 2, y: box.y + box.height / 2}; })()"
        )
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self("Input.dispatchMouseEvent", type=kind, button="left", clickCount=count, **where)

    def type(self, selector: str, text: str) -> None:
        """Focus a field, and type."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """One key, such as Tab."""
        code = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}[key]
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        for kind in ("keyDown", "keyUp"):
            self(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def screenshot(self, file: Path) -> None:
        """The whole page, as PNG."""
        taken = self("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self) -> bytes:
        """The page, printed."""
        printed = self("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        return base64.b64decode(printed["data"])

    def axe(self, within: str = "document") -> list[tuple[str, list[Any]]]:
        """What axe finds against WCAG 2.1 A and AA: each rule, and the first places, with what is wrong there. within: what is
        looked at, as JavaScript."""
        self.evaluate((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
        rules = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}"
        found: list[dict[str, Any]] = self.evaluate(f"axe.run({within}, {rules}).then((found) => found.violations)")
        return [
            (each["id"], [(node["target"], node["failureSummary"]) for node in each["nodes"]][:3]) for each in found
        ]
