"""What a start says of doors that anybody can walk through."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.broker.wire import wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.broker.settings import BrokerSettings
from holdfast.cli.serve.unguarded import unguarded

MAP = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL"


@pytest.mark.parametrize(
    ("listeners", "auth", "authorizer", "count"),
    [
        ("PLAINTEXT://127.0.0.1:1", "none", "", 0),
        ("PLAINTEXT://localhost:1", "none", "", 0),
        ("PLAINTEXT://[::1]:1", "none", "", 0),
        ("PLAINTEXT://0.0.0.0:1", "none", "", 1),
        ("SSL://10.1.2.3:1", "none", "", 1),
        ("SSL://10.1.2.3:1", "requested", "", 1),
        ("SSL://10.1.2.3:1", "required", "", 0),
        ("SASL_SSL://0.0.0.0:1", "none", "", 0),
        ("PLAINTEXT://127.0.0.1:1,SASL_SSL://0.0.0.0:2", "none", "standard", 0),
        ("PLAINTEXT://127.0.0.1:1", "none", "standard", 1),
        ("PLAINTEXT://0.0.0.0:1", "none", "standard", 2),
    ],
)
def test_a_door_for_everybody_is_told(listeners: str, auth: str, authorizer: str, count: int) -> None:
    """X10: beyond loopback without authentication; or an authorizer, and nobody can be anybody."""
    advertised = ",".join(
        each.replace("0.0.0.0", "broker.example") for each in listeners.split(",") if "0.0.0.0" in each
    )
    settings = BrokerSettings(
        listeners=listeners,
        advertised_listeners=advertised,
        listener_security_protocol_map=MAP,
        ssl_client_auth=auth,
        authorizer_class_name=authorizer,
    )
    assert len(list(unguarded(settings.parsed_listeners(), settings))) == count


def test_a_start_says_so(tmp_path: Path) -> None:
    """X10: in a warning, also of a port for subscribers."""
    settings = ["authorizer.class.name=standard", "subscribe.listen=0.0.0.0:0"]
    with BrokerProcess(tmp_path, settings=settings) as process:
        for words in ("all are User:ANONYMOUS", "subscribe.listen is reached from other machines"):
            wait_for(partial(_has_said, process, words))


def _has_said(process: BrokerProcess, words: str) -> bool:
    return any(words in line for line in process.said)
