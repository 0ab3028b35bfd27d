"""What `holdfast user` does: through a broker, or with the log of users in a store, which needs none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from holdfast.cli.terminal.broker import asking, broker_at
from holdfast.client import Client
from holdfast.client.admin.users import UserLogin, mechanism_of
from holdfast.cluster.auth import remove_user, set_user
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.errors import UserUnknown
from holdfast.cluster.identity import claim_store, read_cluster
from holdfast.cluster.served_store import chosen_store
from holdfast.errors import Rejected
from holdfast.io.calls import ThreadCalls
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects import NotFound, Objects
from holdfast.io.objects.open import open_objects
from holdfast.io.versions import VersionRetries
from holdfast.security.logins.scram import SALT_SIZE, make_verifier
from holdfast.security.secret import Secret


@dataclass(frozen=True, slots=True)
class UsersPlace:
    """Where the users are: one of three."""

    data: str | None = None
    store: str | None = None
    bootstrap: str | None = None
    config: Path | None = None

    def __post_init__(self) -> None:
        is_asked = self.bootstrap is not None or self.config is not None
        if [self.data is not None, self.store is not None, is_asked].count(True) != 1:
            raise Rejected(
                "say where the users are: --data DIR for a store in a data directory, --store URL, or --bootstrap "
                "HOST:PORT or --command-config FILE for a broker that runs"
            )


class UserStore(Protocol):
    """UserStore, wherever they are."""

    def add(self, name: str, mechanism: str, password: Secret) -> None: ...

    def list(self) -> Iterable[UserLogin]: ...

    def remove(self, name: str, mechanisms: Iterable[str]) -> None: ...


@contextmanager
def open_users(place: UsersPlace, *, is_new: bool = False) -> Iterator[UserStore]:
    """The users of a place. With `is_new` a store may be one that no broker has used yet: it becomes a cluster's."""
    if place.data is None and place.store is None:
        with asking(broker_at(place.bootstrap, place.config)) as client:
            yield BrokerUsers(client)
        return
    where = place.store if place.store is not None else chosen_store(Path(str(place.data)), None, "--store")
    yield StoredUsers(_open_log(where, is_new=is_new))


def _open_log(where: str, *, is_new: bool) -> AuthLog:
    if not is_new and "://" not in where and not Path(where).is_dir():
        raise Rejected(f"{where} is not a directory: name the data directory or the store of a broker")
    objects = open_objects(where)
    patience = VersionRetries(SystemClock(), SystemChance(), ThreadCalls().block)
    writer = f"{SystemChance().bits(128):032x}"
    return AuthLog(objects, _cluster(objects, is_new=is_new), writer, patience)


def _cluster(objects: Objects, *, is_new: bool) -> str:
    if is_new:
        return claim_store(objects, f"{SystemChance().bits(128):032x}")
    try:
        return read_cluster(objects)
    except NotFound:
        raise Rejected(f"{objects.url} is no cluster's: no broker has run on it, and it has no users") from None


class StoredUsers:
    """Those in a store."""

    def __init__(self, log: AuthLog) -> None:
        self._log = log

    def add(self, name: str, mechanism: str, password: Secret) -> None:
        salt = SystemChance().bits(8 * SALT_SIZE).to_bytes(SALT_SIZE, "big")
        self._log.commit(set_user(name, make_verifier(mechanism_of(mechanism), password, salt)))

    def list(self) -> Iterable[UserLogin]:
        users = self._log.value.users
        return [UserLogin(name, each.mechanism, each.iterations) for name in users for each in users[name].values()]

    def remove(self, name: str, mechanisms: Iterable[str]) -> None:
        self._log.commit(*(remove_user(name, each) for each in mechanisms))


class BrokerUsers:
    """Those of a broker that runs."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, mechanism: str, password: Secret) -> None:
        self._client.set_user(name, mechanism, password)

    def list(self) -> Iterable[UserLogin]:
        return self._client.users()

    def remove(self, name: str, mechanisms: Iterable[str]) -> None:
        for each in mechanisms:
            self._client.remove_user(name, each)


def list_users(users: UserStore) -> list[dict[str, object]]:
    return [each._asdict() for each in sorted(users.list())]


def remove(users: UserStore, name: str, mechanism: str | None) -> None:
    """With one mechanism, or with all."""
    mechanisms = (
        [mechanism] if mechanism is not None else [each.mechanism for each in users.list() if each.user == name]
    )
    if not mechanisms:
        raise UserUnknown(name, "any mechanism")
    users.remove(name, mechanisms)
