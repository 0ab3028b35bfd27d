"""Members of a classic group, by hand: each with a connection of its own, since a join waits."""

from __future__ import annotations

from typing import Any

from tests.broker.wire import Wire

from holdfast.protocol.api import Key


class Member:
    """One member of a group."""

    def __init__(self, port: int, group: str, *, instance: str | None = None, version: int = 9) -> None:
        self.wire = Wire(port, client_id="member")
        self.group = group
        self.instance = instance
        self.id = ""
        self.generation = -1
        self._version = version
        self._sent = 0

    def start_join(
        self, *, metadata: bytes = b"", protocols: tuple[str, ...] = ("range",), timeout_ms: int = 10_000
    ) -> None:
        """Ask to join; the answer may take its time."""
        self._sent = self.wire.send(
            Key.JOIN_GROUP,
            self._version,
            group_id=self.group,
            session_timeout_ms=timeout_ms,
            rebalance_timeout_ms=timeout_ms,
            member_id=self.id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[{"name": name, "metadata": metadata} for name in protocols],
        )

    def joined(self) -> Any:
        """The answer to a join."""
        answer = self.wire.answer(Key.JOIN_GROUP, self._version, self._sent)
        self.id = answer.member_id
        self.generation = answer.generation_id
        return answer

    def join(self, **fields: Any) -> Any:
        """Join, with the id that is handed out first."""
        self.start_join(**fields)
        answer = self.joined()
        if answer.error_code == 79:
            self.start_join(**fields)
            answer = self.joined()
        return answer

    def start_sync(self, assignments: dict[str, bytes] | None = None, *, version: int = 5) -> None:
        rows = [{"member_id": member, "assignment": data} for member, data in (assignments or {}).items()]
        self._sent = self.wire.send(
            Key.SYNC_GROUP,
            version,
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=rows,
        )

    def synced(self, *, version: int = 5) -> Any:
        return self.wire.answer(Key.SYNC_GROUP, version, self._sent)

    def sync(self, assignments: dict[str, bytes] | None = None, *, version: int = 5) -> Any:
        self.start_sync(assignments, version=version)
        return self.synced(version=version)

    def heartbeat(self, *, version: int = 4) -> int:
        answer = self.wire.ask(
            Key.HEARTBEAT,
            version,
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance,
        )
        code: int = answer.error_code
        return code

    def leave(self, *, version: int = 5) -> Any:
        members = [{"member_id": self.id, "group_instance_id": self.instance}]
        return self.wire.ask(Key.LEAVE_GROUP, version, group_id=self.group, member_id=self.id, members=members)

    def close(self) -> None:
        self.wire.close()
