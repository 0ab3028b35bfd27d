"""A real S3 server on this machine: versitygw over a temporary directory, for as long as a `with` block lasts."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING

from holdfast.testing import free_port

if TYPE_CHECKING:
    import pytest

BINARY = Path(__file__).parents[2] / ".tools" / "bin" / "versitygw"
_START_ATTEMPTS = 3  # Another process may take the free port before the server does.
_READY_CHECKS_MAX = 500
_CHECK_SECONDS = 0.02


def missing() -> str | None:
    """Why there is no server to start, or None."""
    if BINARY.exists():
        return None
    if shutil.which("go") is None:
        return "versitygw is not installed: Go is missing"
    return "versitygw is not installed: run .ci/install-versitygw"


class S3Server:
    """Starts on entering, stops on leaving. Buckets are folders, so making one needs no request."""

    access_key_id = "holdfast"
    secret_access_key = "holdfast-secret"
    region = "us-east-1"

    def __init__(self, *, keep_alive: bool = True) -> None:
        """Without `keep_alive` for Amazon's C++ SDK, which Arrow uses: with it some of its requests are refused."""
        self._keep_alive = keep_alive
        self._folder = TemporaryDirectory(prefix="holdfast-s3-")
        self._buckets = 0
        self.port = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """What a client needs to know, as options of `open_objects`."""
        return {
            "endpoint": self.endpoint,
            "region": self.region,
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
        }

    def fresh_bucket(self) -> str:
        """The name of a new, empty bucket."""
        self._buckets += 1
        name = f"bucket-{self._buckets}"
        (Path(self._folder.name) / name).mkdir()
        return name

    def tell(self, patch: pytest.MonkeyPatch) -> None:
        """Let whoever is started from here find it by the environment."""
        for name, value in self.options.items():
            patch.setenv(f"AWS_{name.upper()}", value)

    def __enter__(self) -> S3Server:
        for _ in range(_START_ATTEMPTS):
            self._process = self._start()
            if self._is_ready():
                return self
            self._stop()
        self._folder.cleanup()
        raise RuntimeError(f"versitygw did not start: {self._said}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._folder.cleanup()

    def _start(self) -> subprocess.Popen[bytes]:
        self.port = free_port()
        keys = ["--access", self.access_key_id, "--secret", self.secret_access_key, "--region", self.region]
        listen = ["--port", f"127.0.0.1:{self.port}", "--quiet", *(["--keep-alive"] if self._keep_alive else [])]
        return subprocess.Popen(
            [BINARY, *keys, *listen, "posix", self._folder.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def _is_ready(self) -> bool:
        for _ in range(_READY_CHECKS_MAX):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            except OSError:
                pass
            try:
                self._process.wait(_CHECK_SECONDS)
                return False
            except subprocess.TimeoutExpired:
                continue
        return False

    def _stop(self) -> None:
        self._process.terminate()
        try:
            _, said = self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, said = self._process.communicate()
        self._said = said.decode(errors="replace").strip()
