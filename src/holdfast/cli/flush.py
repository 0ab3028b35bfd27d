"""`holdfast flush`: everything that a topic has acknowledged goes into the store now.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal.complete import topic_names
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption
from holdfast.cli.terminal.talk import tell

TopicsArgument = Annotated[
    list[str], typer.Argument(metavar="TOPIC…", help="The topics to flush.", autocompletion=topic_names)
]


def flush(topics: TopicsArgument, bootstrap: BootstrapOption = None, config: CommandConfigOption = None) -> None:
    """Write what topics have acknowledged into their segments now, so that whoever reads the store sees it.

    Without it that happens when there is enough, or after five minutes (log.flush_age_ms_max). Small segments cost more
    to read: this is for whoever needs the last records in Spark or in an archive now.

    Where many brokers lead, each is asked for its own partitions; one that moves meanwhile is asked for where it goes.

    \b
    Examples:
      holdfast flush orders
      holdfast flush orders payments --bootstrap broker.example:9092
    """
    from holdfast.cli.terminal.broker import broker_at, staying

    with staying(broker_at(bootstrap, config)) as client:
        for each in topics:
            client.flush_topic(each)
            tell(f"holdfast: {each}: everything that was acknowledged is in the store")
