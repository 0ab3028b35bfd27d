"""Users that log in with SCRAM, through a broker. A password is salted here: it is never sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.client.codes import check
from holdfast.errors import Rejected
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from holdfast.protocol.generated.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from holdfast.security.logins.scram import ITERATIONS, MECHANISMS, salt_password
from holdfast.security.secret import Secret

if TYPE_CHECKING:
    from holdfast.client.nodes import Nodes

_NUMBERS = {name: number for number, name in enumerate(MECHANISMS, 1)}  # As the messages have them.


class UserLogin(NamedTuple):
    """One way in which a user logs in."""

    user: str
    mechanism: str
    iterations: int


def list_users(nodes: Nodes) -> list[UserLogin]:
    """All users with all their ways."""
    answer = nodes.any().ask(Key.DESCRIBE_USER_SCRAM_CREDENTIALS, DescribeUserScramCredentialsRequest(users=None))
    check("the users", answer.error_code, answer.error_message)
    names = {number: name for name, number in _NUMBERS.items()}
    for each in answer.results:
        check(f"user {each.user}", each.error_code, each.error_message)
    return sorted(
        UserLogin(each.user, names.get(info.mechanism, str(info.mechanism)), info.iterations)
        for each in answer.results
        for info in each.credential_infos
    )


def set_user(nodes: Nodes, name: str, mechanism: str, password: Secret, salt: bytes) -> None:
    """Make a user, or give one another password. A repeat is harmless."""
    salted = salt_password(MECHANISMS[mechanism_of(mechanism)], password, salt, ITERATIONS)
    made = ScramCredentialUpsertion(
        name=name, mechanism=_NUMBERS[mechanism], iterations=ITERATIONS, salt=salt, salted_password=salted
    )
    _alter(nodes, name, AlterUserScramCredentialsRequest(deletions=[], upsertions=[made]))


def remove_user(nodes: Nodes, name: str, mechanism: str) -> None:
    """With one mechanism. Who tries again after a lost answer may find it gone."""
    gone = ScramCredentialDeletion(name=name, mechanism=_NUMBERS[mechanism_of(mechanism)])
    _alter(nodes, name, AlterUserScramCredentialsRequest(deletions=[gone], upsertions=[]))


def mechanism_of(name: str) -> str:
    """A mechanism that keeps users."""
    if name not in MECHANISMS:
        raise Rejected(f"there is no mechanism {name}: there are {', '.join(MECHANISMS)}")
    return name


def _alter(nodes: Nodes, name: str, asked: AlterUserScramCredentialsRequest) -> None:
    [done] = nodes.controller().ask(Key.ALTER_USER_SCRAM_CREDENTIALS, asked).results
    if done.error_code == Code.RESOURCE_NOT_FOUND:
        raise Rejected(done.error_message or f"there is no user {name}")
    check(f"user {name}", done.error_code, done.error_message)
