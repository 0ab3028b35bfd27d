"""One JVM with Kafka's clients in it, driven over its standard input and output."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

TOOLS = Path(__file__).parents[2] / ".tools"
CLASS_PATH = f"{TOOLS / 'java' / 'classes'}:{TOOLS / 'java' / 'jars'}/*"
OPTIONS = (
    "-XX:TieredStopAtLevel=1",  # A test ends before the second compiler would pay.
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_PROCESS_SECONDS_MAX = 60


def missing() -> str | None:
    """Why there are no Java clients, or None."""
    for needed in ("java", "javac", "mvn"):
        if shutil.which(needed) is None:
            return f"{needed} is missing"
    if not (TOOLS / "java" / "classes.stamp").exists():
        return "the Java clients are not installed: run .ci/install-java-clients"
    return None


class JavaFailure(Exception):
    """A call threw an exception in Java: `kind` is its class, without the package."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Jvm:
    """Kafka's Java clients, connected to one broker. Calls are made one after the other.

    `jar`: of another release of the clients, which then come from there.
    """

    def __init__(self, bootstrap: str, jar: Path | None = None) -> None:
        class_path = CLASS_PATH if jar is None else f"{jar}:{CLASS_PATH}"
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed on the way out)
        self._process = subprocess.Popen(
            ["java", *OPTIONS, "-cp", class_path, "driver.Driver", bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def do(self, command: str, **arguments: Any) -> Any:
        """Run one command of the driver; bytes in the arguments travel as base64."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}, default=_text) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the JVM has ended:\n{self.said()}")
        answer = json.loads(line)
        if "error" in answer:
            raise JavaFailure(answer["error"], answer["message"])
        return answer["result"]

    def said(self) -> str:
        """All warnings and errors of the clients so far."""
        self._said.seek(0)
        return self._said.read()

    def __enter__(self) -> Jvm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # It ends with its input.
        self._said.close()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no JSON")


def run_process(main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a main function in a JVM of its own, to its end."""
    command = ["java", *OPTIONS, "-cp", CLASS_PATH, main, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=_PROCESS_SECONDS_MAX)
