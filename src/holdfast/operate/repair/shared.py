"""What a cluster shares (its metadata; its users and rules), from the newest version that can be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from holdfast.cluster.version_log import SharedKind, V, load_version
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.chance import Chance
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import NewerFormat
from holdfast.io.versions import FULL_EVERY, Stamp, Versions, full_before
from holdfast.operate.repair.item import Item


@dataclass
class FoundShared(Generic[V]):
    """What is known of it. Without items it is sound, and stays as it is."""

    value: V
    newest: int | None = None
    items: list[Item] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)


def find_shared(kind: SharedKind[V], objects: Objects, cluster: str, lost: str) -> FoundShared[V]:
    """The newest version that can be read; an item for each above it. `lost` says what it means that they are gone."""
    versions = Versions(objects, kind.prefix)
    numbers = [number for each in objects.list(kind.prefix) if (number := versions.number(each.name)) is not None]
    found = FoundShared(kind.empty(cluster), numbers[-1] if numbers else None)
    for number in reversed(numbers):
        try:
            found.value = load_version(kind, versions, number, cluster)
            break
        except (NewerFormat, Unavailable):
            raise
        except (HoldfastError, NotFound, LookupError, TypeError, ValueError) as damage:
            found.items.append(Item(kind.kind, versions.name(number), f"{damage}; {lost}"))
            found.originals.append(versions.name(number))
    return found


def write_shared(
    kind: SharedKind[V], objects: Objects, value: V, newest: int | None, writer: str, chance: Chance
) -> None:
    """Everything as one full version above all that are there, so that nobody reads a damaged one again."""
    versions = Versions(objects, kind.prefix)
    number = 0 if newest is None else full_before(newest) + FULL_EVERY
    stamp = Stamp(0, writer, f"{chance.bits(128):032x}")
    objects.put_if_absent(versions.name(number), [kind.encode(kind.numbered(value, number), [], stamp)])
    versions.leave_hint(number)
