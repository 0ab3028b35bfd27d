"""Whether a running broker is well, as its metrics say."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import Any

from holdfast.client.errors import reason_of
from holdfast.client.protection.secure import PLAINTEXT, Protection, SecurityOptions
from holdfast.client.protection.tls import failure_of, is_of_tls
from holdfast.errors import Rejected, Unavailable
from holdfast.io.address import Address, parse_address

_TIMEOUT_S = 10.0
_AWAY_S = 3.0  # A broker asks its store every second: one call that fails is not one that is away.
_OWN_PORT = "metrics have a port of their own, which `holdfast serve --metrics` names when it starts"
_FIGURES = {  # What is told besides, and as what.
    "holdfast_tail_memory_bytes": "unflushed_bytes",
    "holdfast_unflushed_seconds": "unflushed_seconds",
    "holdfast_disk_free_bytes": "disk_free_bytes",
    "holdfast_wal_disk_bytes": "wal_bytes",
    "holdfast_store_failures_total": "store_failures",
    "holdfast_store_away_seconds": "store_away_seconds",
    "holdfast_connections": "connections",
}
_COUNTS = (
    "holdfast_producers_held_back",
    "holdfast_damage_met_total",
    "holdfast_batches_mended_total",
    "holdfast_standing_by",
    "holdfast_store_waiting",
    "holdfast_store_waiting_seconds",
    "holdfast_store_waiting_partitions",
)


def ask(address: str, security: SecurityOptions = PLAINTEXT) -> dict[str, Any]:
    """What a running broker says of itself, in short."""
    return examine(_samples(_scrape(parse_address(address), security.open())))


def examine(samples: Iterable[tuple[str, dict[str, str], float]]) -> dict[str, Any]:
    """What is not well, of the samples of one scrape."""
    partitions: dict[tuple[str, int], dict[str, Any]] = {}
    counts = dict.fromkeys(_COUNTS, 0)
    asked = False
    owner: dict[str, Any] = {}
    figures: dict[str, float | None] = dict.fromkeys(_FIGURES.values())
    throttled: dict[str, int] = {}
    reasons: list[str] = []
    for name, labels, value in samples:
        if name == "holdfast_owner":
            owner["is_owner"] = value > 0
        elif name == "holdfast_owner_claim":
            owner["claim"] = int(value)
        elif name == "holdfast_writer_info":
            owner |= labels
        elif name in counts:
            counts[name] += int(value)
        elif name in _FIGURES and not isnan(value):
            figures[_FIGURES[name]] = (figures[_FIGURES[name]] or 0) + value
        elif name == "holdfast_throttled_total" and value:
            throttled[labels["quota"]] = int(value)
        elif name == "holdfast_producers_held_back_by" and value:
            reasons.append(labels["reason"])
        elif name in ("holdfast_partition_failed", "holdfast_partition_damaged"):
            where = labels["topic"], int(labels["partition"])
            row = {"topic": where[0], "partition": where[1], "state": "served", "damaged": 0}
            row = partitions.setdefault(where, row)
            if name == "holdfast_partition_damaged":
                row["damaged"] = int(value)
            elif value:
                row["state"] = "failed"
        asked = asked or name == "holdfast_info"
    if not asked:
        raise Rejected("what answers there is no broker of Holdfast, or has no metrics of one")
    unwell = [row for _, row in sorted(partitions.items()) if row["state"] == "failed" or row["damaged"]]
    held_back = counts["holdfast_producers_held_back"] > 0
    waits = counts["holdfast_store_waiting"] > 0
    is_away = (figures["store_away_seconds"] or 0.0) >= _AWAY_S
    return {
        "well": not unwell and not held_back and not waits and not is_away and owner.get("is_owner", True),
        "owner": owner or None,  # Nobody knows before the store has answered.
        "stands_by": counts["holdfast_standing_by"] > 0,
        "waits_for_store": waits,
        "waited_seconds": counts["holdfast_store_waiting_seconds"],
        "served_from_log": sorted(f"{topic}-{number}" for topic, number in partitions) if waits else [],
        "partitions": len(partitions),
        "unwell": unwell,
        "producers_held_back": held_back,
        "damage_met": counts["holdfast_damage_met_total"],
        "batches_mended": counts["holdfast_batches_mended_total"],
        "held_back_by": sorted(reasons),
        "throttled": throttled,
        **{name: None if value is None else round(value, 1) for name, value in figures.items()},
    }


def _scrape(address: Address, protection: Protection) -> str:
    import http.client  # Here: no other command needs it.

    context, said = protection.context(), protection.authorization(address.host)
    if context is None:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_TIMEOUT_S)
    else:
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=_TIMEOUT_S, context=context)
    try:
        connection.request("GET", "/metrics", headers={} if said is None else {"Authorization": said})
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException, UnicodeDecodeError) as failure:
        if context is not None and isinstance(failure, OSError) and is_of_tls(failure):
            raise failure_of(address, failure) from None
        if isinstance(failure, http.client.HTTPException | UnicodeDecodeError):
            raise Unavailable(
                f"no metrics at {address}: what listens there does not speak HTTP; {_OWN_PORT}"
            ) from failure
        raise Unavailable(
            f"no metrics at {address}: {reason_of(failure)}; was the broker started with --metrics?"
        ) from failure
    finally:
        connection.close()
    if answer.status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        raise Rejected(f"no metrics at {address}: {text.strip()}; who you are is in the file of --command-config")
    if answer.status == http.client.NOT_FOUND:
        raise Unavailable(f"no metrics at {address}: it may be the console; {_OWN_PORT}")
    if answer.status != http.client.OK:
        raise Unavailable(f"no metrics at {address}: {answer.status} {answer.reason}")
    return text


def _samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    from prometheus_client.parser import text_string_to_metric_families

    try:
        families = list(text_string_to_metric_families(text))
    except ValueError as failure:
        raise Rejected(f"what answers there are no metrics: {failure}") from failure
    return [(each.name, each.labels, each.value) for family in families for each in family.samples]
