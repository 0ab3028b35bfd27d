"""Which files a Parquet archive has: its commits say so, one by one, and not its folder.

A commit names the files that it adds, and those that it replaces. Every 64th has the whole list, so that nobody has to
read more than 64 of them; an archive of an earlier release has no such list yet, and then all commits are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from holdfast.io.versions import FULL_EVERY, full_before
from holdfast.spark.jobs.commit_log import CommitLog, LoggedCommit

LIVE: Final = "live"  # In a commit's memory: all files, with their sizes.
REPLACED: Final = "replaced"  # The names of files that are in the list no more.

_THREADS = 16


def is_full(version: int) -> bool:
    """Whether a commit of this number has the whole list."""
    return version % FULL_EVERY == 0


def published(log: CommitLog) -> LoggedCommit | None:
    """The newest commit whose files have their names: only the very newest can be without."""
    newest = log.newest()
    if newest is None or not log.unpublished(newest):
        return newest
    return log.read(newest.version - 1) if newest.version else None


def live_files(log: CommitLog, commit: LoggedCommit) -> dict[str, int]:
    """The files of the archive as of a commit, by name, with their sizes; in the order in which they were added."""
    full = commit if LIVE in commit.memory else log.read(full_before(commit.version))
    start = full.version if LIVE in full.memory else 0
    numbers = range(start, commit.version)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="holdfast-commits") as pool:
        return _folded([*pool.map(log.read, numbers), commit])


def live_after(log: CommitLog, newest: LoggedCommit | None, commit: LoggedCommit) -> dict[str, int]:
    """The same for a commit that is about to be made."""
    before = {} if newest is None else live_files(log, newest)
    return _with(before, commit)


def _folded(commits: Iterable[LoggedCommit]) -> dict[str, int]:
    files: dict[str, int] = {}
    for each in commits:
        files = dict(each.memory[LIVE]) if LIVE in each.memory else _with(files, each)
    return files


def _with(files: dict[str, int], commit: LoggedCommit) -> dict[str, int]:
    gone = set(commit.memory.get(REPLACED, ()))
    left = {name: size for name, size in files.items() if name not in gone}
    return left | {move.target: move.size for move in commit.moves}
