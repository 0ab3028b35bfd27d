"""Who owns the store: claims, looks, questions. Each process on a simulated disk of its own, over one store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, batch, fill, in_loop, numbered, read_all, turns
from tests.log.test_clones import clone, open_with
from tests.log.test_takeover import beside
from tests.operate.quarantine_world import QuarantineWorld

from holdfast.errors import Fenced
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.faulty import FailBefore, WrongByte, once
from holdfast.io.versions import VersionRetries
from holdfast.log.errors import NotTheOwner, OwnerAlive, OwnerChanged
from holdfast.log.logs import Logs
from holdfast.log.ownership.owner import KEPT_MAX, PREFIX, Here
from holdfast.segment.errors import HigherEpoch
from holdfast.segment.manifest.changes import RaiseEpoch
from holdfast.segment.manifest.log import ManifestLog
from holdfast.types import Epoch, Offset


class Asleep(InlineCalls):
    """No timer ever fires; whoever waits inside a call lets the test do something meanwhile."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._meanwhile = meanwhile

    async def pause(self, seconds: float) -> None:
        await asyncio.Event().wait()

    def block(self, seconds: float) -> None:
        self._meanwhile()


class ByTheClock(InlineCalls):
    """Pauses are as long as they are, by a clock that the test moves."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    async def pause(self, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        while self._clock.monotonic() < end:
            await asyncio.sleep(0)


async def look(logs: Logs) -> None:
    await logs.owner.look()


@in_loop
async def test_a_broker_that_was_taken_over_stops_acknowledging_and_reading(caplog: pytest.LogCaptureFixture) -> None:
    """D3: in less than two seconds, and not at its next flush; what it acknowledged is in quarantine, with an error
    line. The test of D3."""
    world = QuarantineWorld()
    logs = await world.open(calls=ByTheClock(world.clock))
    logs.owner.start()
    first = await logs.partition(HOME)
    await fill(first, 3)
    world.clock.advance(1)
    await turns()
    assert logs.owner.is_owner
    await (await beside(world).open()).partition(HOME)
    for _ in range(19):
        world.clock.advance(0.1)
        await turns()
    assert not logs.owner.is_owner
    assert isinstance(await logs.failed(), OwnerChanged)
    for call in (first.append(batch(b"x")), first.read(0), first.wait(100), logs.partition(HOME), logs.room()):
        with pytest.raises(Fenced):
            await call
    await logs.close()
    assert len(world.saved()) == 1
    assert [each.levelname for each in caplog.records if "3 records of 1 partitions" in each.message] == ["ERROR"]


@in_loop
async def test_a_look_sees_what_happened_long_ago() -> None:
    """D2: the claims above ours are deleted meanwhile: then ours is deleted, too."""
    world = LogWorld()
    logs = await world.open()
    other = beside(world)
    for _ in range(KEPT_MAX + 5):
        await (await other.open()).close()
        other.disk.kill()
    assert len(world.names(PREFIX)) == KEPT_MAX
    await look(logs)
    assert isinstance(logs.failure, OwnerChanged)


@in_loop
async def test_a_store_that_is_away_stops_no_acks(caplog: pytest.LogCaptureFixture) -> None:
    """D3, A4: whether we are the owner is not known, which is told once; a look that succeeds late fences."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    world.faults = lambda call: FailBefore()
    for _ in range(3):
        await look(logs)
        await fill(partition, 1)
    assert (logs.owner.failures, logs.owner.is_owner) == (3, True)
    lines = [each for each in caplog.records if "is not known" in each.message and each.levelname == "WARNING"]
    assert len(lines) == 1
    world.faults = lambda call: None
    await beside(world).open()
    await look(logs)
    assert isinstance(logs.failure, OwnerChanged)


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_process_that_was_stopped_looks_before_it_acknowledges(is_taken: bool) -> None:
    """D2: the machine slept; a batch was on its way to the disk. No timer of ours has fired yet."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        logs = await world.open(calls=Asleep())
        partition = await logs.partition(HOME)
        logs.owner.start()
        await fill(partition, 1)
        assert logs.owner.looks == 0
        if is_taken:
            await beside(world).open()
        sent = asyncio.ensure_future(partition.append(batch(b"1.")))
        await asyncio.sleep(0)
        world.clock.suspend(3600)
        await turns(50)
        assert logs.owner.looks == 1
        if is_taken:
            with pytest.raises(Fenced):
                await sent
        else:
            await sent
            assert await read_all(partition) == numbered(0, 2)
        await logs.close()

    run()


@in_loop
async def test_a_copy_asks_and_a_live_owner_answers() -> None:
    """D1: it is refused; the owner has another number, and goes on. Without an owner the copy goes on."""
    world = LogWorld()
    logs = await open_with(world, here=Here("here", "the original"), take_over=False)
    await fill(await logs.partition(HOME), 3)
    twin = clone(world)
    owner = logs.owner._owner
    for _ in range(3):
        with pytest.raises(OwnerAlive, match="the original"):
            await open_with(twin, here=Here("there"), take_over=False, calls=Asleep(owner.look))
        twin.disk.kill()
    await look(logs)
    await look(logs)
    assert logs.owner.is_owner
    copy = await open_with(twin, here=Here("there"), take_over=False)
    assert await read_all(await copy.partition(HOME)) == numbered(0, 3)
    await look(logs)
    assert isinstance(logs.failure, OwnerChanged)


@in_loop
async def test_a_question_that_nobody_came_back_to_is_no_claim() -> None:
    """D1: a copy that was killed while it waited for an answer asks again when it is started again."""
    world = LogWorld()
    logs = await open_with(world, here=Here("here"), take_over=False)
    await fill(await logs.partition(HOME), 3)
    twin = clone(world)

    class Killed(BaseException):
        pass

    def killed() -> None:
        raise Killed

    with pytest.raises(Killed):
        await open_with(twin, here=Here("there"), take_over=False, calls=Asleep(killed))
    twin.disk.kill()
    with pytest.raises(OwnerAlive):
        await open_with(twin, here=Here("there"), take_over=False, calls=Asleep(logs.owner._owner.look))
    await look(logs)
    assert logs.owner.is_owner


@in_loop
async def test_many_questions_hide_no_claim_and_all_are_answered() -> None:
    """D1, D3: copies that were killed again and again while they asked; one took over from a sleeping owner."""
    world = LogWorld()
    logs = await open_with(world, here=Here("here", "the original"), take_over=False)
    await fill(await logs.partition(HOME), 3)
    twin = clone(world)

    def killed() -> None:
        raise KeyboardInterrupt

    async def ask(times: int) -> None:
        for _ in range(times):
            with pytest.raises(KeyboardInterrupt):
                await open_with(twin, here=Here("there"), take_over=False, calls=Asleep(killed))
            twin.disk.kill()

    await ask(20)
    with pytest.raises(OwnerAlive, match="the original"):
        await open_with(twin, here=Here("there"), take_over=False, calls=Asleep(logs.owner._owner.look))
    twin.disk.kill()
    await look(logs)
    assert logs.owner.is_owner
    await ask(20)
    await open_with(twin, here=Here("there"), take_over=False)
    await look(logs)
    assert isinstance(logs.failure, OwnerChanged)


@in_loop
async def test_a_damaged_claim_is_anybodys_and_the_operator_may_go_on() -> None:
    """D1, O2: nobody can tell whose it is, so it is refused, with the way out; one object does not stop it for good."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    await logs.close()
    world.disk.kill()
    name = world.names(PREFIX)[-1]
    world.objects.put(name, [world.objects.get(name).replace(b"incarnation", b"inc4rnation")])
    with pytest.raises(NotTheOwner, match=f"{name} is damaged.*--take-over"):
        await open_with(world, take_over=False)
    world.disk.kill()
    logs = await open_with(world, take_over=True)
    assert await read_all(await logs.partition(HOME)) == numbered(0, 3)
    await logs.close()
    world.disk.kill()
    await (await open_with(world, take_over=False)).close()


@in_loop
async def test_a_store_that_takes_no_claim_is_claimed_later() -> None:
    """O3, D1: a full disk under the store keeps nobody from starting where it was; the first look that can, claims."""
    world = LogWorld()
    await (await world.open()).close()
    world.disk.kill()
    world.faults = lambda call: FailBefore() if call.kind == "put_if_absent" and PREFIX in call.name else None
    logs = await open_with(world, take_over=False)
    assert len(world.names(PREFIX)) == 1
    world.faults = lambda call: None
    await look(logs)
    assert len(world.names(PREFIX)) == 2
    await look(logs)
    assert (logs.owner.claim, logs.owner.is_owner) == (2, True)
    await logs.close()
    world.disk.kill()
    await (await open_with(world, take_over=False)).close()


@in_loop
async def test_who_wakes_up_takes_no_partition_from_its_successor() -> None:
    """D2: it opens one that the other has written since: it looks before it raises an epoch, and stops."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(OTHER), 2)
    twin = clone(world)
    successor = await twin.open()
    taken = await successor.partition(HOME)
    await fill(taken, 3)
    await taken.flush()
    await fill(taken, 2, start=3)
    before = world.names("manifests/")
    with pytest.raises(OwnerChanged):
        await logs.partition(HOME)
    assert isinstance(logs.failure, OwnerChanged)
    assert world.names("manifests/") == before
    await taken.flush()
    assert await read_all(taken) == numbered(0, 5)


@in_loop
async def test_of_two_that_raise_an_epoch_one_is_fenced() -> None:
    """D1: both read the same manifest of a third; whoever comes second does not raise it above the first one's."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    await logs.flush_all()
    patience = VersionRetries(world.clock, SeededChance(1), lambda _: None)
    named = {"cluster_id": logs.identity.cluster, "patience": patience}
    both = [ManifestLog.open(world.objects, HOME, writer=name, incarnation=name, **named) for name in ("a", "b")]
    epoch = both[0].manifest.epoch
    both[0].commit(RaiseEpoch(Epoch(epoch + 1), Offset(3)))
    for more in (1, 2):
        with pytest.raises(HigherEpoch):
            both[1].commit(RaiseEpoch(Epoch(epoch + more), Offset(3)))


@in_loop
async def test_a_claim_that_cannot_be_read_stops_whoever_is_below_it() -> None:
    """D3: a byte that is wrong once is no claim of nobody's; a claim that stays damaged may be anybody's."""
    world = LogWorld()
    logs = await world.open()
    await (await beside(world).open()).close()
    newest = world.names(PREFIX)[-1]
    world.faults = once("get", newest, WrongByte(5))
    await look(logs)
    assert isinstance(logs.failure, OwnerChanged)
    assert "damaged" not in str(logs.failure)

    world = LogWorld()
    logs = await world.open()
    other = await beside(world).open()
    data = bytearray(world.objects.get(world.names(PREFIX)[-1]))
    data[5] ^= 1
    world.objects.put(world.names(PREFIX)[-1], [bytes(data)])
    await look(logs)
    assert isinstance(logs.failure, OwnerChanged)
    assert "damaged" in str(logs.failure)
    assert other.failure is None


@in_loop
async def test_a_claim_that_is_misread_once_at_a_start_refuses_nobody() -> None:
    """D3: it is the log's own, read again."""
    world = LogWorld()
    await (await world.open()).close()
    world.faults = once("get", world.names(PREFIX)[-1], WrongByte(5))
    logs = await open_with(world, take_over=False)
    assert logs.owner.is_owner
    await logs.close()
