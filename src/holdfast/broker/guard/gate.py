"""The gate: every API asks here what its sender may do.

What `security.rules.may` has said is remembered for as long as the rules are the same, so that a produce request pays
one look into a table for each topic. Without an authorizer everybody may everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdfast.broker.guard.audit import Audit
from holdfast.broker.guard.rights import ApiRights, NotAllowed, Right
from holdfast.io.clock import SystemClock
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.security.rules import (
    CLUSTER_NAME,
    SUPPORTED,
    Resource,
    ResourceType,
    Rules,
    authorized_operations,
    may,
    may_any,
)

_VERDICTS_MAX = 50_000  # Then all are forgotten.
_NOBODY_ASKED: Final = -(1 << 31)


class Gate:
    """What everybody may do, by the rules as they are now."""

    def __init__(self, audit: Audit, rules: Callable[[], Rules] | None = None) -> None:
        """Without `rules` there is no authorizer."""
        self.audit = audit
        self._rules_now = rules
        self._rules = Rules()
        self._verdicts: dict[tuple[Right, str, str, str], bool] = {}

    @property
    def is_on(self) -> bool:
        return self._rules_now is not None

    @property
    def rules(self) -> Rules:
        """As they are now: another object when they have changed."""
        if self._rules_now is None:
            return self._rules
        rules = self._rules_now()
        if rules is not self._rules:
            self._rules = rules
            self._verdicts = {}
        return rules

    def may(self, session: Session, right: Right, name: str = CLUSTER_NAME) -> bool:
        """Whether somebody may do this to what is called so."""
        if self._rules_now is None:
            return True
        rules = self.rules
        asked = (right, session.principal.name, session.host, name)
        verdict = self._verdicts.get(asked)
        if verdict is None:
            if len(self._verdicts) >= _VERDICTS_MAX:
                self._verdicts.clear()
            verdict = self._verdicts[asked] = may(rules, session, right.operation, Resource(right.kind, name))
        return verdict

    def need(self, session: Session, right: Right, name: str, api: str, called: str = "") -> None:
        """Raises NotAllowed, and a line says so. Whoever calls it by something else is not told its name."""
        if not self.may(session, right, name):
            self.audit.refused(session, right, name, api, self._by(session, right, name))
            raise NotAllowed(right, called or name)

    def _by(self, session: Session, right: Right, name: str) -> object:
        return self.rules.judge(session, right.operation, Resource(right.kind, name)).by

    def may_any(self, session: Session, right: Right) -> bool:
        """Whether there can be something to which they may do this."""
        return not self.is_on or may_any(self.rules, session, right.operation, right.kind)

    def operations(self, session: Session, kind: ResourceType, name: str) -> int:
        """Everything that they may do to it, as Kafka's bits."""
        if self.is_on:
            return authorized_operations(self.rules, session, Resource(kind, name))
        return sum(1 << each for each in SUPPORTED[kind])

    def rights(self, row: ApiRights, session: Session, api: str) -> SenderRights:
        """For one request of an API."""
        return SenderRights(self, row, session, api)


class SenderRights:
    """What the sender of one request may do. Its API can ask for what stands in its row, and for nothing else."""

    __slots__ = ("_api", "_asked", "_gate", "_session")

    def __init__(self, gate: Gate, row: ApiRights, session: Session, api: str) -> None:
        self._gate = gate
        self._api = api
        self._asked = row.asked
        self._session = session

    def may(self, right: Right, name: str = CLUSTER_NAME) -> bool:
        try:
            self.need(right, name)
        except NotAllowed:
            return False
        return True

    def need(self, right: Right, name: str = CLUSTER_NAME, *, called: str = "") -> None:
        """Raises NotAllowed. `called` is what the sender calls it, where that is not its name."""
        self._check(right)
        self._gate.need(self._session, right, name, self._api, called)

    def sees(self, right: Right, name: str = CLUSTER_NAME) -> bool:
        """Whether it is shown: nobody has tried to do anything."""
        self._check(right)
        return self._gate.may(self._session, right, name)

    def may_any(self, right: Right) -> bool:
        self._check(right)
        return self._gate.may_any(self._session, right)

    def operations(self, kind: ResourceType, name: str = CLUSTER_NAME, *, asked: bool | None) -> int:
        """What they may do to it, as bits, or the number that says: nobody asked."""
        return self._gate.operations(self._session, kind, name) if asked else _NOBODY_ASKED

    def _check(self, right: Right) -> None:
        if right not in self._asked:
            raise AssertionError(f"{right} is not in the row of this API")


NOTHING: Final = SenderRights(
    Gate(Audit(SystemClock().monotonic), Rules), ApiRights(None, frozenset()), Session(ANONYMOUS, "", ""), ""
)
"""Before anybody has looked into the table."""
