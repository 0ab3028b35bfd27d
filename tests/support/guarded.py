"""A broker with an authorizer, and Apache Kafka with its own; users for it, and rules in few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.broker.wire import Wire
from tests.support.apache import ApacheKafka
from tests.support.broker_process import BrokerProcess

from holdfast.broker.guard.rights import Right
from holdfast.protocol.api import Key
from holdfast.security.logins.plain import encode_plain
from holdfast.security.rules import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from holdfast.security.secret import Secret
from holdfast.testing.ports import free_port

PASSWORD = "pass"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class GuardedPorts:
    """Whoever comes through the plain port may everything; through the other one come users: `u0`, `u1`, …"""

    def __init__(self, plain: int, sasl: int, users: int) -> None:
        self.plain, self.sasl = plain, sasl
        self._given = 0
        self._users = users

    def settings(self) -> list[str]:
        """What both Kafka and Holdfast take."""
        names = " ".join(f'user_u{number}="{PASSWORD}"' for number in range(self._users))
        return [
            "sasl.enabled.mechanisms=PLAIN",
            f"listener.name.inside.plain.sasl.jaas.config={_PLAIN} required {names};",
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:ANONYMOUS",
        ]

    def user(self) -> str:
        """One that no other test has."""
        self._given += 1
        assert self._given <= self._users
        return f"u{self._given - 1}"

    def wire(self, user: str) -> Wire:
        """A connection of a user."""
        wire = Wire(self.sasl)
        assert wire.ask(Key.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == 0
        token = encode_plain(user, Secret(PASSWORD))
        assert wire.ask(Key.SASL_AUTHENTICATE, 2, auth_bytes=token).error_code == 0
        return wire

    def ask(self, key: Key, version: int, /, **fields: Any) -> Any:
        """As one who may everything."""
        with Wire(self.plain) as wire:
            return wire.ask(key, version, **fields)

    def allow(self, user: str, *rights: Right, name: str = "*", **more: Any) -> None:
        """Rules for a user; in few calls, since each is durable."""
        made = [rule(user, each, name, **more) for each in rights]
        if made:
            assert [each.error_code for each in self.ask(Key.CREATE_ACLS, 3, creations=made).results] == [0] * len(made)

    def take_back(self, user: str) -> int:
        """All rules of a user; how many there were."""
        wanted = {
            "resource_type_filter": ResourceType.ANY,
            "resource_name_filter": None,
            "pattern_type_filter": PatternType.ANY,
            "principal_filter": f"User:{user}",
            "host_filter": None,
            "operation": Operation.ANY,
            "permission_type": Permission.ANY,
        }
        [result] = self.ask(Key.DELETE_ACLS, 3, filters=[wanted]).filter_results
        assert result.error_code == 0
        return len(result.matching_acls)


class Guarded(GuardedPorts):
    """Such a broker."""

    def __init__(self, folder: Path, *settings: str, users: int = 500) -> None:
        super().__init__(free_port(), free_port(), users)
        file = folder / "server.properties"
        lines = [
            f"listeners=PLAINTEXT://127.0.0.1:{self.plain},INSIDE://127.0.0.1:{self.sasl}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:SASL_PLAINTEXT",
        ]
        file.write_text("\n".join([*lines, *self.settings(), ""]))
        given = ["group.initial.rebalance.delay.ms=0", *settings]
        self.process = BrokerProcess(
            folder / "data", port=self.plain, settings=given, options=["--config", str(file)], sets_listeners=True
        )


class GuardedKafka(GuardedPorts):
    """Apache Kafka, with the same settings."""

    def __init__(self, folder: Path, users: int = 500) -> None:
        sasl, controller = free_port(), free_port()
        super().__init__(0, sasl, users)
        self.process = ApacheKafka(folder)
        self.plain = self.process.port
        doors = f"PLAINTEXT://127.0.0.1:{self.plain},INSIDE://127.0.0.1:{sasl}"
        self.process.more += (
            f"listeners={doors},CONTROLLER://127.0.0.1:{controller}",
            f"advertised.listeners={doors}",
            f"controller.quorum.voters=0@127.0.0.1:{controller}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,INSIDE:SASL_PLAINTEXT",
            *self.settings(),
        )


def rule(
    user: str,
    right: Right,
    name: str = "*",
    *,
    pattern: PatternType = PatternType.LITERAL,
    permission: Permission = Permission.ALLOW,
    host: str = "*",
) -> dict[str, Any]:
    """As CreateAcls takes it. What is done to the cluster has one name, and Delete stands under All there."""
    is_cluster = right.kind is ResourceType.CLUSTER
    operation = Operation.ALL if is_cluster and right.operation is Operation.DELETE else right.operation
    return {
        "resource_type": right.kind,
        "resource_name": CLUSTER_NAME if is_cluster else name,
        "resource_pattern_type": pattern,
        "principal": f"User:{user}",
        "host": host,
        "operation": operation,
        "permission_type": permission,
    }
