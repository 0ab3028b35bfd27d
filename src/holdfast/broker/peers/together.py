"""What is asked of another life at the same time is one request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from holdfast.broker.peers.link import PeerSilent
from holdfast.cluster.lives import BrokerLife
from holdfast.errors import HoldfastError

T = TypeVar("T")
A = TypeVar("A")

_TOGETHER_MAX = 500  # Questions in one request.


class AskedTogether(Generic[T, A]):
    """Questions for each life, in the order in which they were asked: those that queue up are the next request."""

    def __init__(self, send: Callable[[BrokerLife, Sequence[T]], Awaitable[Sequence[A]]]) -> None:
        self._send = send
        self._queues: dict[int, list[tuple[T, asyncio.Future[A]]]] = {}
        self._tasks: set[asyncio.Future[None]] = set()

    async def ask(self, life: BrokerLife, question: T) -> A:
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        if life.life in self._queues:
            self._queues[life.life].append((question, answer))
        else:
            self._queues[life.life] = [(question, answer)]
            task = asyncio.ensure_future(self._work(life))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _work(self, life: BrokerLife) -> None:
        queue = self._queues[life.life]
        try:
            while queue:
                some, queue[:_TOGETHER_MAX] = queue[:_TOGETHER_MAX], []
                some = [each for each in some if not each[1].done()]  # Who does not wait any more wants nothing done.
                if some:
                    await self._send_some(life, some)
        finally:
            del self._queues[life.life]
            _tell(queue, PeerSilent(life, "this broker is closing"))

    async def _send_some(self, life: BrokerLife, some: Sequence[tuple[T, asyncio.Future[A]]]) -> None:
        try:
            answers = await self._send(life, [question for question, _ in some])
            if len(answers) != len(some):
                raise PeerSilent(life, f"it answers {len(answers)} of {len(some)} questions")
        except HoldfastError as failure:
            _tell(some, failure)
        except BaseException:
            _tell(some, PeerSilent(life, "this broker is closing"))
            raise
        else:
            for (_, wait), answer in zip(some, answers, strict=True):
                if not wait.done():
                    wait.set_result(answer)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


def _tell(some: Sequence[tuple[T, asyncio.Future[A]]], failure: HoldfastError) -> None:
    for _, answer in some:
        if not answer.done():
            answer.set_exception(failure)
