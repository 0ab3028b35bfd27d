"""Whether anything is only in rounds, for who wants to go on without them."""

from __future__ import annotations

from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.metadata import decode
from holdfast.log.rounds.errors import SeriesBroken
from holdfast.log.rounds.format import Round
from holdfast.log.rounds.layout import entries_of, kept_of
from holdfast.log.rounds.series import all_series
from holdfast.log.rounds.takeover import read_series


def holds_entries(objects: Objects, patience: VersionRetries) -> bool:
    """Whether a series is not closed, or has entries or deletions that nobody has taken over. Blocks."""
    try:
        return any(_has_entries(found) for each in all_series(objects, patience) for found in read_series(each))
    except SeriesBroken:  # It has no seal.
        return True


def _has_entries(found: Round) -> bool:
    kept = kept_of(found)
    return next(entries_of(found), None) is not None or (kept is not None and bool(decode(kept).deleted))
