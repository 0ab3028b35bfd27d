"""How the server's process ends, also while a call to disk or store is under way.

Such a call cannot be called back, and Python would wait for it, for as long as a store hangs or a log is large. All is
closed and told by then, or given up as in a crash, which every start can deal with.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NoReturn

from holdfast.cli.terminal.talk import sentence_of, tell
from holdfast.errors import HoldfastError
from holdfast.log.errors import NotOpen
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.log.partition.partition import PartitionLog

log = logging.getLogger("holdfast")

_LEAVE_S = 0.5  # For a thread without work to end.


def is_call_left(before: Collection[threading.Thread]) -> bool:
    """Whether a thread that was not there before is still at work, which nobody waits for any more."""
    for each in threading.enumerate():
        if each not in before and not each.daemon:
            each.join(_LEAVE_S)
            if each.is_alive():
                return True
    return False


def tell_stopped(partitions: Iterable[PartitionLog | NotOpen]) -> None:
    """With what the store does not have: it comes back from the write-ahead log, and from nowhere else."""
    left = [each for each in partitions if not isinstance(each, NotOpen)]
    size = sum(batch.size for each in left for batch in each.tail if batch.end <= each.marks.durable)
    records = sum(each.marks.durable - each.marks.flushed for each in left)
    facts = {"event": "stopped", "only_in_log_bytes": size, "only_in_log_records": records}
    if records:
        said = "stopped; %s (%d bytes) %s only in the write-ahead log: keep it"
        log.warning(said, counted(records, "record"), size, "is" if records == 1 else "are", extra={"facts": facts})
    else:
        log.info("stopped; every record is in the store", extra={"facts": facts})


def end(code: int) -> NoReturn:
    """End the process now, threads and all, also where nobody takes its last words."""
    try:
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # It was closed before the process began.
                stream.flush()
    finally:
        os._exit(code)


def say(failure: Exception, *, is_debug: bool) -> None:
    """What the command line would say, were it still to come."""
    if is_debug or not isinstance(failure, HoldfastError | OSError):
        traceback.print_exception(failure)
    else:
        tell(sentence_of(failure))
