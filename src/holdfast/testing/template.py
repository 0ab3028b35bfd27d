"""A process that has loaded a broker's parts, and becomes brokers by forking: their start takes a fifth of a second.

Loading is most of what a start takes. The template loads, waits on a socket, and for each broker forks a child, which
gets its own arguments, environment, stdin and stderr, and runs the command `holdfast` as any other process would. It
has one thread, so that a fork is sound, and ends when the socket is closed: with the process that started it.

Here is both sides: `Template`, which belongs to the tests, and `serve_forks`, which runs in the process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any, Final

_MESSAGE_SIZE: Final = 1 << 20
_ENTRY: Final = ("-m", "holdfast.testing.template")
_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # A fork has only the one that forks.


class ForkedProcess:
    """A child of the template, with what is needed here of `subprocess.Popen`."""

    def __init__(self, template: Template, pid: int, stdin: IO[str], stderr: IO[str]) -> None:
        self.pid = pid
        self.stdin: IO[str] | None = stdin
        self.stderr: IO[str] | None = stderr
        self.returncode: int | None = None
        self._template = template
        self._ended = os.pidfd_open(pid)  # Also of one that has ended: nobody reaps it before we ask.
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("holdfast", timeout or 0)
        return code

    def _wait(self, timeout: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
                self.returncode = self._template.reap(self.pid)
                os.close(self._ended)
            return self.returncode

    def send_signal(self, which: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, which)


class Template:
    """The process, from this side. It is started when it is asked for, and ends with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def begin(self) -> None:
        """Let it load; nobody waits for that here."""
        with self._lock:
            self._begin()

    def _begin(self) -> socket.socket:
        if self._link is None or self._process is None or self._process.poll() is not None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                for end in (ours, theirs):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _MESSAGE_SIZE)
                surroundings = {name: each for name, each in os.environ.items() if not name.startswith("HOLDFAST_")}
                self._process = subprocess.Popen(
                    [sys.executable, *_ENTRY],
                    env=surroundings | _ONE_THREAD,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            self._link = ours
        return self._link

    def start(self, arguments: Sequence[str], environment: Mapping[str, str]) -> ForkedProcess:
        """A broker. Raises OSError where none can be had in this way."""
        said = json.dumps({"arguments": [*arguments], "environment": dict(environment)}).encode()
        stdin, ours_in = os.pipe()
        ours_err, stderr = os.pipe()
        try:
            with self._lock:
                link = self._begin()
                socket.send_fds(link, [said], [stdin, stderr])
                pid = _answer(link)
        except OSError:
            os.close(ours_in)
            os.close(ours_err)
            raise
        finally:
            os.close(stdin)
            os.close(stderr)
        return ForkedProcess(self, pid, open(ours_in, "w"), open(ours_err, errors="replace"))

    def reap(self, pid: int) -> int:
        """The exit code of a child that has ended, as `subprocess` counts it."""
        try:
            with self._lock:
                link = self._begin()
                link.send(json.dumps({"reap": pid}).encode())
                return _answer(link)
        except OSError:
            return -signal.SIGKILL  # The template was killed: nobody knows any more.


def _answer(link: socket.socket) -> int:
    said = link.recv(64)
    if not said:
        raise ConnectionResetError("the template has ended")
    return int(said)


TEMPLATE: Final = Template()  # Of this process.


def serve_forks(link: socket.socket) -> None:
    """The life of the template: load, then fork for whoever asks, until nobody can any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, and for brokers.
    _load()
    gc.collect()
    gc.freeze()  # What is there now is shared by all, and never looked at again.
    while True:
        said, descriptors, _, _ = socket.recv_fds(link, _MESSAGE_SIZE, 2)
        if not said:
            return
        asked = json.loads(said)
        if "reap" in asked:
            link.send(str(os.waitstatus_to_exitcode(os.waitpid(asked["reap"], 0)[1])).encode())
            continue
        pid = os.fork()
        if pid == 0:
            link.close()
            become(asked, *descriptors)
            return
        for each in descriptors:
            os.close(each)
        link.send(str(pid).encode())


def become(asked: Mapping[str, Any], stdin: int, stderr: int) -> None:
    """Run the command, as a process of its own would."""
    for number, descriptor in enumerate((stdin, stderr)):
        os.dup2(descriptor, 2 * number)
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["holdfast", *asked["arguments"]]
    importlib.import_module("holdfast.cli.main").main()


def _load() -> None:
    """What `holdfast serve` would load."""
    for module in (
        "holdfast.cli.main",
        "holdfast.cli.serve.command",
        "holdfast.cli.serve.start",
        "holdfast.cli.serve.certificates",
        "holdfast.cli.serve.doors",
        "holdfast.cli.serve.here",
        "holdfast.cli.subscribe.port",
        "holdfast.config",
        "holdfast.broker.running",
        "holdfast.io.turns",
        "holdfast.io.disk",
        "holdfast.io.objects.open",
        "holdfast.operate.repair.finish",
    ):
        importlib.import_module(module)


if __name__ == "__main__":
    serve_forks(socket.socket(fileno=0))
