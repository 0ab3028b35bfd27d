"""Machine code for what is done for every request and every record, from C.

`kernels` is None where it was not built: no compiler was there, or the headers of Python were not. Whoever uses it can
do the same in Python, so that nothing but time depends on it; `tests/native` holds both to the same answers. Loops over
records are compiled by numba then, if that is installed (`record.compiled`).
"""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from holdfast.native.build import is_current

VARIABLE: Final = "HOLDFAST_NATIVE"  # "off": do without all machine code; "numba": without that from C.
ADVICE: Final = (
    "install a C compiler and the headers of Python, then Holdfast anew; or pip install '.[fast]' in the checkout"
)


def _load() -> ModuleType | None:
    if os.environ.get(VARIABLE) in ("off", "numba"):
        return None
    try:
        built = importlib.import_module("holdfast.native.kernels")
    except ImportError:
        return None
    return built if is_current(built.SOURCE) else None  # Not what an earlier checkout has left behind.


kernels = _load()


def has_numba() -> bool:
    """Whether numba is what compiles the loops."""
    return kernels is None and os.environ.get(VARIABLE) != "off" and find_spec("numba") is not None
