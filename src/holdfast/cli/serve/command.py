"""`holdfast serve`: puts the parts together and runs them until a signal says stop.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.serve.end import end, is_call_left, say, tell_stopped
from holdfast.cli.serve.garbage import freeze_survivors, put_off
from holdfast.cli.serve.lines import begin_lines
from holdfast.cli.serve.memory import give_large_buffers_back
from holdfast.cli.serve.reload import Reload
from holdfast.errors import Fenced, HoldfastError, Rejected, Unavailable
from holdfast.native import ADVICE, has_numba, kernels

if TYPE_CHECKING:
    from holdfast import config
    from holdfast.broker.listeners import Listener
    from holdfast.broker.net.listener import OpenListener
    from holdfast.cli.serve.console import ConsolePort
    from holdfast.cli.serve.metrics import Metrics
    from holdfast.cli.serve.timings import Timings
    from holdfast.cluster.member import Member
    from holdfast.log.logs import Logs

log = logging.getLogger("holdfast")

_STOPS = signal.SIGTERM, signal.SIGINT
_SWITCH_S = 0.001  # How long a thread may hold the interpreter while the event loop waits for it.
_AGAIN_S = 0.5  # Before a broker joins its cluster again.
_GIVE_UP_S = 2.0  # For what is open to be closed when a start is broken off.

DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="The directory that holds everything; short for serve.data_path."),
]
ListenOption = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help="The address of the Kafka port; short for serve.listen."),
]
AdvertiseOption = Annotated[
    str | None,
    typer.Option("--advertise", metavar="HOST:PORT", help="The address clients are told; short for serve.advertise."),
]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="Where segments go, such as s3://bucket; short for serve.store."),
]
WalPlaceOption = Annotated[
    str | None,
    typer.Option("--wal-place", metavar="PLACE", help="disk, or store: then no disk is needed; short for wal.place."),
]
ClusterOption = Annotated[
    bool,
    typer.Option("--cluster", help="Share the store with other brokers; short for cluster.member and wal.place=store."),
]
TakeOverOption = Annotated[
    bool,
    typer.Option("--take-over", help="Go on with a store whose write-ahead log is lost; short for serve.take_over."),
]
MetricsOption = Annotated[
    str | None,
    typer.Option("--metrics", metavar="HOST:PORT", help="Metrics for Prometheus; short for serve.metrics_listen."),
]
ConsoleOption = Annotated[
    str | None,
    typer.Option("--console", metavar="HOST:PORT", help="The console for a browser; short for serve.console_listen."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="HOLDFAST_CONFIG",
        help="Settings in TOML, or Kafka's server.properties.",
    ),
]
LevelOption = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error; short for serve.log_level."),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--log-format", metavar="FORM", help="text or json; short for serve.log_format."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", help="Start N brokers on N cores, with ports in a row; under way."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set one setting, such as wal.spares_max=4. May be repeated."),
]


def _option_of(name: str) -> str:
    """The option that is short for a setting of `serve`."""
    return f"--{name.removesuffix('_path').removesuffix('_listen').replace('_', '-')}"


def serve(
    context: typer.Context,
    data: DataOption = None,
    listen: ListenOption = None,
    advertise: AdvertiseOption = None,
    store: StoreOption = None,
    wal_place: WalPlaceOption = None,
    cluster: ClusterOption = False,
    workers: WorkersOption = None,
    take_over: TakeOverOption = False,
    metrics: MetricsOption = None,
    console: ConsoleOption = None,
    config_file: ConfigOption = None,
    assignments: SetOption = None,
    log_level: LevelOption = None,
    log_format: FormatOption = None,
) -> None:
    """Start the broker, and stop it cleanly on SIGTERM or SIGINT.

    \b
    Examples:
      holdfast serve --data /var/lib/holdfast
      holdfast serve --listen 0.0.0.0:9092 --advertise broker.example:9092
      holdfast serve --store s3://bucket/prefix --set num.partitions=4
      holdfast serve --store s3://bucket/prefix --wal-place store
      holdfast serve --store s3://bucket/prefix --cluster --set node.id=1
      holdfast serve --data /var/lib/holdfast --workers 4
      holdfast serve --metrics 127.0.0.1:9095 --console 127.0.0.1:9096
      holdfast serve --config server.properties
      holdfast serve --config holdfast.toml --log-level debug --log-format json
    """
    put_off()
    from holdfast import config
    from holdfast.io.turns import short_turns_loop

    given = list(assignments or ())
    short = {"data_path": data, "listen": listen, "advertise": advertise, "store": store, "metrics_listen": metrics}
    short |= {"console_listen": console}
    short |= {"take_over": "true" if take_over else None, "log_level": log_level, "log_format": log_format}
    given += [f"serve.{name}={value}" for name, value in short.items() if value is not None]
    given = ["cluster.member=true", "wal.place=store", *given] if cluster else given
    given += [f"wal.place={wal_place}"] if wal_place is not None else []

    options = {f"serve.{name}": _option_of(name) for name, value in short.items() if value is not None}
    options |= {"wal.place": "--wal-place"} if wal_place is not None else {}

    def load() -> config.Settings:
        return config.load(config_file, os.environ, given, options)

    settings = load()
    begin_lines(settings.serve.log_level, settings.serve.log_format)
    if workers is not None:
        from holdfast.cli.serve.workers import serve_with

        raise typer.Exit(serve_with(workers, config_file, given, settings))
    give_large_buffers_back()
    before = set(threading.enumerate())
    try:
        with asyncio.Runner(loop_factory=short_turns_loop) as runner:
            runner.run(run(settings, load))
    except Exception as failure:
        is_left = is_call_left(before)
        if settings.serve.log_format == "json" and isinstance(failure, HoldfastError | OSError):
            log.critical("%s", failure, extra={"facts": {"event": "failed"}})
        elif is_left:
            say(failure, is_debug=bool(context.find_root().params.get("debug")))
        else:
            raise  # Said in one sentence, as every command does.
        if is_left:
            end(1)
        raise typer.Exit(1) from None
    if is_call_left(before):
        end(0)


async def run(settings: config.Settings, load: Callable[[], config.Settings]) -> None:
    """Serve until a signal says stop. One that comes before anybody was served ends the start where it is.

    `load` reads the settings once more, for SIGHUP.
    """
    stop, served, reload = stop_signal(), asyncio.Event(), Reload()
    if settings.serve.ends_with_stdin:
        stop_at_end_of(sys.stdin.fileno(), stop)
    with reload.heard(lambda: load().serve.log_level):
        life = asyncio.ensure_future(_live_on(settings, stop, served, reload))
        signalled = asyncio.ensure_future(stop.wait())
        await asyncio.wait([life, signalled], return_when=asyncio.FIRST_COMPLETED)
        signalled.cancel()
        if not life.done() and not served.is_set():
            await _give_up(life)
        await life


async def _give_up(life: asyncio.Future[None]) -> None:
    """End the process in the middle of its start. What is open is closed, within a limit."""
    life.cancel()
    await asyncio.wait([life], timeout=_GIVE_UP_S)
    log.info("stopped before anybody was served", extra={"facts": {"event": "stopped"}})
    end(0)


async def _live_on(settings: config.Settings, stop: asyncio.Event, served: asyncio.Event, reload: Reload) -> None:
    """One life; in a cluster another one after each that others have ended, or that its store has failed."""
    while True:
        try:
            return await _live(settings, stop, served, reload)
        except (Fenced, Unavailable) as over:
            if not settings.cluster.member or not served.is_set() or stop.is_set():
                raise
            log.warning("this broker joins the cluster again: %s", over, extra={"facts": {"event": "fenced"}})
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _AGAIN_S)


async def _live(settings: config.Settings, stop: asyncio.Event, served: asyncio.Event, reload: Reload) -> None:
    """All parts, from the ground up; what was opened last is closed first."""
    from holdfast.broker.running import AllSettings
    from holdfast.cli.serve.certificates import followed
    from holdfast.cli.serve.doors import Door, subscribers_door
    from holdfast.cli.serve.start import StartPlace, addresses, started
    from holdfast.cli.serve.surroundings import impatient_store, surroundings
    from holdfast.cli.serve.unguarded import unguarded
    from holdfast.cli.subscribe.port import MemberLeaders, SubscribersPlace, subscriptions
    from holdfast.cluster.served_store import keeping_served
    from holdfast.operate.data_lock import held
    from holdfast.operate.repair.finish import finish_interrupted

    freeze_survivors()
    data = Path(settings.serve.data_path)
    listeners = _listeners(settings)
    timings = _timings(settings)
    metrics = _metrics(settings, listeners, timings)
    console = _console(settings, listeners, timings)
    door = subscribers_door(settings.subscribe.listen, listeners, settings.broker)
    everything = AllSettings(
        broker=settings.broker,
        log=settings.log,
        wal=settings.wal,
        check_store=True,
        take_over=settings.serve.take_over,
        is_member=settings.cluster.member,
    )
    async with AsyncExitStack() as stack:
        stack.enter_context(held(data, "serve"))
        finish_interrupted(data)
        around = surroundings(data, settings, timings)
        stack.callback(around.calls.close)
        await stack.enter_async_context(followed(listeners, around.calls, reload))
        place = StartPlace(listeners, timings.traffic if timings else None)
        if console:
            await stack.enter_async_context(console.begun())
            place = place._replace(on_waiting=console.tell_waiting)
        over: asyncio.Future[HoldfastError] | None = None
        drain: Callable[[], Awaitable[None]] | None = None
        member: Member | None = None
        leaders: MemberLeaders | None = None
        if settings.cluster.member:
            from holdfast.broker.leading import spread_store
            from holdfast.cli.serve.cluster import Led, joined, leader_of, led, led_with_others

            store = impatient_store(settings, timings)
            are_many = settings.cluster.leaders == "many"
            if are_many:
                await spread_store(around, everything)
            joining = joined(around, store, settings.cluster, settings.broker, place)
            member = await stack.enter_async_context(joining)
            await stack.enter_async_context(keeping_served(data, around.objects.url, around.calls))
            leader: Led | None
            if are_many:
                leader = await led_with_others(stack, around, everything, place, member, settings.cluster.drain_ms)
            else:
                served.set()
                if console:
                    console.tell_standing_by(settings.broker.node_id, lambda: leader_of(member))
                leader = await led(stack, around, everything, place, member, stop, metrics)
            if leader is None:
                return
            broker, server, over, drain = leader
            if are_many:
                leaders = MemberLeaders(member, broker.context.logs.owner)
        else:
            broker, server = await started(stack, around, everything, data, place, metrics)
            await stack.enter_async_context(keeping_served(data, around.objects.url, around.calls))
        served.set()
        if metrics:
            unreachable = (lambda: member.unreachable()) if member is not None else tuple
            await stack.enter_async_context(metrics.served(broker, server, unreachable))
        if console:
            brokers = member.seen if member is not None else tuple
            await stack.enter_async_context(console.served(broker, server, around, data, brokers))
        url, here = around.objects.url, addresses(listeners)
        facts = {"event": "serving", "data": str(data), "store": url, "listen": here}
        facts |= {"cluster": broker.context.cluster_id}
        log.info("serving %s with segments in %s, Kafka clients at %s", data, url, here, extra={"facts": facts})
        opens = door if isinstance(door, Door) else None
        for sentence in unguarded(_wanted_listeners(settings), settings.broker, opens):
            log.warning("%s", sentence, extra={"facts": {"event": "unguarded"}})
        if isinstance(door, Door):
            asked = _wanted_listeners(settings)[0].address
            counts = timings.subscriptions if timings else None
            beside = SubscribersPlace(settings.subscribe, door, asked, counts, leaders)
            await stack.enter_async_context(subscriptions(beside, broker.context, around, server))
        else:
            if leaders is not None:
                leaders.tell("")  # So that nobody waits for it.
            if door.why:
                log.info("%s", door.why)
        if kernels is None and not has_numba():
            log.info("records are looked at in Python, at a fifth of the speed: %s", ADVICE)
        freeze_survivors()
        sys.setswitchinterval(_SWITCH_S)
        logs = broker.context.logs
        failure = await _stopped(stop, logs, over)
        log.info("stopping", extra={"facts": {"event": "stopping"}})
        if failure is None and drain is not None:
            await drain()
        partitions = [each for topic in broker.context.topics.all() for each in topic.logs]
    failure = failure or logs.own_failure
    if failure is not None:
        raise failure  # It had stopped by itself, or its log failed on the way out: not a clean stop.
    tell_stopped(partitions)


def _listeners(settings: config.Settings) -> list[OpenListener]:
    from holdfast.broker.net.listener import open_listeners

    setting = "listeners" if settings.broker.listeners else "--listen HOST:PORT (serve.listen)"
    if "MAKELEVEL" in os.environ:  # Whoever typed `make run` gave none of these.
        setting += ", or with make run DATA=./another LISTEN=HOST:PORT CONSOLE=HOST:PORT"
    return open_listeners(_wanted_listeners(settings), settings.broker.words_of, f"choose another with {setting}")


def _wanted_listeners(settings: config.Settings) -> Sequence[Listener]:
    """Those that are set, or the one of the short form."""
    from holdfast.broker.listeners import EVERYWHERE, Listener
    from holdfast.io.address import parse_address
    from holdfast.security.protocol import SecurityProtocol

    serve = settings.serve
    if not settings.broker.listeners:
        address, told = parse_address(serve.listen), parse_address(serve.advertise) if serve.advertise else None
        if (told or address).host in EVERYWHERE:
            raise Rejected(
                f"clients cannot be told {(told or address).host}: say where they reach this broker, "
                f"as --advertise {socket.gethostname()}:{address.port} (serve.advertise)"
            )
        plain = SecurityProtocol.PLAINTEXT
        return [Listener(plain.value, plain, address, told)]
    return settings.broker.parsed_listeners()


def _timings(settings: config.Settings) -> Timings | None:
    serve = settings.serve
    if not serve.metrics_listen and not serve.console_listen:
        return None
    from holdfast.cli.serve.timings import Timings

    return Timings(keeps_rounds=bool(serve.console_listen))


def _metrics(settings: config.Settings, listeners: Sequence[OpenListener], timings: Timings | None) -> Metrics | None:
    listen = settings.serve.metrics_listen
    if not listen or timings is None:
        return None
    from holdfast.cli.serve.doors import metrics_door
    from holdfast.cli.serve.metrics import Metrics

    return Metrics(metrics_door(listen, listeners, settings.broker), timings)


def _console(
    settings: config.Settings, listeners: Sequence[OpenListener], timings: Timings | None
) -> ConsolePort | None:
    listen, wanted = settings.serve.console_listen, settings.console
    if not listen or timings is None:
        return None
    from holdfast.cli.serve.console import ConsolePort
    from holdfast.cli.serve.doors import console_door

    door = console_door(listen, listeners, settings.broker, allow_anonymous=wanted.allow_anonymous)
    return ConsolePort(door, wanted, settings.log, timings)


async def _stopped(stop: asyncio.Event, logs: Logs, over: asyncio.Future[HoldfastError] | None) -> Exception | None:
    """Wait for a signal, or for the logs to fail, or for the end of our life: then nothing can be served any more."""
    signalled = asyncio.ensure_future(stop.wait())
    failed = asyncio.ensure_future(logs.failed())
    ends: list[asyncio.Future[Any]] = [signalled, failed, *([] if over is None else [over])]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if over is not None and over.done():
        failed.cancel()
        return over.result()
    if failed.done():
        return failed.result()
    failed.cancel()
    return None


def stop_at_end_of(pipe: int, stop: asyncio.Event) -> None:
    """Stop as by a signal when whoever holds the other end of stdin is gone."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(pipe, 4096):
            loop.remove_reader(pipe)
            log.info("stdin was closed", extra={"facts": {"event": "stdin_closed"}})
            stop.set()

    try:
        loop.add_reader(pipe, read)
    except PermissionError:
        raise Rejected("serve.ends_with_stdin is set, but stdin is no pipe") from None


def stop_signal() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; a second one, of either kind, ends the process at once."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def first() -> None:
        for which in _STOPS:
            loop.remove_signal_handler(which)
            signal.signal(which, signal.SIG_DFL)  # Python's own answer to SIGINT waits for every call under way.
        stop.set()

    for which in _STOPS:
        loop.add_signal_handler(which, first)
    return stop
