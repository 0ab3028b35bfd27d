"""What comes when the faults are over: clients come to their end, and everything is read."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from tests.torture.brokers_asked import words_of_each
from tests.torture.clients.administering import create
from tests.torture.clients.following import read_whole
from tests.torture.clients.looking import look_at_marks
from tests.torture.clients.transacting import GoneWrong, client
from tests.torture.ground import PARTITIONS, PHOENIX, Ground
from tests.torture.history import History
from tests.torture.patience import Patience

PATIENCE_S = 90.0  # Without any progress.

Given = TypeVar("Given")


def in_thread(name: str, run: Callable[[Given], None], argument: Given, history: History) -> threading.Thread:
    """A client at work; one that fails says so."""

    def work() -> None:
        try:
            run(argument)
        except Exception as failure:
            history.info("unfinished", what=f"{name} has failed: {failure!r}")
            raise

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def end_threads(threads: list[threading.Thread], ground: Ground, history: History) -> None:
    deadline = time.monotonic() + 2 * PATIENCE_S
    for thread in threads:
        thread.join(max(0.1, deadline - time.monotonic()))
        if thread.is_alive():
            where = _where(thread)
            told = ground.telling.get(thread.name)
            facts: dict[str, Any] = {"connections": told.brokers} if told else {}
            history.info("unfinished", what=f"{thread.name} does not come to its end", where=where, **facts)
            if told:
                told.write(ground.folder)


def _where(thread: threading.Thread) -> list[str]:
    """What it is doing: the last of its calls."""
    return traceback.format_stack(sys._current_frames().get(thread.ident or 0))[-4:]


def settle(ground: Ground, history: History) -> None:
    """End what transactional producers have left open: the next one of an id does so. Have all topics."""
    history.invoke("create_topic", topic=PHOENIX.name)
    if create(ground, PHOENIX):  # Its re-creation may have been in the middle.
        history.ok("create_topic", topic=PHOENIX.name)
    for name in ("trans", "async", "copier"):
        try:
            client(ground, name)
        except GoneWrong as failure:
            history.info("unfinished", what=f"{name} could not be taken over: {failure}")


def read_everything(ground: Ground, history: History, round_: int) -> None:
    names = tuple(topic.name for topic in ground.topics)
    for committed in (False, True):
        who = f"final-{round_}-{'committed' if committed else 'all'}"
        left = read_whole(ground, who, names, committed=committed, patience_s=PATIENCE_S, final=round_)
        if left:
            history.info("unread", reader=who, places=sorted(left), committed=committed, final=round_)
            for place in sorted(left):
                tell_why(ground, history, who, *place)
    with ground.client() as asking:
        look_at_marks(history, asking, ground.topics, final=True)


def wait_for_readers(ground: Ground, history: History, followers: tuple[str, ...], topics: tuple[str, ...]) -> None:
    """Everybody who follows comes to the end of what is kept."""
    patience = Patience(PATIENCE_S)
    wanted = {
        (who, topic, partition): last
        for who in followers
        for topic in topics
        for partition in range(PARTITIONS)
        if (last := _last(ground, who, topic, partition)) is not None
    }
    behind = wanted
    while behind and not patience.is_over:
        reached = {key: ground.reached.get(key, -1) for key in wanted}
        behind = {key: last for key, last in wanted.items() if reached[key] < last}
        patience.look(reached)
        time.sleep(0.1)
    for (who, topic, partition), last in behind.items():
        tell_why(ground, history, who, topic, partition, last)


def tell_why(ground: Ground, history: History, who: str, topic: str, partition: int, last: int | None = None) -> None:
    """What somebody, or a group, that stands still waits for: in their own words, and in those of each broker."""
    place, at = [topic, partition], ground.reached.get((who, topic, partition), -1)
    brokers = words_of_each(ground.bootstrap, topic, partition)
    at_work = {thread.name: thread for thread in threading.enumerate()}
    says: dict[str, Any] = {}
    for name, telling in dict(ground.telling).items():
        if name == who or name.startswith(f"{who}-"):
            says[name] = {"partition": telling.of(topic, partition), "connections": telling.brokers}
            says[name] |= {"where": _where(at_work[name])[-1:]} if name in at_work else {}
            telling.write(ground.folder)
    history.info("stands still", reader=who, place=place, reached=at, last=last, says=says, brokers=brokers)


def _last(ground: Ground, who: str, topic: str, partition: int) -> int | None:
    kind = "all" if who == "everything" else "committed"
    return ground.reached.get((f"final-1-{kind}", topic, partition))
