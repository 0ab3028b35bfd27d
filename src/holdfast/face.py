"""The face of a package: names that can be imported from it, each loaded when it is used first."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.extras import advice


def face(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: by name, the module that has it."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(modules[name]), name)
        except ModuleNotFoundError as missing:
            if said := advice(missing):
                raise ModuleNotFoundError(f"{package}.{name}: {said}", name=missing.name) from missing
            raise

    return load
