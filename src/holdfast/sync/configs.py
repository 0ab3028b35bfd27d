"""Topic configs, followed: what is set or unset for a topic at the source is set or unset at the target.

Only changes are carried, so that what was chosen for the target stays: a larger `max.message.bytes` there, say. What
the source had when it was last looked at is saved with the checkpoints, so that a change is seen that was made while no
sync ran. Both ways, what one direction has carried is no change for the other. The rules of topics come along where
that is asked for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping

from holdfast.client import Client
from holdfast.client.errors import Refused
from holdfast.protocol.codes import Code
from holdfast.sync.rules import PREFIX, carry_rules, rules_in, rules_of
from holdfast.sync.sides import Side
from holdfast.sync.topics import OURS, to_copy

log = logging.getLogger(__name__)


class SeenConfigs:
    """The configs of all topics as they were last seen, by cluster; for both directions of a sync."""

    def __init__(self, *, configs: bool = True, acls: bool = False) -> None:
        self._configs = configs
        self._acls = acls
        self._known: dict[tuple[str, str], dict[str, str]] = {}
        self._lock = threading.Lock()

    def remember(self, cluster_id: str, topic: str, configs: Mapping[str, str]) -> None:
        """What an earlier sync has seen; what this one has seen since counts more."""
        self._known.setdefault((cluster_id, topic), dict(configs))

    def of(self, cluster_id: str, topic: str) -> dict[str, str] | None:
        """What was seen last; None if nobody has looked."""
        return self._known.get((cluster_id, topic))

    def follow(self, topics: Iterable[str], sides: tuple[Side, Side], source: Client, target: Client) -> None:
        """Look again, and carry what has changed."""
        names = list(topics)
        with self._lock:
            new = [name for name in names if (sides[0].cluster_id, name) not in self._known]
            wanted = names if self._configs else new
            found = source.own_configs_of(wanted) if wanted else {}
            rules = rules_of(source, names) if self._acls else {}
            for name in names:
                place = (sides[0].cluster_id, name)
                known = self._known.get(place)
                now = to_copy(found[name]) if name in found else _own(known or {})
                before = dict(now) if known is None else known
                now |= rules[name] if self._acls else rules_in(before)
                if now != before:
                    self._carry(name, before, now, sides[1], target)
                self._known[place] = now  # Not before it is carried: who fails half-way tries it again.

    def _carry(self, topic: str, before: dict[str, str], now: dict[str, str], side: Side, target: Client) -> None:
        if rules_in(now) != rules_in(before):
            added, removed = carry_rules(topic, before, now, side, target)
            there = self._known.get((side.cluster_id, topic))
            if there is not None:
                there |= dict.fromkeys(added, "")
                for each in removed:
                    there.pop(each, None)
        self._carry_configs(topic, _own(before), _own(now), side, target)

    def _carry_configs(
        self, topic: str, before: dict[str, str], now: dict[str, str], side: Side, target: Client
    ) -> None:
        given = {name: text for name, text in now.items() if before.get(name) != text}
        unset = [name for name in before if name not in now]
        there = to_copy(target.own_configs(topic))
        given = {name: text for name, text in given.items() if there.get(name) != text}
        unset = [name for name in unset if name in there]
        if not given and not unset:
            return
        try:
            _alter(target, topic, given, unset)
        except Refused as failure:
            log.warning("topic %s at %s does not take the configs that it has at the source: %s", topic, side, failure)
            return
        words = " ".join([*(f"{name}={text}" for name, text in given.items()), *(f"-{name}" for name in unset)])
        log.info("topic %s at %s follows its source: %s", topic, side.address, words)
        self._known[side.cluster_id, topic] = {
            name: text for name, text in (there | given).items() if name not in unset
        } | rules_in(self._known.get((side.cluster_id, topic), {}))


def _own(seen: Mapping[str, str]) -> dict[str, str]:
    """The configs among what was seen of a topic."""
    return {name: text for name, text in seen.items() if not name.startswith(PREFIX)}


def _alter(target: Client, topic: str, given: Mapping[str, str], unset: list[str]) -> None:
    try:
        target.alter_configs(topic, given.items(), unset)
    except Refused as failure:
        others = {name: text for name, text in given.items() if not name.startswith(OURS)}
        if failure.code != Code.INVALID_CONFIG or len(others) == len(given):
            raise
        if others or unset:  # Other brokers know none of ours.
            target.alter_configs(topic, others.items(), [name for name in unset if not name.startswith(OURS)])
