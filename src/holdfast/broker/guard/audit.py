"""The audit log, `holdfast.audit`: a line for what was refused and what was changed, by whom and from where.

The same refusal is written once a second at most, with how often it came since. All lines of refusals together have a
limit, since clients cause them; changes are always written. Nothing here is handed a value: names only.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from holdfast.broker.guard.rights import Right
from holdfast.io.sparing import SparingLines
from holdfast.security.principal import Session

log = logging.getLogger("holdfast.audit")

_AGAIN_S = 1.0
_SEEN_MAX = 10_000  # Then all are forgotten: some are written twice in a second.
_RECENT = 500  # Lines that are kept.
_NAME_SIZE: Final = 256  # Of what clients call things.


class AuditLine(NamedTuple):
    """One of the last lines, for whoever looks."""

    at: float  # In the clock's seconds.
    event: str
    text: str


class Audit:
    """Writes the lines."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines = SparingLines(log, now)
        self.recent: deque[AuditLine] = deque(maxlen=_RECENT)
        self._seen: dict[tuple[str, str, Right, str], tuple[float, int]] = {}  # When last written, how often since.

    def refused(self, session: Session, right: Right, name: str, api: str, by: object) -> None:
        """Somebody has tried to do what they may not; `by` is the rule that says so, or what stands in its place."""
        key, now = (session.principal.name, session.host, right, name), self._now()
        written, more = self._seen.get(key, (-_AGAIN_S, 0))
        if now - written < _AGAIN_S:
            self._seen[key] = written, more + 1
            return
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen[key] = now, 0
        self._keep(
            "refused", f"{str(session.principal)[:_NAME_SIZE]} from {session.host}: {right} {name[:_NAME_SIZE]!r}: {by}"
        )
        what = {"operation": right.operation.name, "resource": right.kind.name, "name": name, "api": api}
        self._lines.info(
            "refused: %s from %s: %s %r (%s, through %s): %s%s",
            str(session.principal)[:_NAME_SIZE],
            session.host,
            right,
            name[:_NAME_SIZE],
            api,
            session.listener,
            by,
            f"; and {more} times before" if more else "",
            extra={"facts": {"event": "refused", **_who(session), **what, "by": str(by), "more": more}},
        )

    def failed_login(self, peer: str, listener: str, why: str) -> None:
        """Somebody has not proven who they are."""
        self._keep("login failed", f"{peer} through {listener}: {why[:_NAME_SIZE]}")
        facts = {"event": "login_failed", "host": peer, "listener": listener, "why": why}
        self._lines.info("login failed: %s through %s: %s", peer, listener, why, extra={"facts": facts})

    def _keep(self, event: str, text: str) -> None:
        self.recent.append(AuditLine(self._now(), event, text))

    def changed(self, session: Session, what: str) -> None:
        """Users, rules, quotas or configs are other ones from here on."""
        facts = {"event": "changed", **_who(session), "what": what}
        who = str(session.principal)[:_NAME_SIZE]
        self._keep("changed", f"{who} from {session.host}: {what[:_NAME_SIZE]}")
        log.info("changed: %s from %s: %s", who, session.host, what[: 4 * _NAME_SIZE], extra={"facts": facts})


def _who(session: Session) -> dict[str, str]:
    return {"principal": str(session.principal), "host": session.host, "listener": session.listener}
