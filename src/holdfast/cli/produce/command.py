"""`holdfast produce`: lines from stdin become records.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.complete import topic_names
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, assignments
from holdfast.cli.terminal.talk import tell
from holdfast.errors import HoldfastError, Rejected
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.produce.send import RecordSender


class CodecName(StrEnum):
    """How batches are compressed."""

    none = "none"
    gzip = "gzip"
    snappy = "snappy"
    lz4 = "lz4"
    zstd = "zstd"


TopicArgument = Annotated[
    str, typer.Argument(metavar="TOPIC", help="The topic to write to.", autocompletion=topic_names)
]
SeparatorOption = Annotated[
    str | None,
    typer.Option("--key-separator", metavar="TEXT", help=r"What stands between key and value, such as : or \t."),
]
NullOption = Annotated[
    str | None,
    typer.Option(
        "--null", metavar="TEXT", help="A key or value that is this text is null: a value of null is a tombstone."
    ),
]
HeaderOption = Annotated[
    list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="A header of every record. May be repeated.")
]
PartitionOption = Annotated[
    int | None,
    typer.Option(
        "--partition",
        metavar="N",
        min=0,
        help="Where to write; without it the key decides, and batches without keys go to one after the other.",
    ),
]
CodecOption = Annotated[
    CodecName,
    typer.Option("--codec", metavar="NAME", help="How batches are compressed: none, gzip, snappy, lz4 or zstd."),
]
LinesOption = Annotated[
    int, typer.Option("--batch-lines", metavar="N", min=1, help="How many lines make a batch, at most.")
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="A line is what `consume --json` prints: key, value, headers, timestamp.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Print where each batch went: topic-N@offset.")]


def produce(
    topic: TopicArgument,
    key_separator: SeparatorOption = None,
    null: NullOption = None,
    headers: HeaderOption = None,
    partition: PartitionOption = None,
    codec: CodecOption = CodecName.none,
    batch_lines: LinesOption = 1000,
    verbose: VerboseOption = False,
    json_lines: JsonLinesOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Write lines from stdin to a topic, each as one record.

    A batch is sent when it is full, and when no line came for 50 ms. A broker that is restarted meanwhile is waited
    for, and no record is written twice. The exit code is 0 only when every record was acknowledged.

    A line of JSON is an object with a value, and perhaps a key, headers and a timestamp in milliseconds. null is a
    tombstone, {"base64": …} stands for bytes, and any other object is written as JSON. Where it was read (topic,
    partition, offset) does not count.

    \b
    Examples:
      holdfast produce orders < lines.txt
      echo 'user-7:logged in' | holdfast produce events --key-separator :
      echo 'user-7:NULL' | holdfast produce users --key-separator : --null NULL
      tail -f app.log | holdfast produce logs --header host=web-1 --codec lz4 --verbose
      echo '{"key": "user-7", "value": null}' | holdfast produce users --json
      holdfast consume orders --no-follow --json | holdfast produce copies --json
      holdfast produce orders --command-config client.properties < lines.txt
    """
    from holdfast.cli.produce.json_lines import JsonRecords
    from holdfast.cli.produce.lines import LineRecords
    from holdfast.cli.produce.send import RecordSender
    from holdfast.cli.terminal.broker import broker_at

    pairs = tuple((name, value.encode()) for name, value in assignments(headers, "--header"))
    if json_lines and (key_separator is not None or null is not None):
        raise Rejected("--json with --key-separator or --null: a line of JSON says what its key is, and what is null")
    records = JsonRecords(pairs) if json_lines else LineRecords(key_separator, pairs, null)
    sender = RecordSender(
        topic, records, partition=partition, codec=codec.value, batch_lines=batch_lines, verbose=verbose
    )
    try:
        sender.run(broker_at(bootstrap, config))
    except KeyboardInterrupt:
        pass  # The way to end it at a terminal.
    except HoldfastError:
        _say_counts(sender)
        raise
    _say_counts(sender)
    if sender.waiting:
        raise typer.Exit(1)


def _say_counts(sender: RecordSender) -> None:
    lost = f", {sender.waiting} not" if sender.waiting else ""
    tell(f"holdfast: {counted(sender.acknowledged, 'record')} acknowledged{lost}")
