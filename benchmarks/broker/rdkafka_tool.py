"""librdkafka's own performance tool. Built once."""

from __future__ import annotations

from pathlib import Path

from tests.support import librdkafka


def build() -> Path | str:
    """The tool, or in one sentence why there is none."""
    return librdkafka.build("examples/rdkafka_performance", ["make", "-C", "examples", "rdkafka_performance"])
