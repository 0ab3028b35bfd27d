"""`holdfast wait`: until a broker serves."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption

TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Give up after so long, with exit code 1.")
]


def wait(timeout: TimeoutOption = 60.0, bootstrap: BootstrapOption = None, config: CommandConfigOption = None) -> None:
    """Wait until a broker can be reached and serves: also until its store has answered, if that was away.

    Of a cluster whoever leads has to serve, and to be reached from here.

    \b
    Examples:
      holdfast wait && holdfast topic create orders
      holdfast wait --timeout 10 --bootstrap broker.example:9093 --command-config client.properties
    """
    from holdfast.cli.terminal.broker import broker_at, waiting

    with waiting(broker_at(bootstrap, config), timeout) as client:
        client.check_served()
