"""`holdfast subscribe`: tail -f for topics, in the order of their timestamps.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

import typer

from holdfast.cli.terminal.options import JsonOption

DEFAULT_ADDRESS = "127.0.0.1:9094"

TopicsArgument = Annotated[list[str], typer.Argument(metavar="TOPIC...", help="Topics, or patterns with * and ?.")]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="earliest, a time such as 2026-01-31T12:00, or how long ago: 90s, 2h, 7d. Default: now.",
    ),
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="WHEN", help="Stop before this time, or this long ago.")
]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="TEXT", help="Go on where an earlier run has stopped.")
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="PATH", help="Only keys that are this path or below it. May be repeated."),
]
PrefixOption = Annotated[
    list[str] | None,
    typer.Option("--prefix", metavar="TEXT", help="Or keys that start with this text. May be repeated."),
]
DirectoryOption = Annotated[
    list[str] | None,
    typer.Option("--directory", metavar="PATH", help="Or keys that lie directly in this path. May be repeated."),
]
FollowOption = Annotated[
    bool, typer.Option("--follow", "-f", help="Do not stop where the end is now. Implied without --since.")
]
MaxOption = Annotated[int | None, typer.Option("--max", metavar="N", min=1, help="Stop after so many events.")]
AddressOption = Annotated[
    list[str] | None,
    typer.Option(
        "--address",
        metavar="[NAME=]HOST:PORT[,…]",
        help="The subscription port of a server, or of some brokers of one cluster with commas between them; several, "
        f"with names, are merged. Default: {DEFAULT_ADDRESS}.",
    ),
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--command-config",
        metavar="[NAME=]FILE",
        help="How to reach it, as Kafka's tools take it: security.protocol, ssl.…, sasl.…; several by the same names.",
    ),
]
ProgressOption = Annotated[
    str,
    typer.Option("--progress", metavar="HOW", help="On stderr: auto (a bar, when lines go elsewhere), json or none."),
]


def subscribe(
    topics: TopicsArgument,
    since: SinceOption = None,
    until: UntilOption = None,
    cursor: CursorOption = None,
    paths: FilterOption = None,
    prefixes: PrefixOption = None,
    directories: DirectoryOption = None,
    follow: FollowOption = False,
    max_events: MaxOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = "auto",
    addresses: AddressOption = None,
    configs: ConfigOption = None,
) -> None:
    """Print the events of topics, one a line, merged in the order of their timestamps, and follow them until Ctrl-C.

    A line is time, place (topic-partition@offset), key, value and headers, with tabs between them; an event that came
    too late for its place in the order says so. At the end the cursor for --cursor is told on stderr.

    \b
    Examples:
      holdfast subscribe orders payments
      holdfast subscribe 'logs-*' --since 2h --follow
      holdfast subscribe files --since earliest --filter /home --json
      holdfast subscribe orders --address eu=10.0.0.1:9094 --address us=10.0.1.1:9094
      holdfast subscribe orders --address broker.example:9095 --command-config client.properties
    """
    from holdfast.cli.subscribe.run import Wanted, run

    wanted = Wanted(
        addresses=tuple(addresses or [DEFAULT_ADDRESS]),
        configs=tuple(configs or ()),
        topics=tuple(topics),
        since=since,
        until=until,
        cursor=cursor,
        paths=tuple(paths or ()),
        prefixes=tuple(prefixes or ()),
        directories=tuple(directories or ()),
        follow=follow or (since is None and cursor is None and until is None),
        max_events=max_events,
        as_json=as_json,
        progress=progress,
    )
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):  # The ways to end it.
        asyncio.run(run(wanted))
