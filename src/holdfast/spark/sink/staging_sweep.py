"""Staged objects that nobody will commit any more, and when they may go.

    of a job that has ended    at once: its commit or abort deletes all that its name starts with
    of a job that was killed   when they are older than the grace: any later job of any sink finds them

A job that runs longer than the grace finds its objects gone at the commit, and fails: nothing half is ever written.
"""

from __future__ import annotations

from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.segment.garbage import store_time_ms
from holdfast.spark.sink.staging import STAGING, Job


def sweep_job(objects: Objects, job: Job) -> int:
    """Delete what one job has staged; how many objects that were."""
    return _delete(objects, [each.name for each in objects.list(job.prefix)])


def sweep_old(objects: Objects, clock: Clock, grace_hours: int) -> int:
    """Delete what is older than the grace, by the store's clock."""
    limit = store_time_ms(objects, clock) - grace_hours * 3_600_000
    return _delete(objects, [each.name for each in objects.list(STAGING) if each.modified_ms < limit])


def _delete(objects: Objects, names: list[str]) -> int:
    for name in names:
        objects.delete(name)
    return len(names)
