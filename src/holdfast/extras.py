"""What is installed only by those who ask for it: `pip install '.[NAME]'` in a checkout."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

_EXTRAS: Final = {
    "confluent_kafka": "demo",
    "deltalake": "spark",
    "fastavro": "avro",
    "matplotlib": "spark",
    "numba": "fast",
    "pyarrow": "arrow",
    "pyiceberg": "spark",
    "pyspark": "spark",
}


def advice(missing: ModuleNotFoundError) -> str | None:
    """How to get the package that is not there; None if no extra has it."""
    package = (missing.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return None
    return f"{package} is not installed: {how_to_get(_EXTRAS[package])}"


def how_to_get(extra: str) -> str:
    """The command. It is on no package index yet, so it names the checkout."""
    return f"pip install '.[{extra}]' in the checkout, or '/path/to/the/checkout[{extra}]' elsewhere"


def need(package: str) -> None:
    """Raises ModuleNotFoundError where a package is missing: before any work is done that would need it in the end."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
