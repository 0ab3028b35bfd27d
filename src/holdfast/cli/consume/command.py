"""`holdfast consume`: read a topic, and follow it.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, JsonOption
from holdfast.cli.terminal.talk import tell

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="WHERE",
        help="earliest, latest, an offset, -N for the last N of each partition, a time such as 2026-01-31T12:00, "
        "or how long ago: 90s, 2h, 7d. Default: latest, or earliest with --no-follow.",
    ),
]
PartitionOption = Annotated[
    list[int] | None, typer.Option("--partition", metavar="N", help="Only this partition. May be repeated.")
]
MaxOption = Annotated[int | None, typer.Option("--max", metavar="N", min=1, help="Stop after so many records.")]
NoFollowOption = Annotated[bool, typer.Option("--no-follow", help="Stop where the end is now.")]
CommittedOption = Annotated[bool, typer.Option("--committed", help="Only records of transactions that committed.")]


def consume(
    topic: TopicArgument,
    start: FromOption = None,
    partitions: PartitionOption = None,
    max_records: MaxOption = None,
    no_follow: NoFollowOption = False,
    committed: CommittedOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Print the records of a topic, one a line, and follow it until Ctrl-C.

    A line is time, place (topic-partition@offset), key, value and headers, with tabs between them. What a terminal
    cannot show safely is escaped, and bytes that are no text are written as 0x…; JSON has those in base64.

    \b
    Examples:
      holdfast consume orders
      holdfast consume orders --from earliest --no-follow --json
      holdfast consume orders --from -10 --max 10
      holdfast consume orders --from 2h --partition 3 --committed
      holdfast consume orders --from 2026-01-31T12:00:00Z
      holdfast consume orders --bootstrap broker.example:9093 --command-config client.properties
    """
    from holdfast.cli.consume.follow import Follower
    from holdfast.cli.consume.start import parse_start
    from holdfast.cli.terminal.broker import broker_at
    from holdfast.io.clock import SystemClock

    where = parse_start(start or ("earliest" if no_follow else "latest"), SystemClock().now_ms())
    follower = Follower(topic, partitions, where, follow=not no_follow, committed=committed, max_records=max_records)
    with contextlib.suppress(KeyboardInterrupt):  # The way to end it.
        follower.run(broker_at(bootstrap, config), as_json=as_json)
    tell(f"holdfast: {follower.given} records")
