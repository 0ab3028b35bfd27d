"""`holdfast sync`: keeps the topics of two clusters equal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.terminal.options import JsonOption
from holdfast.cli.terminal.stopping import stop_on_signals

FirstArgument = Annotated[str, typer.Argument(metavar="A", help="A cluster: HOST:PORT of a Kafka port.")]
SecondArgument = Annotated[str, typer.Argument(metavar="B", help="The cluster that A's records go to.")]
FirstConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config-a", metavar="FILE", help="How to reach A, as Kafka's tools take it: security.protocol, ssl.…, sasl.…"
    ),
]
SecondConfigOption = Annotated[
    Path | None, typer.Option("--config-b", metavar="FILE", help="How to reach B, in the same form.")
]
BothOption = Annotated[bool, typer.Option("--both", help="Also from B to A.")]
TopicsOption = Annotated[
    list[str] | None,
    typer.Option("--topics", metavar="PATTERN", help="Only these topics, with * and ?. May be repeated."),
]
OnceOption = Annotated[bool, typer.Option("--once", help="Copy what is there now, and stop.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be copied, and change nothing.")]
WinsOption = Annotated[
    bool,
    typer.Option("--last-writer-wins", help="On compacted topics both ways: of two writes of a key the later stays."),
]
OwnOption = Annotated[bool, typer.Option("--own-only", help="Leave out what a cluster itself has from elsewhere.")]
AsideOption = Annotated[
    str | None,
    typer.Option(
        "--set-aside",
        metavar="TOPIC",
        help="Write records that B refuses to this topic there, and go on. Without it their partition waits.",
    ),
]
ConfigsOption = Annotated[bool, typer.Option("--configs/--no-configs", help="Carry changes of topic configs.")]
AclsOption = Annotated[bool, typer.Option("--acls", help="Carry changes of rules (ACLs) that name a topic.")]
GroupsOption = Annotated[bool, typer.Option("--groups/--no-groups", help="Translate offsets of consumer groups.")]
SaveOption = Annotated[float, typer.Option("--save-interval", metavar="SECONDS", help="Between two checkpoints.")]
WorkersOption = Annotated[int, typer.Option("--workers", metavar="COUNT", help="Threads for each direction.")]
GiveUpOption = Annotated[
    float | None,
    typer.Option(
        "--give-up",
        metavar="SECONDS",
        help="Fail after so long without progress, also at the start. With --once: 60, and 5 at the start.",
    ),
]
MetricsOption = Annotated[
    str | None, typer.Option("--metrics", metavar="HOST:PORT", help="Metrics for Prometheus at this address.")
]

_GIVE_UP_ONCE_S = 60.0
_START_S = 5.0  # For commands that end by themselves: whoever waits for them wants to know.


def sync(
    first: FirstArgument,
    second: SecondArgument,
    config_a: FirstConfigOption = None,
    config_b: SecondConfigOption = None,
    both: BothOption = False,
    topics: TopicsOption = None,
    once: OnceOption = False,
    dry_run: DryOption = False,
    last_writer_wins: WinsOption = False,
    own_only: OwnOption = False,
    set_aside: AsideOption = None,
    configs: ConfigsOption = True,
    acls: AclsOption = False,
    groups: GroupsOption = True,
    save_interval: SaveOption = 5.0,
    workers: WorkersOption = 4,
    give_up: GiveUpOption = None,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the topics of two clusters equal: from A to B, or both ways.

    \b
    Examples:
      holdfast sync a.example:9092 b.example:9092
      holdfast sync a.example:9092 b.example:9092 --both --topics 'orders*'
      holdfast sync a.example:9092 b.example:9092 --once --json
      holdfast sync a.example:9092 b.example:9092 --dry-run
      holdfast sync a.example:9093 b.example:9093 --config-a a.properties --config-b b.properties
    """
    from holdfast.cli.sync.show import showing
    from holdfast.client import ClientSettings
    from holdfast.sync.run import Sync
    from holdfast.sync.settings import SyncSettings
    from holdfast.sync.topics import check_patterns

    settings = SyncSettings(
        patterns=check_patterns(topics or ()),
        both=both,
        once=once,
        own_only=own_only,
        last_writer_wins=last_writer_wins,
        set_aside=set_aside,
        configs=configs,
        acls=acls,
        groups=groups,
        workers=workers,
        save_interval_s=save_interval,
        start_s=_START_S if give_up is None and (once or dry_run) else give_up,
        give_up_s=_GIVE_UP_ONCE_S if give_up is None and once else give_up,
    )
    with showing(json=as_json, metrics=None if dry_run else metrics) as show:
        ends = ClientSettings.read(config_a, first), ClientSettings.read(config_b, second)
        running = Sync(*ends, settings)  # A signal meanwhile ends it at once: nothing is under way.
        if dry_run:
            from holdfast.cli.sync.dry import show_plan

            show_plan(running, json=as_json)
            return
        stop_on_signals(running.stop)
        show.begin()
        running.run(show, show.every_s)
