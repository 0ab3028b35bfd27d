"""What one internal partition of transactions holds: the last record of each transactional id counts."""

from __future__ import annotations

from holdfast.coordinator.runtime.replay import newest_values
from holdfast.coordinator.transaction.records import decode_transaction, decode_transactional_id
from holdfast.coordinator.transaction.transaction import Transaction
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.errors import stored


async def load(partition: PartitionLog, place: str) -> list[Transaction]:
    """Read a whole internal partition."""
    newest = await newest_values(partition, place, decode_transactional_id)
    with stored(place):
        return [decode_transaction(transactional_id, value) for transactional_id, value in newest.items()]
