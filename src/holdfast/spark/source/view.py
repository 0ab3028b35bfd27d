"""What can be read now: the stored part of every partition and, where a broker is asked, the tail it holds.

Without a broker, what is acknowledged and not flushed is read from rounds, where the write-ahead log is in the store:
then it counts as stored, and the catalog knows it.

A broker is asked first and the manifests are looked at after it, so that what it flushed meanwhile is planned from
segments, and the tail begins exactly where the stored part ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from holdfast.catalog.catalog import Catalog, open_catalog
from holdfast.catalog.errors import NotMadeYet
from holdfast.client import ClientSettings
from holdfast.client.client import Client
from holdfast.client.offsets import LATEST, FoundOffset
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.subscription import Assigned, is_chosen, partitions_of
from holdfast.types import TopicPartition

Ends: TypeAlias = Mapping[TopicPartition, int]


class PartitionBounds(NamedTuple):
    """What can be read of a partition: `[log_start, end)`, of which `[log_start, stored)` from the store."""

    log_start: int
    stored: int
    end: int
    epoch: int  # The leader epoch at the end. The manifest learns of a new one with its first flush.


@dataclass(frozen=True)
class View:
    """One look at all partitions that are wanted."""

    catalog: Catalog
    marks: Mapping[TopicPartition, PartitionBounds]


def first_view(options: ReadOptions) -> View:
    """Open the store, and look."""
    chosen = lambda topic: is_chosen(options.subscription, topic)  # noqa: E731
    return look(open_catalog(options.path, options.store, topics=chosen, rounds=options.kafka is None), options)


def whole_view(options: ReadOptions) -> View:
    """The same for a read that happens once: a partition that is not there yet must not pass for an empty one."""
    return whole(first_view(options), options)


def whole(view: View, options: ReadOptions) -> View:
    """A view, if no partition lacks in it."""
    for where in sorted(view.catalog.missing):
        if not isinstance(options.subscription, Assigned) or where in options.subscription.partitions:
            raise NotMadeYet(str(where))
    return view


def next_view(view: View, options: ReadOptions) -> View:
    """Look again."""
    return look(view.catalog.refresh(), options, gone_is_fine=not options.fail_on_data_loss)


def look(catalog: Catalog, options: ReadOptions, *, gone_is_fine: bool = False) -> View:
    """What can be read, given a look at the store that is just made."""
    wanted = partitions_of(options.subscription, catalog, gone_is_fine=gone_is_fine)
    ends: Mapping[TopicPartition, FoundOffset] = {}
    if options.kafka is not None:
        ends = _ends(options.kafka, wanted, committed=options.committed)
        if any(end.offset > catalog.readable(where, committed=options.committed).end for where, end in ends.items()):
            catalog = catalog.refresh()
    return View(catalog, {where: _marks(catalog, where, options, ends) for where in wanted})


def ends_of(client: Client, view: View, *, committed: bool) -> Ends:
    """Where the partitions of a view can be read to now: one request to each of their brokers."""
    told = client.list_offsets(dict.fromkeys(view.marks, LATEST), committed=committed)
    return {where: max(each.offset, view.marks[where].stored) for where, each in told.items()}


def _ends(
    kafka: ClientSettings, wanted: Iterable[TopicPartition], *, committed: bool
) -> dict[TopicPartition, FoundOffset]:
    with Client(kafka, "holdfast-spark") as client:
        return client.list_offsets(dict.fromkeys(wanted, LATEST), committed=committed)


def _marks(
    catalog: Catalog, where: TopicPartition, options: ReadOptions, ends: Mapping[TopicPartition, FoundOffset]
) -> PartitionBounds:
    manifest = catalog.manifest(where)
    stored = catalog.readable(where, committed=options.committed).end
    told, tail = ends.get(where), catalog.tails.get(where)
    if told is None or told.offset <= stored:
        epoch = manifest.epoch if tail is None else tail.epoch
        return PartitionBounds(manifest.log_start, stored, stored, epoch)
    return PartitionBounds(manifest.log_start, stored, told.offset, max(manifest.epoch, told.leader_epoch))


def ends_of_epochs(options: ReadOptions, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Where leader epochs ended, as the brokers know it: they know of later ones before the manifests do."""
    if not epochs or options.kafka is None:
        return {}
    with Client(options.kafka, "holdfast-spark") as client:
        return client.ends_of_epochs({(topic, number): each for (topic, number), each in epochs.items()})
