"""Levels: what brokers of one cluster may write, so that all who live in it can read it.

A release knows levels up to `LEVEL`, and says so when it joins. Nothing of a level is written before the metadata is at
it (`Metadata.level`), which an operator decides when all brokers know it (`holdfast cluster upgrade`). From then on
the number of the metadata's format is higher, and releases that do not know the level refuse it.
"""

from __future__ import annotations

from typing import Final

FIRST: Final = 1  # Where nobody has said another.
LEVEL: Final[int] = 1  # Up to which this release knows them. A change of format or steps that others read makes a next.
