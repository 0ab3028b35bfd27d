"""Empty folders of deleted topics in a local store: they go with the last object in them.

    manifests/<topic id>/<partition>/…        segments/<topic id>/<partition>/…

A partition has manifests for as long as it lives, so that a folder of manifests which has become empty belongs to one
that is deleted: nobody puts anything there again. Only then may its folder of segments go, too: that of a living
partition may be empty for a while, and whoever has just made it must find it. All other folders stay.
"""

from __future__ import annotations

import contextlib
import os

from holdfast.io.objects.local.files import sync_folder

_MANIFESTS, _SEGMENTS = "manifests", "segments"


def prune(name: str, root: int) -> list[str]:
    """An object was deleted: remove the folders that are of no use any more; which these were."""
    kind, *path = name.split("/")
    if kind not in (_MANIFESTS, _SEGMENTS) or len(path) != 3:
        return []
    topic, partition, _ = path
    living = f"{_MANIFESTS}/{topic}/{partition}"
    removed = [living] if _removed(living, root) else []
    if not removed and _is_there(living, root):
        return []
    for folders in ([f"{_MANIFESTS}/{topic}"], [f"{_SEGMENTS}/{topic}/{partition}", f"{_SEGMENTS}/{topic}"]):
        removed += [folder for folder in folders if _removed(folder, root)]
    for kind in (_MANIFESTS, _SEGMENTS):
        if f"{kind}/{topic}" in removed:
            with contextlib.suppress(OSError):  # They would only come back after a power cut.
                sync_folder(kind, root)
    return removed


def _removed(folder: str, root: int) -> bool:
    try:
        os.rmdir(folder, dir_fd=root)
    except OSError:  # It is not empty, or not there; where it may not be removed, an empty folder stays.
        return False
    return True


def _is_there(folder: str, root: int) -> bool:
    try:
        os.stat(folder, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # Who cannot tell removes nothing.
    return True
