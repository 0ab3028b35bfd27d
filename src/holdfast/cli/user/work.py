"""What `holdfast user` does: the log of users in a store, opened without a broker."""

from __future__ import annotations

from pathlib import Path

from holdfast.cluster.auth import remove_user, set_user
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.errors import BadUser, UserUnknown
from holdfast.cluster.identity import claim_store, read_cluster
from holdfast.errors import Rejected
from holdfast.io.calls import ThreadCalls
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.objects import NotFound, Objects
from holdfast.io.objects.open import open_objects
from holdfast.io.versions import VersionRetries
from holdfast.security.scram import MECHANISMS, SALT_SIZE, make_verifier
from holdfast.security.secret import Secret


def open_users(data: str | None, store: str | None, *, is_new: bool = False) -> AuthLog:
    """The users of a store. With `is_new` it may be one that no broker has used yet: it becomes a cluster's."""
    if (data is None) == (store is None):
        raise Rejected("say where the users are: --data DIR for a store in a data directory, or --store URL")
    place = store if store is not None else str(Path(str(data)) / "objects")
    if not is_new and "://" not in place and not Path(place).is_dir():
        raise Rejected(f"{place} is not a directory: name the data directory or the store of a broker")
    objects = open_objects(place)
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


def add_user(users: AuthLog, name: str, mechanism: str, password: Secret) -> None:
    if mechanism not in MECHANISMS:
        raise BadUser(name, f"there is no mechanism {mechanism}: there are {', '.join(MECHANISMS)}")
    salt = SystemChance().bits(8 * SALT_SIZE).to_bytes(SALT_SIZE, "big")
    users.commit(set_user(name, make_verifier(mechanism, password, salt)))


def list_users(users: AuthLog) -> list[dict[str, object]]:
    return [
        {"user": name, "mechanism": each.mechanism, "iterations": each.iterations}
        for name, verifiers in sorted(users.value.users.items())
        for _, each in sorted(verifiers.items())
    ]


def remove(users: AuthLog, name: str, mechanism: str | None) -> None:
    """With one mechanism, or with all."""
    mechanisms = [mechanism] if mechanism is not None else list(users.value.users.get(name, {}))
    if not mechanisms:
        raise UserUnknown(name, "any mechanism")
    users.commit(*(remove_user(name, each) for each in mechanisms))
