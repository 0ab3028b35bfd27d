"""The doctor looks whether a broker that runs here already waits for its store."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.errors import HoldfastError
from holdfast.operate.doctor.finding import DoctorFinding, advice
from holdfast.operate.status import ask


def store_waited_for(metrics: str) -> Iterator[DoctorFinding]:
    """Nothing, unless one does: without a broker, or without a wait, there is nothing to say."""
    try:
        found = ask(metrics)
    except HoldfastError:
        return
    if found["waits_for_store"]:
        served = ", ".join(found["served_from_log"]) or "nothing"
        yield advice(
            "running broker",
            f"waits for its store for {found['waited_seconds']} s, and serves {served} from its write-ahead log",
            "bring the store back: the broker goes on by itself",
        )
