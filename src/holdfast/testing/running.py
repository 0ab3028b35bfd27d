"""A broker for as long as a `with` block lasts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from holdfast.errors import Rejected
from holdfast.testing.folders import temporary_folder
from holdfast.testing.process import BrokerDidNotStart, RunningBroker

# What a test wants other than an operator: a group's first member is not made to wait for more of them, and no second
# port is taken, which another broker may need when it is started again, nor any room on the disk.
FOR_TESTS: dict[str, object] = {
    "group_initial_rebalance_delay_ms": 0,
    "subscribe_listen": "none",
    "serve_disk_reserve_size": 0,
}
TOO_QUIET = ("warning", "error")  # The line that says where the broker listens is at level info.


@contextmanager
def running_broker(data: Path | None = None, *, port: int = 0, **settings: object) -> Iterator[RunningBroker]:
    """A broker on a free port and in a new directory, which is removed afterwards; a given directory is kept.

    A setting has its name with `_` for every dot: `num_partitions=3`, `log_retention_check_ms=100`.
    """
    given = checked(settings)
    with temporary_folder() as folder:
        broker = RunningBroker(data or folder / "data", port=port, environment=variables(given), forks=True)
        with keywords_checked(given):
            broker.start()
        with closing(broker):
            yield broker


@contextmanager
def running_brokers(count: int, **settings: object) -> Iterator[list[RunningBroker]]:
    """Several brokers, each a cluster of its own, started at the same time: for what copies, moves or compares."""
    wanted = checked(settings)
    given = variables(wanted)
    with ExitStack() as stack:
        folders = [stack.enter_context(temporary_folder()) for _ in range(count)]
        brokers = [RunningBroker(folder / "data", environment=given, forks=True) for folder in folders]
        for broker in brokers:
            stack.callback(broker.close)
        with keywords_checked(wanted), ThreadPoolExecutor(max(count, 1)) as starting:
            list(starting.map(RunningBroker.start, brokers))
        yield brokers


def checked(settings: dict[str, object]) -> dict[str, object]:
    """With what tests want. Raises Rejected."""
    if dotted := next((each for each in settings if not each.isidentifier()), None):
        better = re.sub(r"\W", "_", dotted)
        raise Rejected(f"{dotted!r} is no name of a setting here: write it with _ for every dot, {better!r}")
    if settings.get("serve_log_level") in TOO_QUIET:
        raise Rejected(f"serve_log_level {settings['serve_log_level']} hides the broker's port: take info or debug")
    return {**FOR_TESTS, **settings}


@contextmanager
def keywords_checked(settings: dict[str, object]) -> Iterator[None]:
    """Where a broker did not start because of a setting, the keyword argument is named. Raises Rejected."""
    try:
        yield
    except BrokerDidNotStart:
        from holdfast import config  # Here: a fifth of a second, which nobody waits for whose broker starts.

        names = {name.replace(".", "_"): name for name in config.known()}
        if unknown := next((each for each in settings if each not in names), None):
            raise config.UnknownSetting(unknown, "a keyword argument", names) from None
        config.build(config.Given(names[each], _text(value), f"the keyword {each}") for each, value in settings.items())
        raise


def variables(settings: dict[str, object]) -> dict[str, str]:
    """Settings as the environment variables that a broker reads."""
    return {f"HOLDFAST_{name.upper()}": _text(value) for name, value in settings.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
