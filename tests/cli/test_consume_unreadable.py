"""K12: `holdfast consume` steps over a batch that nobody can read, and says so."""

from __future__ import annotations

from tests.broker.wire import Wire, batch, create_topic, produce
from tests.cli.conftest import Commands
from tests.record.test_malformed import malformed
from tests.support.broker_process import BrokerProcess


def test_a_batch_that_nobody_can_read_is_stepped_over(holdfast: Commands, broker: BrokerProcess, topic: str) -> None:
    """K12: offsets and reason on stderr, the records around it on stdout."""
    with Wire(broker.port) as wire:
        create_topic(wire, topic, holdfast_validate_records="false")
        for sent in (batch(b"before"), bytes(malformed("00 00 00 00 01 01 00" * 2, 2, 1)), batch(b"behind")):
            assert produce(wire, topic, sent).error_code == 0
    done = holdfast.run("consume", topic, "--no-follow")
    assert [line.split("\t")[3] for line in done.stdout.splitlines()] == ["before", "behind"]
    assert f"{topic}-0: offsets [1, 3) cannot be read, and are skipped: " in done.stderr
