"""Access: users, rules and quotas; whether somebody may do something, and by which rule; who was refused."""

from __future__ import annotations

from typing import Any, Final

from holdfast.cluster.auth import Auth
from holdfast.console.routes import Visit
from holdfast.errors import Rejected
from holdfast.security.principal import Principal, Session, host_of
from holdfast.security.rules import CLUSTER_NAME, Operation, Resource, ResourceType

ROWS_MAX: Final = 500
_LAST_S = 3600.0


async def access(visit: Visit) -> dict[str, Any]:
    parts, query = visit.parts, visit.query
    doors = parts.access
    auth, rules = doors.auth(), doors.rules()
    wanted = query.get("filter", "").lower()
    now = parts.clock.monotonic()
    lines = sorted(doors.recent(), key=lambda each: -each.at)
    return {
        "has_authorizer": rules is not None,
        "super_users": [] if rules is None else sorted(map(str, rules.super_users)),
        **await parts.calls.local(_listed, auth, wanted),
        "quotas": [{"who": who, "limits": dict(limits)} for who, limits in list(doors.quotas().items())[:ROWS_MAX]],
        "throttled": [
            {"quota": kind, "count": each.count, "seconds": round(each.seconds, 1)}
            for kind, each in parts.throttled.items()
        ],
        "waiting": [
            {"quota": kind, "who": who, "seconds": round(seconds, 1)}
            for kind, who, seconds in sorted(doors.waiting(), key=lambda each: -each[2])[:100]
        ],
        "recent": [
            {"at_ms": parts.clock.now_ms() - round((now - each.at) * 1000), "event": each.event, "text": each.text}
            for each in lines[:100]
            if now - each.at < _LAST_S
        ],
    }


def _listed(auth: Auth, wanted: str) -> dict[str, Any]:
    """In a thread: there may be many."""
    users = sorted(name for name in auth.users if wanted in name.lower())
    rules = [row for each in sorted(auth.rules) if wanted in " ".join(row := each.to_row()).lower()]
    return {
        "users": [{"user": each, "mechanisms": sorted(auth.users[each])} for each in users[:ROWS_MAX]],
        "users_all": len(auth.users),
        "rules": [dict(zip(_RULE, row, strict=True)) for row in rules[:ROWS_MAX]],
        "rules_all": len(auth.rules),
    }


_RULE = ("kind", "name", "pattern", "principal", "host", "operation", "permission")


async def verdict(visit: Visit) -> dict[str, Any]:
    """May X do Y to Z, and by which rule."""
    query, rules = visit.query, visit.parts.access.rules()
    try:
        operation = Operation[query.get("operation", "").upper()]
        kind = ResourceType[query.get("kind", "").upper()]
    except KeyError as failure:
        raise Rejected(f"{failure.args[0] or 'nothing'} is no operation, or no kind of resource") from None
    who = Principal.parse(query.get("user", ""))
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else query.get("name", "")
    asked = f"{who} {operation.name} {kind.name} {name}"
    if rules is None:
        return {"asked": asked, "is_allowed": True, "by": "there is no authorizer: everybody may everything"}
    found = rules.judge(Session(who, host_of(query.get("host", "127.0.0.1")), ""), operation, Resource(kind, name))
    return {"asked": asked, "is_allowed": found.is_allowed, "by": str(found.by)}
