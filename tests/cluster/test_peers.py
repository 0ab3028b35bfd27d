"""What brokers prove to each other, and which of their requests count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.log.log_world import in_loop, turns

from holdfast.broker.net.request import Request
from holdfast.broker.peers.door import PeerDoor, PeerSession, RequestLate
from holdfast.broker.peers.link import PeerSilent
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.pokes import Pokes
from holdfast.broker.peers.proof import ProofWrong, Way, framed_request, known_version
from holdfast.cluster.lives import BrokerLife
from holdfast.cluster.secret import NAME, cluster_secret
from holdfast.errors import HoldfastError
from holdfast.io.address import Address
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.store_errors import Damaged
from holdfast.protocol.api import Key
from holdfast.protocol.generated.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from holdfast.protocol.header import decode_request_header, frame_response
from holdfast.protocol.messages import decode_request, encode_request, encode_response
from holdfast.record.marker import Marker, MarkerKind
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.types import Buffer, TopicPartition

SECRET, OTHER_SECRET = bytes(32), bytes(range(32))
KEY, VERSION = Key.WRITE_TXN_MARKERS, 1
LIFE = BrokerLife(4, 12, "", "", "", {"PLAINTEXT": Address("x", 1)})
PLACE = TopicPartition("t", 3)
MARKER = Marker(MarkerKind.COMMIT, 7, 2, 5, 0)


class Behind:
    """What stands behind the door: says who came, and that every marker is written."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.messages: list[WriteTxnMarkersRequest] = []

    def start_produce(self, request: Request, done: Any) -> bool:
        raise AssertionError((request, done))

    async def handle(self, request: Request) -> Sequence[Buffer]:
        self.sessions.append(request.session)
        message = decode_request(KEY, request.version, request.body)
        assert isinstance(message, WriteTxnMarkersRequest)
        self.messages.append(message)
        markers = [
            WritableTxnMarkerResult(
                producer_id=each.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=at) for at in topic.partition_indexes
                        ],
                    )
                    for topic in each.topics
                ],
            )
            for each in message.markers
        ]
        body = encode_response(KEY, request.version, WriteTxnMarkersResponse(markers=markers))
        return frame_response(KEY, request.version, request.header.correlation_id, body)


def request_of(data: Sequence[Buffer]) -> Request:
    frame = memoryview(bytearray(b"".join(data)))[4:]
    return Request(decode_request_header(frame), frame, Session(ANONYMOUS, "h", "PLAINTEXT"), Address("x", 1))


def framed(way: Way, secret: bytes = SECRET) -> list[Buffer]:
    return framed_request(secret, way, KEY, VERSION, 0, encode_request(KEY, VERSION, WriteTxnMarkersRequest()))


class Wire:
    """From the one who asks to a door, with a chance to change what is sent and answered."""

    def __init__(self, door: PeerDoor) -> None:
        self.door = door
        self.answered: Any = lambda data: data

    async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
        del key, seconds
        try:
            found = await self.door.handle(request_of(frame))
        except HoldfastError as failure:
            raise PeerSilent(life, failure) from None
        return memoryview(self.answered(b"".join(found)[4:]))


@in_loop
async def test_a_broker_is_known_by_what_it_proves() -> None:
    """C7, in part: request and answer, end to end; without a proof somebody is who they were."""
    behind = Behind()
    peers = Peers(3, SECRET, Wire(PeerDoor(behind, LIFE.life, SECRET)))
    assert await peers.end(LIFE, PLACE, MARKER) == 0
    [session], [message] = behind.sessions, behind.messages
    assert isinstance(session, PeerSession)
    assert session.life == 3
    [sent] = message.markers
    assert (sent.producer_id, sent.producer_epoch, sent.transaction_result, sent.coordinator_epoch) == (7, 2, True, 5)
    assert [(each.name, list(each.partition_indexes)) for each in sent.topics] == [("t", [3])]
    body = encode_request(KEY, VERSION, WriteTxnMarkersRequest())
    plain = [(len(b"".join(body)) + 11).to_bytes(4, "big") + bytes([0, 27, 0, 1, 0, 0, 0, 0, 255, 255, 0]), *body]
    await PeerDoor(behind, LIFE.life, SECRET).handle(request_of(plain))
    assert not isinstance(behind.sessions[-1], PeerSession)


@in_loop
async def test_who_is_asked_hears_which_version_of_the_metadata_is_there() -> None:
    """C5, in part: with every request; what is no version is none."""
    door, heard = PeerDoor(Behind(), LIFE.life, SECRET), list[int]()
    door.heard = heard.append
    known = iter([4412, 10**18 - 1, -1])
    peers = Peers(3, SECRET, Wire(door), lambda: next(known))
    await peers.reach(LIFE)
    await peers.end(LIFE, PLACE, MARKER)
    await peers.reach(LIFE)
    assert heard == [4412, 10**18 - 1, -1]
    assert [known_version(each) for each in (None, "", "broker", "broker-", "broker-x", "broker-" + "9" * 19)] == [
        -1
    ] * 6


@in_loop
async def test_one_word_at_a_time_is_on_its_way_to_another_broker() -> None:
    """C5, in part: what is committed meanwhile is told behind it, once; who does not answer is let be."""
    said, at, go_on = list[int](), 0, asyncio.Event()

    class Slow(Wire):
        async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
            said.append(at)
            await go_on.wait()
            if len(said) == 2:
                raise PeerSilent(life, "it is gone")
            return await super().exchange(life, key, frame, seconds)

    pokes = Pokes(Peers(3, SECRET, Slow(PeerDoor(Behind(), LIFE.life, SECRET)), lambda: at))
    for at in range(5):  # noqa: B007
        pokes.send([LIFE])
        await turns(10)
    assert said == [0]
    go_on.set()
    await turns(50)
    assert said == [0, 4]
    pokes.send([LIFE])
    await turns(50)
    assert said == [0, 4, 4]
    pokes.close()


@in_loop
async def test_who_does_not_know_the_secret_is_no_broker() -> None:
    """C7, in part: nor who changes anything of what another has proven."""
    behind = Behind()
    door = PeerDoor(behind, LIFE.life, SECRET)
    with pytest.raises(ProofWrong):
        await door.handle(request_of(framed(Way(3, LIFE.life, 1), OTHER_SECRET)))
    good = b"".join(framed(Way(3, LIFE.life, 1)))
    assert door.is_peer(memoryview(good)[4:])
    for at in range(4 + 10 + len("broker-0"), len(good)):
        changed = bytearray(good)
        changed[at] ^= 1
        assert not door.is_peer(memoryview(changed)[4:]), at
    assert not behind.sessions


@in_loop
async def test_an_answer_has_to_be_proven_too() -> None:
    """C7, in part: or whoever listens there could say that an end is written."""
    behind = Behind()
    wire = Wire(PeerDoor(behind, LIFE.life, SECRET))
    peers = Peers(3, SECRET, wire)
    for change in (lambda data: data[:-5] + b"\x01" + data[-4:], lambda data: data[:4] + b"\x00" + data[42:]):
        wire.answered = change
        with pytest.raises(PeerSilent):
            await peers.end(LIFE, PLACE, MARKER)
    assert len(behind.sessions) == 2


@in_loop
async def test_a_request_counts_once_and_never_behind_a_later_one() -> None:
    """C7, in part: its sender told it again and went on: what is open by now is another transaction."""
    behind = Behind()
    door = PeerDoor(behind, LIFE.life, SECRET)
    await door.handle(request_of(framed(Way(3, LIFE.life, 2))))
    for way in (Way(3, LIFE.life, 2), Way(3, LIFE.life, 1), Way(3, LIFE.life + 1, 9)):
        with pytest.raises(RequestLate):
            await door.handle(request_of(framed(way)))
    await door.handle(request_of(framed(Way(5, LIFE.life, 1))))
    assert len(behind.sessions) == 2
    await door.handle(request_of(framed(Way(3, LIFE.life, 3))))  # What was for another life has no say in what is next.
    assert len(behind.sessions) == 3


def test_all_brokers_of_a_store_have_the_same_secret() -> None:
    """C7, in part: whoever comes first makes it; one that is damaged is said, and not shown."""
    objects = MemoryObjects(MemoryBucket(), clock=ManualClock(0))
    first = cluster_secret(objects, SeededChance(1))
    assert len(first) == 32
    assert cluster_secret(objects, SeededChance(2)) == first
    objects.put(NAME, [b'{"version": 1, "secret": "beef"}'])
    with pytest.raises(Damaged) as found:
        cluster_secret(objects, SeededChance(3))
    assert "beef" not in str(found.value)
