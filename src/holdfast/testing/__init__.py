"""A real broker for tests, of any Python project: on a free port, in a directory of its own, gone afterwards.

    with running_broker(num_partitions=3) as broker:
        broker.topic("orders", ("key", "value"), "another value")
        client = Producer({"bootstrap.servers": broker.bootstrap})

    with secured_broker({"alice": ["WRITE topic:orders"]}) as broker:
        client = Producer(broker.conf("alice"))

`plugin` has the same as fixtures of pytest: `holdfast_broker`, `holdfast_own_broker`, `holdfast_secured_broker`.
"""

from holdfast.testing.ports import free_port
from holdfast.testing.process import BrokerDidNotStart, RunningBroker
from holdfast.testing.running import running_broker, running_brokers
from holdfast.testing.secured import SecuredBroker, secured_broker

__all__ = [
    "BrokerDidNotStart",
    "RunningBroker",
    "SecuredBroker",
    "free_port",
    "running_broker",
    "running_brokers",
    "secured_broker",
]
