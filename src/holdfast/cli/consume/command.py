"""`holdfast consume`: read a topic, and follow it.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from holdfast.cli.terminal.complete import group_names, topic_names
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, JsonOption
from holdfast.cli.terminal.talk import tell
from holdfast.units import counted

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.", autocompletion=topic_names)]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="WHERE",
        help="earliest, latest, an offset, -N for the last N of each partition, a time such as 2026-01-31T12:00, "
        "or how long ago: 90s, 2h, 7d. Default: latest, or earliest with --no-follow or --until.",
    ),
]
PartitionOption = Annotated[
    list[int] | None, typer.Option("--partition", metavar="N", help="Only this partition. May be repeated.")
]
MaxOption = Annotated[int | None, typer.Option("--max", metavar="N", min=1, help="Stop after so many records.")]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="WHERE", help="Stop before this, written as for --from: a time, an offset, latest."
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="GROUP",
        help="Go on where this group stands, or at --from where it has read nothing yet, and commit what was printed.",
        autocompletion=group_names,
    ),
]
ValuesOption = Annotated[bool, typer.Option("--values", help="Print only values, as they are.")]
KeysOption = Annotated[bool, typer.Option("--keys", help="Print only keys; with --values both, with a tab between.")]
PathOption = Annotated[
    str,
    typer.Option("--json-path", metavar="PATH", help="Print what stands there in a JSON value: customer.id, items[0]."),
]
NoFollowOption = Annotated[bool, typer.Option("--no-follow", help="Stop where the end is now.")]
CommittedOption = Annotated[bool, typer.Option("--committed", help="Only records of transactions that committed.")]


def consume(
    topic: TopicArgument,
    start: FromOption = None,
    partitions: PartitionOption = None,
    max_records: MaxOption = None,
    no_follow: NoFollowOption = False,
    committed: CommittedOption = False,
    until: UntilOption = None,
    group: GroupOption = None,
    values: ValuesOption = False,
    keys: KeysOption = False,
    json_path: PathOption = "",
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Print the records of a topic, one a line, and follow it until Ctrl-C.

    A line is time, place (topic-partition@offset), key, value and headers, with tabs between them. What a terminal
    cannot show safely is escaped, and bytes that are no text are written as 0x…; JSON has those in base64. --values
    and --keys escape nothing. With --json-path, records that have nothing there are left out.

    With --group nobody joins the group: its other members must be stopped, or they would read the same.

    \b
    Examples:
      holdfast consume orders
      holdfast consume orders --from earliest --no-follow --json
      holdfast consume orders --from -10 --max 10
      holdfast consume orders --from 2h --partition 3 --committed
      holdfast consume orders --from 2026-01-31T12:00:00Z --until 2026-01-31T13:00:00Z
      holdfast consume orders --group billing --max 100
      holdfast consume orders --no-follow --json-path customer.id
      holdfast consume orders --bootstrap broker.example:9093 --command-config client.properties
    """
    from holdfast.cli.consume.follow import TopicFollower
    from holdfast.cli.consume.shape import RecordShape
    from holdfast.cli.consume.start import parse_start
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.io.clock import SystemClock

    shape = RecordShape(as_json, keys, values, json_path)
    shape.check()
    now_ms = SystemClock().now_ms()
    stops = no_follow or until is not None
    follower = TopicFollower(
        topic,
        partitions,
        parse_start(start or ("earliest" if stops else "latest"), now_ms),
        shape,
        until=parse_start(until or "latest", now_ms, "--until") if stops else None,
        committed=committed,
        max_records=max_records,
        group=group,
    )
    with contextlib.suppress(KeyboardInterrupt):  # The way to end it.
        follower.run(broker_at(bootstrap, config))
    tell(f"holdfast: {counted(follower.given, 'record')}")
