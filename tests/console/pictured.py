"""The pictures of the README, and what has drawn them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from holdfast.console.files import STATIC

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DRAWN = IMAGES / "console.sha256"  # Of what has drawn them.
PICTURED = (
    "app.js",
    "pages.js",
    "style.css",
    "pages/overview.js",
    "pages/partition.js",
    "pages/topic.js",
    "parts/*.js",
)


def drawn_by() -> str:
    """The hash of the files that draw what is on the pictures."""
    files = sorted(each for pattern in PICTURED for each in STATIC.glob(pattern))
    return sha256(b"".join(each.read_bytes() for each in files)).hexdigest()
