"""Firefox of the system, driven through Marionette, the port that it has itself: playwright drives only its own builds.

| length, decimal | ":" | JSON |   both ways; a command is [0, id, name, parameters], an answer [1, id, error, result].
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.broker.wire import wait_for
from tests.console.browser import SHOTS

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
START_S = 60
_PREFERENCES = {
    "marionette.port": 0,  # A free one, which is then in a file of the profile.
    "devtools.console.stdout.content": True,  # What a page says to the console comes out on stdout.
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "ui.prefersReducedMotion": 1,
}
_MISTAKES = re.compile(
    r"JavaScript error: http|console\.(error|warn): (?!\w+: )|Content-Security-Policy"
)  # Its own have a name.


class Firefox:
    """One window."""

    def __init__(self, link: socket.socket, said: Path) -> None:
        self._link = link.makefile("rwb", buffering=0)
        self._said = said
        self._number = 0
        self._read()  # It says who it is.
        self._command("WebDriver:NewSession", {})

    def open(self, url: str) -> None:
        self._command("WebDriver:Navigate", {"url": url})

    def run(self, script: str) -> Any:
        """What a function with this body returns."""
        told = self._command("WebDriver:ExecuteScript", {"script": script, "args": [], "newSandbox": True})
        return told["value"]

    def wait_for(self, selector: str) -> None:
        wait_for(lambda: bool(self.run(f"return document.querySelector({json.dumps(selector)}) !== null")))

    def keep(self, name: str) -> None:
        """A picture for the output of CI."""
        if SHOTS.name:
            SHOTS.mkdir(parents=True, exist_ok=True)
            told = self._command("WebDriver:TakeScreenshot", {"full": True, "hash": False})
            (SHOTS / f"{name}.png").write_bytes(base64.b64decode(told["value"]))

    @property
    def wrong(self) -> list[str]:
        """What pages have complained of."""
        return [line for line in self._said.read_text(errors="replace").splitlines() if _MISTAKES.match(line)]

    def _command(self, name: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        body = json.dumps([0, self._number, name, parameters]).encode()
        self._link.write(b"%d:%s" % (len(body), body))
        _, number, error, result = self._read()
        assert (number, error) == (self._number, None), error
        return result

    def _read(self) -> Any:
        size = b""
        while (digit := self._link.read(1)) != b":":
            assert digit, "Firefox has gone"
            size += digit
        body = b""
        while len(body) < int(size):
            body += self._link.read(int(size) - len(body))
        return json.loads(body)


@contextmanager
def firefox() -> Iterator[Firefox]:
    if FIREFOX is None:
        pytest.skip("there is no Firefox")
    with tempfile.TemporaryDirectory() as folder:
        profile, said = Path(folder) / "profile", Path(folder) / "said"
        profile.mkdir()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines))
        command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile), "about:blank"]
        with said.open("w") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env={"HOME": folder, "PATH": "/usr/bin:/bin"}
            )
        try:
            with socket.create_connection(("127.0.0.1", _port(profile)), timeout=START_S) as link:
                yield Firefox(link, said)
        finally:
            process.kill()
            process.wait()


def _port(profile: Path) -> int:
    """As soon as it is there."""
    told = profile / "MarionetteActivePort"
    wait_for(lambda: told.exists() and told.read_text().strip().isdecimal(), START_S)
    return int(told.read_text())
