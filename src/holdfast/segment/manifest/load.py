"""Finding and reading manifests in the store.

The newest takes four requests however many segments and versions there are: the hint, one listing from there, the
newest version, its full list.
"""

from __future__ import annotations

from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import Versions, full_before, read_again
from holdfast.segment.errors import Damaged, NoManifest
from holdfast.segment.manifest.codec import Full, Steps, decode, producers_of
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.producers import Producers
from holdfast.types import PartitionId

_LOADS_MAX = 3


def load_version(versions: Versions, number: int, known: tuple[int, Full] | None) -> tuple[Manifest, Steps]:
    """One version: one request if its full version is known (its number and what it holds), otherwise two, or three.

    One that was misread is loaded again.
    """
    return read_again(lambda: _load_version(versions, number, known))


def _load_version(versions: Versions, number: int, known: tuple[int, Full] | None) -> tuple[Manifest, Steps]:
    full_number = full_before(number)
    data = versions.objects.get(versions.name(number))
    full = known[1] if known and known[0] == full_number else None
    if full is None and full_number != number:
        name = versions.name(full_number)
        full = decode(name, versions.objects.get(name), None)[1].full

    def producers_at(version: int) -> Producers:
        return producers_of(versions.name(version), versions.objects.get(versions.name(version)))

    manifest, steps = decode(versions.name(number), data, full, producers_at)
    if (manifest.version, manifest.home.manifests) != (number, versions.prefix):
        raise Damaged(versions.name(number), f"it is version {manifest.version} of {manifest.home.manifests}")
    return manifest, steps


def load_newest(
    versions: Versions, after: int | None = None, known: tuple[int, Full] | None = None
) -> tuple[Manifest, Steps] | None:
    """The newest version; with `after`, only if it is above that."""
    for _ in range(_LOADS_MAX):
        number = versions.newest(after)
        if number is None:
            return None
        try:
            return load_version(versions, number, known)
        except NotFound as failure:  # Collected between two requests: we were very slow, and there is a newer one.
            gone = failure
    raise Damaged(gone.name, "it is missing, but needed by the newest version")


def load_manifest(objects: Objects, home: PartitionId) -> Manifest:
    """The newest manifest of a partition, for reading."""
    loaded = load_newest(Versions(objects, home.manifests))
    if loaded is None:
        raise NoManifest(home.manifests)
    return loaded[0]
