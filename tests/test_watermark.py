"""The one primitive for every wait: who is woken, in which order, who is told of a failure, and what is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.log_world import in_loop, turns

from holdfast.watermark import Watermark


def left_behind(watermark: Watermark) -> int:
    """How many things it still holds for those who wait."""
    return len(watermark._numbers) + len(watermark._waiters) + sum(map(len, watermark._waiters.values()))


@in_loop
async def test_a_number_already_reached_is_reached_at_once() -> None:
    """L4: nobody waits for what is there, and the number itself counts as reached."""
    watermark = Watermark(5)
    assert watermark.reached(4).done()
    assert watermark.reached(5).done()
    assert not watermark.reached(6).done()


@in_loop
async def test_exactly_those_who_are_reached_wake() -> None:
    """L4: an advance to n wakes who waits for n, and not who waits for n + 1."""
    watermark = Watermark()
    waits = [watermark.reached(number) for number in (3, 1, 2, 2, 4)]
    watermark.advance(2)
    assert [each.done() for each in waits] == [False, True, True, True, False]


@in_loop
async def test_those_who_wait_wake_in_the_order_of_their_numbers() -> None:
    """A1: acks are given in the order of offsets, whatever the order in which they were asked for."""
    watermark = Watermark()
    woken: list[int] = []

    async def wait(number: int) -> None:
        await watermark.reached(number)
        woken.append(number)

    tasks = [asyncio.ensure_future(wait(number)) for number in (5, 1, 4, 2, 3)]
    await turns(2)
    watermark.advance(10)
    await asyncio.gather(*tasks)
    assert woken == [1, 2, 3, 4, 5]


@in_loop
async def test_a_lower_value_changes_nothing() -> None:
    """L4: the number only grows."""
    watermark = Watermark(7)
    waiting = watermark.reached(8)
    watermark.advance(3)
    assert watermark.value == 7
    assert not waiting.done()


@in_loop
async def test_a_failure_is_told_to_all_who_wait_and_all_who_come() -> None:
    """A3: nobody is left waiting for what never comes; what was reached stays reached."""
    watermark = Watermark(2)
    waits = [watermark.reached(number) for number in (3, 9)]
    failure = RuntimeError("over")
    watermark.fail(failure)
    for each in [*waits, watermark.reached(4)]:
        with pytest.raises(RuntimeError, match="over"):
            await each
    await watermark.reached(2)
    assert not left_behind(watermark)


@in_loop
async def test_who_gives_up_leaves_nothing_behind() -> None:
    """L4: long polls that time out at ever other offsets cost no memory."""
    watermark = Watermark()
    for number in range(1, 1001):
        watermark.reached(number).cancel()
        watermark.reached(5).cancel()
        await asyncio.sleep(0)
    assert left_behind(watermark) <= 20


@in_loop
async def test_who_gives_up_does_not_take_the_others_along() -> None:
    """L4: of two who wait for the same number one may leave; the other wakes, also if a third comes later."""
    watermark = Watermark()
    first, second = watermark.reached(3), watermark.reached(3)
    first.cancel()
    await turns(2)
    third = watermark.reached(3)
    watermark.advance(3)
    assert second.done()
    assert third.done()
    assert first.cancelled()


@in_loop
async def test_leaving_and_waking_in_the_same_turn() -> None:
    """L4: a wait cancelled in the turn in which its number is reached is no error."""
    watermark = Watermark()
    waits = [watermark.reached(1) for _ in range(3)]
    waits[1].cancel()
    watermark.advance(1)
    waits[2].cancel()
    await turns(2)
    assert waits[0].done()
    assert not left_behind(watermark)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 12)),
        st.tuples(st.just("advance"), st.integers(0, 12)),
        st.tuples(st.just("leave"), st.integers(0, 30)),
        st.tuples(st.just("turn"), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(steps=steps, fails=st.booleans())
def test_against_a_plain_model(steps: list[tuple[str, int]], fails: bool) -> None:
    """L4: a wait is done exactly when its number was reached while it waited, in any order of events."""

    async def play() -> None:
        watermark = Watermark()
        waits: list[tuple[int, asyncio.Future[None]]] = []
        left: set[int] = set()
        for action, number in steps:
            if action == "wait":
                waits.append((number, watermark.reached(number)))
            elif action == "advance":
                watermark.advance(number)
            elif action == "leave" and number < len(waits):
                if waits[number][1].cancel():
                    left.add(number)
            else:
                await asyncio.sleep(0)
            for index, (wanted, each) in enumerate(waits):
                assert each.done() == (index in left or wanted <= watermark.value)
        if fails:
            watermark.fail(RuntimeError("over"))
        for _, each in waits:
            if not each.done():
                each.cancel()
        outcomes: list[Any] = await asyncio.gather(*(each for _, each in waits), return_exceptions=True)
        assert len(outcomes) == len(waits)
        await asyncio.sleep(0)
        assert not any(watermark._waiters.values())

    asyncio.run(play())


@in_loop
async def test_who_is_to_be_called_is_called_once_and_in_order() -> None:
    """A1: acks go by the order of offsets; nobody is called early, or for what is there already."""
    watermark, called = Watermark(1), list[int]()
    assert not watermark.when(1, lambda _: called.append(-1))
    for number in (5, 2, 4, 3, 4):
        assert watermark.when(number, lambda _, number=number: called.append(number))  # type: ignore[misc]
    watermark.advance(3)
    assert called == [2, 3]
    watermark.advance(10)
    watermark.advance(11)
    assert called == [2, 3, 4, 4, 5]


@in_loop
async def test_who_is_to_be_called_is_told_of_a_failure() -> None:
    """A1: a producer that waits for an fsync that fails hears of it, and so does who comes later."""
    watermark, heard = Watermark(), list[Exception | None]()
    watermark.when(2, heard.append)
    failure = OSError("gone")
    watermark.fail(failure)
    assert watermark.when(3, heard.append)
    assert heard == [failure, failure]


@in_loop
async def test_a_mistake_of_one_who_is_called_is_not_that_of_the_others() -> None:
    """A1: whatever happens to one answer, the others are given."""
    watermark, called, mistakes = Watermark(), list[int](), list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _, told: mistakes.append(told["exception"]))
    watermark.when(1, lambda _: called.append(1 // 0))
    watermark.when(1, lambda _: called.append(1))
    watermark.advance(1)
    assert called == [1]
    assert isinstance(mistakes[0], ZeroDivisionError)
