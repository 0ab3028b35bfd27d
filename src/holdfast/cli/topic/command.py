"""`holdfast topic`: list, describe, create, delete and configure topics of a running broker.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal.complete import topic_names
from holdfast.cli.terminal.options import (
    BootstrapOption,
    CommandConfigOption,
    JsonOption,
    YesOption,
    ask_first,
    assignments,
)
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json
from holdfast.errors import Rejected
from holdfast.units import counted

app = typer.Typer(no_args_is_help=True, help="Topics of a running broker.", rich_markup_mode="rich")

NameArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", autocompletion=topic_names)]
NewNameArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.")]
NamesArgument = Annotated[
    list[str], typer.Argument(metavar="TOPIC…", help="The topics' names.", autocompletion=topic_names)
]
AllOption = Annotated[bool, typer.Option("--all", help="Internal topics, too.")]
PartitionsOption = Annotated[
    int | None, typer.Option("--partitions", metavar="N", min=1, help="How many partitions it has.")
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="Set a config, such as retention.ms=60000. May be repeated."),
]
UnsetOption = Annotated[
    list[str] | None, typer.Option("--unset", metavar="NAME", help="Go back to a config's default. May be repeated.")
]
DefaultsOption = Annotated[bool, typer.Option("--all", help="Configs that have their default, too.")]


@app.command("list")
def list_command(
    internal: AllOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Which topics there are.

    \b
    Examples:
      holdfast topic list
      holdfast topic list --json --bootstrap broker.example:9092
    """
    from holdfast.cli.terminal.broker import asking, broker_at
    from holdfast.cli.topic.work import list_topics

    with asking(broker_at(bootstrap, config)) as client:
        facts = list_topics(client, internal=internal)
    give_table(facts, {"topic": "topic", "partitions": "partitions", "topic_id": "topic id"}, as_json=as_json)


@app.command("describe")
def describe_command(
    names: NamesArgument,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """The partitions of topics: leader, epoch, first offset, end, and the configs that are set.

    \b
    Examples:
      holdfast topic describe orders
      holdfast topic describe orders payments --json
    """
    from holdfast.cli.terminal.broker import asking, broker_at
    from holdfast.cli.topic.work import describe_topics

    columns = {"partition": "partition", "start": "start", "end": "end", "offsets": "offsets"}
    columns |= {"leader": "leader", "leader_epoch": "epoch"}
    with asking(broker_at(bootstrap, config)) as client:
        described = describe_topics(client, names)
    for each in described:
        if as_json:
            give_json(each)
            continue
        configs = "".join(f", {name}={value}" for name, value in each["configs"].items())
        print(f"topic {each['topic']}, id {each['topic_id']}, {counted(len(each['partitions']), 'partition')}{configs}")
        give_table(each["partitions"], columns, as_json=False)


@app.command("create")
def create_command(
    name: NewNameArgument,
    partitions: PartitionsOption = None,
    configs: ConfigOption = None,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Make a topic; without --partitions it gets as many as the broker's num.partitions says.

    \b
    Examples:
      holdfast topic create orders --partitions 6
      holdfast topic create prices --config cleanup.policy=compact --config retention.ms=-1
    """
    from holdfast.cli.terminal.broker import asking, broker_at
    from holdfast.cli.topic.work import create_topic

    given = assignments(configs, "--config")
    with asking(broker_at(bootstrap, config)) as client:
        made = create_topic(client, name, partitions, given)
    if as_json:
        give_json(made)
    else:
        print(f"topic {made['topic']} made: {counted(made['partitions'], 'partition')}, id {made['topic_id']}")


@app.command("delete")
def delete_command(
    names: NamesArgument,
    yes: YesOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Delete topics with all their records.

    \b
    Examples:
      holdfast topic delete orders
      holdfast topic delete orders payments --yes
    """
    from holdfast.cli.terminal.broker import asking, broker_at
    from holdfast.cli.topic.work import delete_topic

    ask_first(f"Delete {', '.join(names)} with all records?", yes=yes)
    with asking(broker_at(bootstrap, config)) as client:
        for name in names:
            gone = delete_topic(client, name)
            if as_json:
                give_json(gone)
            else:
                print(f"topic {name} deleted")


@app.command("alter")
def alter_command(
    name: NameArgument,
    configs: ConfigOption = None,
    unset: UnsetOption = None,
    partitions: PartitionsOption = None,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Change a topic's configs, or give it more partitions, and show what it has then.

    \b
    Examples:
      holdfast topic alter orders --config retention.ms=3600000
      holdfast topic alter orders --unset max.message.bytes --partitions 12
    """
    if not configs and not unset and partitions is None:
        raise Rejected("nothing to change: say --config NAME=VALUE, --unset NAME or --partitions N")
    config_command(name, configs, unset, partitions, False, as_json, bootstrap, config)


@app.command("config")
def config_command(
    name: NameArgument,
    configs: ConfigOption = None,
    unset: UnsetOption = None,
    partitions: PartitionsOption = None,
    everything: DefaultsOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Change a topic's configs, or give it more partitions; then show its configs.

    \b
    Examples:
      holdfast topic config orders
      holdfast topic config orders --all
      holdfast topic config orders --config retention.ms=3600000 --unset max.message.bytes
      holdfast topic config orders --partitions 12
    """
    from holdfast.cli.terminal.broker import asking, broker_at
    from holdfast.cli.topic.work import add_partitions, show_configs

    given = assignments(configs, "--config")
    with asking(broker_at(bootstrap, config)) as client:
        if partitions is not None:
            add_partitions(client, name, partitions)
        if given or unset:
            client.alter_configs(name, given, unset or [])
        facts = show_configs(client, name, everything=everything)
    columns = {"config": "config", "value": "value", "own": "set here", "meaning": "meaning"}
    give_table(facts, columns, as_json=as_json)
