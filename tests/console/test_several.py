"""The consoles of two brokers that share a store."""

from __future__ import annotations

from pathlib import Path

from tests.broker.wire import wait_for
from tests.console.asking import Asked
from tests.support.broker_process import BrokerProcess

from holdfast.testing import free_port

QUICK = ("cluster.lease_renew_ms=200", "cluster.lease_ms=600", "cluster.takeover_ms=1200", "log.owner_check_ms=200")


def test_overview_shows_all_brokers_and_who_stands_by_says_so(tmp_path: Path) -> None:
    """V1, V6: from the lives and leases; the one that takes over shows everything itself."""
    ports = {number: free_port() for number in (1, 2)}

    def broker(number: int) -> BrokerProcess:
        own = (f"node.id={number}", f"serve.console_listen=127.0.0.1:{ports[number]}", "subscribe.listen=none")
        settings = (*QUICK, *own, f"serve.store={tmp_path / 'store'}")
        return BrokerProcess(tmp_path / f"b{number}", settings=settings, options=["--cluster"])

    with broker(1) as first, broker(2) as second:
        asked = {number: Asked(port) for number, port in ports.items()}

        def nodes(number: int) -> dict[int, bool]:
            told = asked[number].ask("/")
            return {each["node"]: each["is_this"] for each in told.json.get("brokers", [])}

        wait_for(lambda: nodes(1) == {1: True, 2: False}, 60)
        other = asked[1].page("/")["brokers"][1]
        assert (other["address"], other["is_owner"], other["silent_s"] < 5) == (second.address, False, True)
        told = asked[2].ask("/")
        assert told.status == 503
        assert told.json["error"] == (
            f"Broker 2 is ready to take over. Broker 1 leads, Kafka clients at {first.address}."
        )
        first.kill()
        wait_for(lambda: nodes(2).get(2) is True, 60)
        assert asked[2].page("/")["brokers"][0]["is_owner"]
