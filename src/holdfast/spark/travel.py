"""What travels to executors, so that an executor whose Python cannot read it says so in a sentence.

An object of ours is sent as bytes, and a function that opens them. The function is sent as code, since nothing of ours
may be there to be imported: then it says which Python it runs in, and what brings Holdfast there. That minor versions
of Python differ Spark says itself, also with the name of `PYSPARK_PYTHON`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

_Opener = Callable[[bytes, str], Any]


class Travelling:
    """For readers and writers: their state goes to executors."""

    def __reduce__(self) -> tuple[_Opener, tuple[bytes, str]]:
        import holdfast

        state: Any = self.__getstate__()
        return _opener(), (pickle.dumps((type(self), state)), str(holdfast.__file__))


def _opener() -> _Opener:
    def open_here(data: bytes, of_driver: str) -> Any:  # Sent as code: it may name nothing of this module.
        import pickle
        import sys

        try:
            cls, state = pickle.loads(data)
        except ImportError as missing:
            if (missing.name or "").split(".")[0] == "pyspark":
                raise
            version = ".".join(map(str, sys.version_info[:3]))
            raise ImportError(
                f"{missing.name or missing} cannot be imported by the Python of an executor, {sys.executable} "
                f"({version}); the driver has Holdfast in {of_driver}. Set PYSPARK_PYTHON to a Python that has it, or "
                "give executors what `holdfast spark pack` writes"
            ) from missing
        made = cls.__new__(cls)
        made.__dict__.update(state)
        return made

    return open_here
