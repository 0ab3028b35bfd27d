"""What executors of a cluster have: a Python without any of our packages, and the modules that were shipped to it."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.spark.session.ship import ROOTS, installed_files

BARE = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"


def link_modules(place: Path) -> Path:
    """All that is shipped, as links: to pack and unpack it takes long."""
    import holdfast

    place.mkdir(parents=True, exist_ok=True)
    if not (place / "holdfast").exists():
        (place / "holdfast").symlink_to(Path(holdfast.__file__).parent)
    for source, name in installed_files(ROOTS):
        link = place / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(source)
    return place
