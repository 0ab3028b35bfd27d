"""Known bugs of what producers are told of batches that were not taken."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

DISK = "tests/java/test_full_disk.py"
OLDER = "tests/java/test_transaction_timeout_older.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "who sends to a full disk is told that it was there already",
        "broker/codes.py",
        "    (Unavailable, Code.KAFKA_STORAGE_ERROR),\n",
        "    (Unavailable, Code.DUPLICATE_SEQUENCE_NUMBER),\n",
        DISK + "::test_java_is_told_the_truth_by_a_full_disk",
    ),
    bug(
        "a producer of an older release goes on in the epoch of what has timed out",
        "coordinator/transaction/rules.py",
        "        return fence(before, spare_id, now_ms)\n    return _prepare(",
        "        pass\n    return _prepare(",
        OLDER + "::test_a_producer_of_an_older_release_is_shut_out",
    ),
]
