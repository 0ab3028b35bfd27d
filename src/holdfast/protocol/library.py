"""The message part of kafka-python, without its clients.

`import kafka` loads a producer, a consumer and an admin client with all they need, which was a third of a broker's
start. We need the messages only, which are in `kafka.protocol`. So the package is put into place without running it,
and runs as soon as somebody asks it for a name: `from kafka import KafkaProducer` works as ever, also in this process.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

_NAME = "kafka"


def put_into_place() -> None:
    """Have the package there, but not run yet. Nothing happens where somebody has imported it already."""
    if _NAME in sys.modules:
        return
    spec = importlib.util.find_spec(_NAME)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {_NAME!r}: install kafka-python", name=_NAME)
    package = importlib.util.module_from_spec(spec)
    run = _Run(package)
    package.__getattr__ = run.attribute  # type: ignore[method-assign]
    sys.modules[_NAME] = package


class _Run:
    """Runs a package once, when a name is asked for that it does not have yet."""

    def __init__(self, package: ModuleType) -> None:
        self._package = package
        self._lock = threading.RLock()  # Another thread waits; what the package asks for while it runs does not.
        self._begun = False

    def attribute(self, name: str) -> Any:
        with self._lock:
            if not self._begun:
                self._begun = True
                spec = self._package.__spec__
                assert spec is not None
                assert spec.loader is not None
                spec.loader.exec_module(self._package)
        if name in self._package.__dict__:
            return self._package.__dict__[name]
        raise AttributeError(f"module {_NAME!r} has no attribute {name!r}")
