"""Configs that were set while the broker ran: they are in the cluster's metadata, and so outlive a restart.

A broker has them for itself, or all brokers have them together, and groups have some of their own. What can be set for
brokers are the defaults of topics and the limits of connections: they can really change while it runs. They are stored
by `kind/resource/name`: `broker//log.retention.ms` for all brokers, `broker/0/…` for one, `group/orders/…` for a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from holdfast.broker.configs.broker import MEANINGS
from holdfast.broker.configs.topic import TOPIC_CONFIGS, Config, ConfigKind
from holdfast.broker.settings import BrokerSettings, overrides_of
from holdfast.errors import Rejected

Configs: TypeAlias = Mapping[str, str]

BROKER, GROUP = "broker", "group"
ALL_BROKERS = ""
KEPT_MAX = 10_000  # They are written again with every change of the metadata.
_NAME_MAX = 256  # Characters of a group's name.


class _Overrides(Config):
    """Numbers for some addresses."""

    def _check(self, value: str) -> None:
        try:
            overrides_of(value)
        except ValueError:
            raise ValueError("a list of addresses and numbers, as in 10.0.0.7:200,::1:50") from None


_COUNT_MAX = 2**31 - 1
_OF_CONNECTIONS = {
    "max.connections": (ConfigKind.INT, 1),
    "max.connections.per.ip": (ConfigKind.INT, 0),
    "max.connections.per.ip.overrides": (ConfigKind.STRING, 0),
    "max.connection.creation.rate": (ConfigKind.INT, 1),
}
CONNECTION_CONFIGS: Mapping[str, Config] = {
    name: (Config if kind is ConfigKind.INT else _Overrides)(
        name, kind, str(getattr(BrokerSettings(), name.replace(".", "_"))), MEANINGS[name], low, _COUNT_MAX
    )
    for name, (kind, low) in _OF_CONNECTIONS.items()
}
BROKER_CONFIGS: Mapping[str, Config] = {
    each.broker_name: replace(each, name=each.broker_name) for each in TOPIC_CONFIGS.values() if each.broker_name
} | dict(CONNECTION_CONFIGS)
# Tools take these back when partitions have moved. Nothing ever moves, so nothing ever sets them.
THROTTLES = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)


class DynamicConfigs:
    """All of them, by what they belong to."""

    def __init__(self, stored: Configs) -> None:
        self._stored = stored
        self.size = sum(len(key) + len(value) for key, value in stored.items())  # Bytes in the metadata, about.
        self._found: dict[tuple[str, str], dict[str, str]] = {}
        for key, value in stored.items():
            kind, rest = key.split("/", 1)
            resource, name = rest.rsplit("/", 1)
            self._found.setdefault((kind, resource), {})[name] = value

    def of(self, kind: str, resource: str) -> Configs:
        return self._found.get((kind, resource), {})

    def resources(self, kind: str) -> list[str]:
        """Which ones have any."""
        return [resource for found, resource in self._found if found == kind]

    def changed(self, kind: str, resource: str, configs: Configs) -> dict[str, str]:
        """What is to be stored when a resource has these and no others."""
        if len(resource) > _NAME_MAX:
            raise Rejected(f"configs of {resource[:20]}…: the name has more than {_NAME_MAX} characters")
        before = {_key(kind, resource, name) for name in self.of(kind, resource)}
        after = {_key(kind, resource, name): value for name, value in configs.items()}
        stored = {key: value for key, value in self._stored.items() if key not in before} | after
        if len(stored) > KEPT_MAX and len(after) >= len(before):
            raise Rejected(f"there are {KEPT_MAX} configs that were set while brokers ran: no more are kept")
        return stored

    def of_broker(self, node_id: int) -> Configs:
        """What holds for a broker: its own, or else that of all."""
        return {**self.of(BROKER, ALL_BROKERS), **self.of(BROKER, str(node_id))}


def _key(kind: str, resource: str, name: str) -> str:
    return f"{kind}/{resource}/{name}"


def topic_defaults(static: Configs, dynamic: Configs) -> dict[str, str]:
    """The defaults of topics, by the topic config's name: what was set while the broker ran comes first."""
    set_now = {each.name: dynamic[each.broker_name] for each in TOPIC_CONFIGS.values() if each.broker_name in dynamic}
    return {**static, **set_now}


def settings_now(static: BrokerSettings, dynamic: Configs) -> BrokerSettings:
    """A broker's settings with the limits of connections that were set while it ran."""
    set_now = {name: dynamic[name] for name in CONNECTION_CONFIGS if name in dynamic}
    values = {
        name.replace(".", "_"): int(value) if CONNECTION_CONFIGS[name].kind is ConfigKind.INT else value
        for name, value in set_now.items()
    }
    return replace(static, **values)  # type: ignore[arg-type]
