"""A second legitimate writer of a partition's manifest, as compaction by another process is one."""

from __future__ import annotations

from tests.log.log_world import LogWorld

from holdfast.io.versions import VersionRetries
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.cached.blocks import BlockCache
from holdfast.segment.cached.read import SegmentReader
from holdfast.segment.manifest.changes import Replace
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.names import new_tag
from holdfast.segment.writer import encode_segment


def replace_first_segment(world: LogWorld, partition: PartitionLog) -> None:
    """Replace it by a copy under another name: in the same epoch, with a manifest log and a cache of its own."""
    chance, identity = partition.ground.chance, partition.ground.journal.identity
    patience = VersionRetries(world.clock, chance, lambda _: None)
    home = partition.home
    log = ManifestLog.open(world.objects, home, cluster_id=identity.cluster, writer="other", patience=patience)
    if not len(log.manifest.segments):
        return
    old = log.manifest.segments[0]
    found = SegmentReader(BlockCache(world.objects, 1 << 22)).read(old, old.base, 1 << 30)
    data, info = encode_segment(
        found.buffers, home=home, epoch=log.manifest.epoch, tag=new_tag(chance), aborted=old.aborted
    )
    world.objects.put_if_absent(info.name, data)
    log.commit(Replace((old.name,), (info,), world.clock.monotonic()))
