"""Runs a subscription and prints what comes."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.cli.consume.lines import record_facts, record_line
from holdfast.cli.consume.start import Kind, parse_start
from holdfast.cli.subscribe.progress import SubscribeProgress, progress_for
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.client import Client, SecurityOptions
from holdfast.client.settings import read_security
from holdfast.errors import HoldfastError, Rejected
from holdfast.io.address import parse_address
from holdfast.io.clock import SystemClock
from holdfast.record.records import Record
from holdfast.subscribe import NOW, Event, Filter, Subscription, subscribe
from holdfast.units import counted

_LOOK_S = 0.2
_PROBE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for on the command line."""

    addresses: tuple[str, ...]
    configs: tuple[str, ...] = ()
    topics: tuple[str, ...]
    since: str | None
    until: str | None
    cursor: str | None
    paths: tuple[str, ...]
    prefixes: tuple[str, ...]
    directories: tuple[str, ...]
    follow: bool
    max_events: int | None
    as_json: bool
    progress: str


async def run(wanted: Wanted) -> None:
    """Until the end, or until it is cancelled; what was given is told either way."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    subscription = _subscribe(wanted)
    progress = progress_for(wanted.progress, subscription.stats, SystemClock())
    showing = asyncio.ensure_future(progress.run())
    try:
        async with subscription:
            printing = asyncio.ensure_future(_print_all(subscription, wanted, progress))
            looking = asyncio.ensure_future(_look_for_others(subscription, wanted))
            try:
                await asyncio.wait([printing, looking], return_when=asyncio.FIRST_COMPLETED)
                if looking.done() and not printing.done():
                    looking.result()
                await printing
            finally:
                for each in (printing, looking):
                    each.cancel()
                await asyncio.gather(printing, looking, return_exceptions=True)
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing
        sys.stdout.flush()
        _tell_end(subscription, progress.given)


async def _look_for_others(subscription: Subscription, wanted: Wanted) -> None:
    """Ends when the first server has answered; raises if what is there is a port for others."""
    stats = subscription.stats
    while not stats.errors:
        if stats.events or stats.live:
            return
        await asyncio.sleep(_LOOK_S)
    for address in (part.strip() for each in wanted.addresses for part in each.rpartition("=")[2].split(",")):
        if await asyncio.to_thread(_speaks_kafka, address):
            raise Rejected(
                f"{address} is a port for Kafka clients: subscribers have their own, which `holdfast serve` names when "
                "it starts (subscribers at …), two above the first one unless subscribe.listen says otherwise"
            )
        if await asyncio.to_thread(_speaks_http, address):
            raise Rejected(
                f"{address} speaks HTTP, as a console and metrics do: subscribers have a port of their own, which "
                "`holdfast serve` names when it starts (subscribers at …)"
            )


def _speaks_kafka(address: str) -> bool:
    try:
        with Client(address, follow_leaders=False, timeout_s=_PROBE_S, patience_s=0) as client:
            client.connect()
    except (HoldfastError, OSError):
        return False
    return True


def _speaks_http(address: str) -> bool:
    """Subscribers' port speaks HTTP/2, and answers this with something else, or not at all."""
    where = parse_address(address)
    try:
        with socket.create_connection((where.host, where.port), _PROBE_S) as link:
            link.settimeout(_PROBE_S)
            link.sendall(f"GET / HTTP/1.1\r\nHost: {where.host}\r\n\r\n".encode())
            return link.recv(7) == b"HTTP/1."
    except OSError:
        return False


async def _print_all(subscription: Subscription, wanted: Wanted, progress: SubscribeProgress) -> None:
    async for event in subscription:
        progress.given += 1
        if wanted.as_json:
            give_json(_facts(event))
        else:
            line = record_line(event.topic, event.partition, _record(event))
            print(f"{line}\tlate" if event.late else line)
        if subscription.stats.live:
            sys.stdout.flush()
        if progress.given == wanted.max_events:
            return


def _subscribe(wanted: Wanted) -> Subscription:
    chosen = Filter(wanted.paths, wanted.prefixes, wanted.directories)
    until: Any = None if wanted.follow else NOW
    if wanted.until is not None:
        until = _time(wanted.until, "--until")
    return subscribe(
        _addresses(wanted.addresses),
        wanted.topics,
        since=None if wanted.since is None else _time(wanted.since, "--since"),
        cursor=wanted.cursor,
        until=until,
        filter=None if chosen == Filter() else chosen,
        security=_security(wanted.configs),
    )


def _time(text: str, option: str) -> int:
    with suppress(Rejected):
        start = parse_start(text, SystemClock().now_ms())
        if start.kind is Kind.TIME and text != "latest":
            return max(start.value, 0)
    raise Rejected(f"{option} {text} is none of: earliest, a time such as 2026-01-31T12:00, 90s, 2h, 7d")


def _addresses(given: tuple[str, ...]) -> str | dict[str, str]:
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    named = [each.partition("=") for each in given]
    if not all(sign for _, sign, _ in named) or len({name for name, _, _ in named}) < len(named):
        raise Rejected("several servers need names of their own: --address eu=HOST:PORT --address us=HOST:PORT")
    return {name: address for name, _, address in named}


def _security(given: tuple[str, ...]) -> SecurityOptions | dict[str, SecurityOptions]:
    """One file for all servers, or one for each name; a path may have a = in it, too."""
    if not given:
        return SecurityOptions()
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return read_security(given[0])
    named = [each.partition("=") for each in given]
    if not all(sign for _, sign, _ in named):
        raise Rejected("several files need the servers' names: --command-config eu=FILE --command-config us=FILE")
    return {name: read_security(path) for name, _, path in named}


def _record(event: Event) -> Record:
    return Record(event.key, event.value, event.timestamp, event.headers, event.offset)


def _facts(event: Event) -> dict[str, Any]:
    return {"source": event.source, **record_facts(event.topic, event.partition, _record(event)), "late": event.late}


def _tell_end(subscription: Subscription, given: int) -> None:
    stats = subscription.stats
    told = f"holdfast: {counted(given, 'event')}, {stats.late} late"
    if stats.skipped:
        told += f", {stats.skipped} skipped: deleted before they were read, or unreadable"
    if stats.errors:
        told += f", {stats.errors} errors, the last one: {stats.last_error}"
    tell(told)
    if subscription.cursor.places:
        tell(f"holdfast: go on with --cursor {subscription.cursor}")
