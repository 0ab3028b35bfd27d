"""Authorized operations: without an authorizer everybody may do everything, and is told so when asking."""

from __future__ import annotations

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12

ON_TOPIC = frozenset({_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS})
ON_GROUP = frozenset({_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS})
ON_CLUSTER = frozenset(
    {_CREATE, _ALTER, _DESCRIBE, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE}
)


def if_asked(operations: frozenset[int], *, asked: bool) -> frozenset[int] | None:
    """None is sent as the number that says: nobody asked."""
    return operations if asked else None
