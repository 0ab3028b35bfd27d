"""What is installed only by those who ask for it: `pip install 'holdfast[NAME]'`."""

from __future__ import annotations

from typing import Final

_EXTRAS: Final = {
    "confluent_kafka": "demo",
    "deltalake": "spark",
    "fastavro": "spark",
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
    return f"{package} is not installed: pip install 'holdfast[{_EXTRAS[package]}]'"
