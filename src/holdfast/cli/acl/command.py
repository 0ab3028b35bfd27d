"""`holdfast acl`: who may what, in the words of Kafka's `kafka-acls.sh`.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, JsonOption, YesOption, ask_first
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import tell

app = typer.Typer(no_args_is_help=True, help="Rules that say who may what (ACLs).", rich_markup_mode="rich")

_COLUMNS = {
    "resource": "resource",
    "name": "name",
    "pattern": "pattern",
    "principal": "principal",
    "host": "host",
    "operation": "operation",
    "permission": "permission",
}
_MANY = "May be repeated."

TopicOption = Annotated[
    list[str] | None, typer.Option("--topic", metavar="TOPIC", help=f"About this topic; '*' is all. {_MANY}")
]
GroupOption = Annotated[
    list[str] | None, typer.Option("--group", metavar="GROUP", help=f"About this consumer group. {_MANY}")
]
IdOption = Annotated[
    list[str] | None, typer.Option("--transactional-id", metavar="ID", help=f"About this transactional id. {_MANY}")
]
ClusterOption = Annotated[bool, typer.Option("--cluster", help="About the cluster itself.")]
PatternOption = Annotated[
    str,
    typer.Option(
        "--resource-pattern-type", metavar="TYPE", help="literal or prefixed; to find rules also any and match."
    ),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option("--allow-principal", metavar="User:NAME", help=f"Who may; everybody is 'User:*'. {_MANY}"),
]
DenyOption = Annotated[
    list[str] | None,
    typer.Option("--deny-principal", metavar="User:NAME", help=f"Who may not, whatever else is allowed. {_MANY}"),
]
HostOption = Annotated[
    list[str] | None, typer.Option("--host", metavar="ADDRESS", help=f"Only from this address. {_MANY}")
]
OperationOption = Annotated[
    list[str] | None,
    typer.Option("--operation", metavar="NAME", help=f"read, write, describe, create, …; without it, all. {_MANY}"),
]
ProducerOption = Annotated[bool, typer.Option("--producer", help="What a producer needs: write, describe, create.")]
ConsumerOption = Annotated[
    bool, typer.Option("--consumer", help="What a consumer needs: read and describe topics, read its group.")
]
PrincipalOption = Annotated[
    list[str] | None, typer.Option("--principal", metavar="User:NAME", help=f"Only rules of this user. {_MANY}")
]


@app.command("add")
def add_command(
    topics: TopicOption = None,
    groups: GroupOption = None,
    transactional_ids: IdOption = None,
    cluster: ClusterOption = False,
    pattern: PatternOption = "literal",
    allowed: AllowOption = None,
    denied: DenyOption = None,
    hosts: HostOption = None,
    operations: OperationOption = None,
    producer: ProducerOption = False,
    consumer: ConsumerOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Let somebody do something, or forbid it. A change counts for everybody when this returns.

    \b
    Examples:
      holdfast acl add --allow-principal User:alice --producer --topic orders
      holdfast acl add --allow-principal User:bob --consumer --topic orders --group billing
      holdfast acl add --allow-principal User:etl --operation read --topic logs- --resource-pattern-type prefixed
      holdfast acl add --deny-principal User:eve --topic '*' --host 10.0.0.7 --command-config admin.properties
    """
    from holdfast.cli.acl.work import Meant, facts_of, rules_of
    from holdfast.cli.terminal.broker import asking, broker_at

    rules = rules_of(
        Meant(
            topics=topics or (),
            groups=groups or (),
            transactional_ids=transactional_ids or (),
            cluster=cluster,
            pattern=pattern,
            allowed=allowed or (),
            denied=denied or (),
            hosts=hosts or (),
            operations=operations or (),
            producer=producer,
            consumer=consumer,
        )
    )
    with asking(broker_at(bootstrap, config)) as client:
        client.add_rules(rules)
    give_table(facts_of(rules), _COLUMNS, as_json=as_json)


@app.command("list")
def list_command(
    topics: TopicOption = None,
    groups: GroupOption = None,
    transactional_ids: IdOption = None,
    cluster: ClusterOption = False,
    pattern: PatternOption = "any",
    principals: PrincipalOption = None,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Which rules there are: all, or those about some resources or users.

    \b
    Examples:
      holdfast acl list
      holdfast acl list --topic orders --resource-pattern-type match     all that have a say about it
      holdfast acl list --principal User:alice --json --command-config admin.properties
    """
    from holdfast.cli.acl.work import Meant, facts_of, wanted_of
    from holdfast.cli.terminal.broker import asking, broker_at

    meant = Meant(
        topics=topics or (),
        groups=groups or (),
        transactional_ids=transactional_ids or (),
        cluster=cluster,
        pattern=pattern,
    )
    wanted = wanted_of(meant, principals or ())
    with asking(broker_at(bootstrap, config)) as client:
        found = {rule for each in wanted for rule in client.rules(each)}
    give_table(facts_of(sorted(found)), _COLUMNS, as_json=as_json)


@app.command("remove")
def remove_command(
    topics: TopicOption = None,
    groups: GroupOption = None,
    transactional_ids: IdOption = None,
    cluster: ClusterOption = False,
    pattern: PatternOption = "literal",
    allowed: AllowOption = None,
    denied: DenyOption = None,
    hosts: HostOption = None,
    operations: OperationOption = None,
    producer: ProducerOption = False,
    consumer: ConsumerOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Take rules back: those that `add` with the same options has made, or, without a principal, all about a resource.

    \b
    Examples:
      holdfast acl remove --allow-principal User:alice --producer --topic orders
      holdfast acl remove --topic orders --resource-pattern-type any --yes --command-config admin.properties
    """
    from holdfast.cli.acl.work import Meant, facts_of, filters_of
    from holdfast.cli.terminal.broker import asking, broker_at

    filters = filters_of(
        Meant(
            topics=topics or (),
            groups=groups or (),
            transactional_ids=transactional_ids or (),
            cluster=cluster,
            pattern=pattern,
            allowed=allowed or (),
            denied=denied or (),
            hosts=hosts or (),
            operations=operations or (),
            producer=producer,
            consumer=consumer,
        )
    )
    with asking(broker_at(bootstrap, config)) as client:
        found = {rule for each in filters for rule in client.rules(each)}
        if found:
            ask_first(f"Remove {len(found)} rules?", yes=yes)
        gone = client.remove_rules(filters) if found else []
    if not gone:
        tell("holdfast: no rule matches; `holdfast acl list` shows those there are")
        raise typer.Exit(1)
    give_table(facts_of(gone), _COLUMNS, as_json=as_json)
