"""Client quotas as values: whom they are for, what they may be, and how they are looked up."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, TypeAlias

from holdfast.errors import Rejected

Entity: TypeAlias = dict[str, str | None]  # The type of each part, and its name; None stands for all without their own.

_USER, _CLIENT, _IP = "user", "client-id", "ip"


class Quota(enum.StrEnum):
    """What somebody may use only so much of in a second."""

    PRODUCED = "producer_byte_rate"
    FETCHED = "consumer_byte_rate"
    WORK = "request_percentage"  # Of the event loop's time.
    CHANGES = "controller_mutation_rate"  # Partitions that are made or deleted.


_OF_CLIENTS = frozenset(Quota)
_CREATION_RATE = "connection_creation_rate"
_OF_ADDRESSES = frozenset({_CREATION_RATE})
_INT_MAX = 2**31 - 1


class QuotaRefused(Rejected):
    """There can be no such quota."""

    def __init__(self, reason: str, *, kind_unknown: bool = False) -> None:
        super().__init__(f"quota: {reason}")
        self.kind_unknown = kind_unknown


def entity_text(entity: Entity) -> str:
    """The form in which an entity is stored; equal entities have the same."""
    return json.dumps(entity, sort_keys=True, separators=(",", ":"))


def parse_entity(text: str) -> Entity:
    entity: Entity = json.loads(text)
    return entity


def check_entity(entity: Entity) -> None:
    """Raise unless quotas can be for such an entity."""
    kinds = set(entity)
    if kinds not in ({_USER}, {_CLIENT}, {_USER, _CLIENT}, {_IP}):
        raise QuotaRefused(f"{sorted(kinds)} is neither user, client-id, both of them, nor ip")
    if "" in entity.values():
        raise QuotaRefused("a name is empty")
    if entity.get(_IP) is not None and not _is_address(entity[_IP]):
        raise QuotaRefused(f"{entity[_IP]} is no address, and names are not looked up")


def _is_address(text: str | None) -> bool:
    return text is not None and normal_address(text) is not None


def normal_address(text: str) -> str | None:
    """An address in the one form in which it is stored and looked up; None if it is none."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def normal(entity: Entity) -> Entity:
    """An entity that was checked, as it is stored."""
    name = entity.get(_IP)
    return entity if name is None else {_IP: normal_address(name)}


def rate_of_address(quotas: Mapping[str, Mapping[str, float]], address: str) -> float | None:
    """New connections a second that are taken from an address: by its own quota, or by that of all others."""
    for name in (normal_address(address), None):
        rate = quotas.get(entity_text({_IP: name}), {}).get(_CREATION_RATE)
        if rate is not None:
            return rate
    return None


class Rate(NamedTuple):
    """A quota that holds for somebody."""

    scope: tuple[str | None, str | None]  # The user and the client id that share it; None: all of them do.
    value: float


def rates_of_client(quotas: Mapping[str, Mapping[str, float]], user: str, client: str) -> dict[str, Rate]:
    """What holds for a user's client: of each kind the most special quota, in Kafka's order."""
    both, of_user, of_client = (user, client), (user, None), (None, client)
    ranked: list[tuple[Entity, tuple[str | None, str | None]]] = [
        ({_USER: user, _CLIENT: client}, both),
        ({_USER: user, _CLIENT: None}, both),
        ({_USER: user}, of_user),
        ({_USER: None, _CLIENT: client}, both),
        ({_USER: None, _CLIENT: None}, both),
        ({_USER: None}, of_user),
        ({_CLIENT: client}, of_client),
        ({_CLIENT: None}, of_client),
    ]
    found: dict[str, Rate] = {}
    for entity, scope in ranked:
        for kind, value in quotas.get(entity_text(entity), {}).items():
            found.setdefault(kind, Rate(scope, value))
    return found


def check_value(entity: Entity, key: str, value: float | None) -> None:
    """Raise unless an entity can have this quota; None: it is to be removed."""
    allowed = _OF_ADDRESSES if _IP in entity else _OF_CLIENTS
    if key not in allowed:
        raise QuotaRefused(f"{key} is none of {sorted(allowed)}")
    if value is not None and not 0 < value < math.inf:
        raise QuotaRefused(f"{key} is {value}, it must be above 0")
    if key == _CREATION_RATE and value is not None and not (value.is_integer() and value <= _INT_MAX):
        raise QuotaRefused(f"{key} is {value}, it must be a whole number of at most {_INT_MAX}")


class Match(enum.IntEnum):
    """How a filter compares names, as requests number it."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaFilter(NamedTuple):
    """One condition on an entity."""

    kind: str
    match: Match
    name: str | None

    @staticmethod
    def of(kind: str, match: int, name: str | None) -> QuotaFilter:
        if kind not in (_USER, _CLIENT, _IP):
            raise QuotaRefused(f"there is no entity type {kind!r}", kind_unknown=True)
        if match not in list(Match):
            raise QuotaRefused(f"there is no match type {match}")
        if (match == Match.EXACT) != (name is not None):
            raise QuotaRefused("an exact match, and no other, needs a name")
        if kind == _IP and name is not None:
            name = normal_address(name) or name
        return QuotaFilter(kind, Match(match), name)

    @staticmethod
    def check_all(filters: Sequence[QuotaFilter]) -> None:
        kinds = [each.kind for each in filters]
        if len(set(kinds)) < len(kinds):
            raise QuotaRefused("an entity type is named twice")
        if _IP in kinds and len(kinds) > 1:
            raise QuotaRefused("an address has neither a user nor a client id")

    @staticmethod
    def all_match(filters: Sequence[QuotaFilter], entity: Entity, *, strict: bool) -> bool:
        """Whether every condition holds; strict: and nothing else is known of the entity."""
        if strict and {each.kind for each in filters} != set(entity):
            return False
        return all(each.matches(entity) for each in filters)

    def matches(self, entity: Entity) -> bool:
        if self.kind not in entity:
            return False
        return self.match is Match.ANY or entity[self.kind] == self.name
