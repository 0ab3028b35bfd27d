"""What each broker of a cluster says of one partition, asked by itself: whoever leads, and whoever does not."""

from __future__ import annotations

from typing import Any

from holdfast.client.admin.topics import read_metadata
from holdfast.client.connection import Connection, Connector
from holdfast.client.offsets import LATEST
from holdfast.client.settings import ClientSettings
from holdfast.errors import HoldfastError
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

_ANSWER_S = 5.0


def words_of_each(bootstrap: str, topic: str, partition: int) -> dict[str, Any]:
    """By address: who leads in which epoch, the high watermark, and the last stable offset; or why there is none."""
    settings = ClientSettings.at(bootstrap)
    connector = Connector(settings, "torture", _ANSWER_S)
    return {str(each): _words(connector, each, topic, partition) for each in settings.bootstrap_servers}


def _words(connector: Connector, address: Address, topic: str, partition: int) -> Any:
    try:
        connection = connector.connect(address)
    except (OSError, HoldfastError) as failure:
        return f"{failure!r}"
    try:
        part = read_metadata(connection, [topic]).topics[topic].partitions[partition]
        ends = {"high_watermark": _end(connection, topic, partition, committed=False)}
        ends["last_stable"] = _end(connection, topic, partition, committed=True)
        return {"leader": part.leader, "epoch": part.leader_epoch, **ends}
    except (OSError, HoldfastError) as failure:
        return f"{failure!r}"
    finally:
        connection.close()


def _end(connection: Connection, topic: str, partition: int, *, committed: bool) -> int | str:
    """An offset, or the name of what it says instead."""
    wanted = ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=LATEST)
    named = ListOffsetsTopic(name=topic, partitions=[wanted])
    asked = ListOffsetsRequest(replica_id=-1, isolation_level=int(committed), topics=[named], timeout_ms=5000)
    [found] = connection.ask(Key.LIST_OFFSETS, asked).topics[0].partitions
    return Code(found.error_code).name if found.error_code else found.offset
