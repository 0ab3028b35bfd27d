"""What a place holds already, so that no run adds to something that is not its own."""

from __future__ import annotations

from holdfast.catalog.store import Store
from holdfast.io.objects import Objects
from holdfast.spark.jobs.archive.errors import OtherLayout
from holdfast.spark.jobs.archive.kept_decodings import DECODINGS
from holdfast.spark.jobs.archive.state import FILES
from holdfast.spark.jobs.commit_log import FOLDER, STAGING

MARKS = {  # What only an archive of this kind has.
    "parquet": f"{FOLDER}0",  # Its first commit.
    "delta": "_delta_log/",
    "iceberg": "holdfast/records/metadata/",
}
_UNFINISHED = (STAGING, DECODINGS, FILES, "_dead_letters/")  # Left by a run that was killed before its first commit.


def layout_of(objects: Objects) -> str | None:
    """Which kind of archive a store holds."""
    return next((kind for kind, mark in MARKS.items() if _has(objects, mark)), None)


def check_layout(store: Store, kind: str) -> None:
    """Raise unless a run of this kind may write here."""
    objects = store.open()
    there = layout_of(objects)
    if there not in (None, kind):
        raise OtherLayout(store.url, f"is a {there} archive, and cannot become one of {kind}")
    if there is None and kind != "iceberg":  # A warehouse may have other tables.
        for each in objects.list(""):
            if not each.name.startswith(_UNFINISHED):
                raise OtherLayout(store.url, f"is not empty, and holds no archive, but {each.name}")


def _has(objects: Objects, prefix: str) -> bool:
    return next(iter(objects.list(prefix)), None) is not None
