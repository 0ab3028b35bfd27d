"""The level of a cluster is raised, as far as all its brokers know it; told from its store alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.cluster.level import LEVEL
from holdfast.cluster.metadata import raise_level
from holdfast.errors import Rejected
from holdfast.io.objects import Objects
from holdfast.operate.members import operators_log


def upgrade(objects: Objects, wait: Callable[[float], None]) -> dict[str, Any]:
    """Let everything be written that all live brokers know: the level before and after, and who is behind another.

    Raises Rejected if nobody lives, if this release knows less than they do, and BrokersBehind if one that knows less
    has joined in the same moment.
    """
    log = operators_log(objects, wait)
    before, lives = log.metadata.level, log.metadata.lives
    known = {each.broker: each.level for each in lives.eldest_first}
    if not known:
        raise Rejected("no broker is in this cluster: start them, so that it is known what they know")
    level = min(known.values())
    if level > LEVEL:
        raise Rejected(
            f"all {len(known)} brokers know level {level}, and this command knows up to level {LEVEL}: "
            "use that of their release"
        )
    if level > before:
        log.commit(raise_level(level))
    return {
        "cluster": log.metadata.cluster_id,
        "before": before,
        "level": log.metadata.level,
        "brokers": [{"broker": broker, "level": each} for broker, each in sorted(known.items())],
        "behind": sorted(lives.behind(max(known.values()))),
    }
