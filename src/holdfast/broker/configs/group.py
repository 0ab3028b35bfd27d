"""Configs that a group may have of its own, by Kafka's names. What it has not is the broker's.

The broker's settings say between which values a group's own may lie. A value from outside is refused when it is set;
one that was set under other settings counts as the nearest that is allowed, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.broker.configs.topic import Config, ConfigInvalid, ConfigKind
from holdfast.broker.settings import BrokerSettings, range_of
from holdfast.coordinator.group.settings import ConsumerTimes
from holdfast.coordinator.share.partition import ShareLimits
from holdfast.coordinator.share.reset import Reset, ResetInvalid
from holdfast.coordinator.share.settings import ShareConfigs, ShareTimes

_AT_ONCE = "assignments are made as soon as members or topics change"
_STREAMS = "there are no streams groups here (KIP-1071): nothing would heed it"
STREAMS_PREFIX = "streams."
RESET, ISOLATION, RENEWS = "share.auto.offset.reset", "share.isolation.level", "share.renew.acknowledge.enable"
_LEVELS = frozenset({"read_uncommitted", "read_committed"})

_RANGED = {
    "consumer.session.timeout.ms": "a silent member of a consumer group is gone after this",
    "consumer.heartbeat.interval.ms": "how often members of a consumer group say that they live",
    "share.session.timeout.ms": "a silent member of a share group is gone after this",
    "share.heartbeat.interval.ms": "how often members of a share group say that they live",
    "share.record.lock.duration.ms": "for how long a record is a member's",
    "share.delivery.count.limit": "how often a record is delivered before it is archived",
    "share.partition.max.record.locks": "records of one partition that are under way, at most",
}


def group_configs(settings: BrokerSettings) -> dict[str, Config]:
    """What a group may have of its own. A group has its kind by who joins it, so each may have all of them."""
    rows = [_ranged(name, effect, settings) for name, effect in _RANGED.items()]
    for kind in ("consumer", "share"):
        name = f"{kind}.assignment.interval.ms"
        rows.append(Config(name, ConfigKind.INT, "0", _AT_ONCE, low=0, broker_name=f"group.{name}", fixed=True))
    rows += [
        Config(
            RESET,
            ConfigKind.STRING,
            "latest",
            "where a share group begins: latest, earliest or by_duration:PnDTnHnMn.nS",
        ),
        Config(
            ISOLATION, ConfigKind.STRING, "read_uncommitted", "what a share group sees of transactions", choices=_LEVELS
        ),
        Config(RENEWS, ConfigKind.BOOLEAN, "true", "whether members may stay at a record for another lock duration"),
    ]
    return {each.name: each for each in sorted(rows, key=lambda each: each.name)}


def _ranged(name: str, effect: str, settings: BrokerSettings) -> Config:
    field = "group_" + name.replace(".", "_")
    low, high = (int(getattr(settings, each)) for each in range_of(field))
    default = str(getattr(settings, field))
    return Config(name, ConfigKind.INT, default, effect, low=low, high=high, broker_name=f"group.{name}")


def find_group_config(name: str, known: Mapping[str, Config]) -> Config:
    """One config; raises if there is none."""
    found = known.get(name)
    if found is None:
        raise ConfigInvalid(name, _STREAMS if name.startswith(STREAMS_PREFIX) else "there is no such group config")
    return found


def check_group(configs: Mapping[str, str], settings: BrokerSettings) -> None:
    """Raise unless a group can have these configs, each of which is right by itself, together."""
    try:
        Reset.parse(configs.get(RESET, "latest"))
    except ResetInvalid as failure:
        raise ConfigInvalid(RESET, str(failure)) from None
    known = group_configs(settings)
    for kind in ("consumer", "share"):
        heartbeat, session = f"{kind}.heartbeat.interval.ms", f"{kind}.session.timeout.ms"
        least, most = (int(configs.get(name, known[name].default)) for name in (heartbeat, session))
        if least >= most:
            raise ConfigInvalid(heartbeat, f"{least} is not below {session}, which is {most}")


def consumer_times(own: Mapping[str, str], settings: BrokerSettings) -> ConsumerTimes:
    """The times of a consumer group that has configs of its own."""
    session, heartbeat = _numbers(own, settings, "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")
    if heartbeat >= session:  # Set under other settings: only both of the broker go together for certain.
        return ConsumerTimes(settings.group_consumer_session_timeout_ms, settings.group_consumer_heartbeat_interval_ms)
    return ConsumerTimes(session, heartbeat)


def share_configs(own: Mapping[str, str], settings: BrokerSettings) -> ShareConfigs:
    """What holds for a share group."""
    session, heartbeat = _numbers(own, settings, "share.session.timeout.ms", "share.heartbeat.interval.ms")
    if heartbeat >= session:
        session, heartbeat = settings.group_share_session_timeout_ms, settings.group_share_heartbeat_interval_ms
    names = "share.delivery.count.limit", "share.partition.max.record.locks", "share.record.lock.duration.ms"
    return ShareConfigs(
        times=ShareTimes(session, heartbeat, settings.group_share_max_size),
        limits=ShareLimits(*_numbers(own, settings, *names)),
        reset=Reset.parse(own.get(RESET, "latest")),
        is_committed=own.get(ISOLATION) == "read_committed",
        renews=own.get(RENEWS) != "false",
    )


def _numbers(own: Mapping[str, str], settings: BrokerSettings, *names: str) -> list[int]:
    found = []
    for name in names:
        field = "group_" + name.replace(".", "_")
        low, high = (getattr(settings, each) for each in range_of(field))
        found.append(min(max(int(own.get(name, getattr(settings, field))), low), high))
    return found
