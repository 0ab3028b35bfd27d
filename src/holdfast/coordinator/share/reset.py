"""Where a share group begins in a partition: `latest`, `earliest`, or `by_duration:` and how long ago (ISO 8601)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from holdfast.errors import Rejected

_BY_DURATION: Final = "by_duration:"
_DURATION = re.compile(
    r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,9}))?S)?)?", re.ASCII | re.IGNORECASE
)
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000)


class ResetInvalid(Rejected):
    """No group can begin there."""

    def __init__(self, text: str) -> None:
        super().__init__(f"it may be latest, earliest or by_duration:PnDTnHnMn.nS, not {text!r}")
        self.text = text


@dataclass(frozen=True, slots=True)
class Reset:
    """Where a group begins."""

    from_earliest: bool = False
    ago_ms: int | None = None  # With the first record that is not older.

    @classmethod
    def parse(cls, text: str) -> Reset:
        if text in ("latest", "earliest"):
            return cls(from_earliest=text == "earliest")
        duration = text.removeprefix(_BY_DURATION)
        found = _DURATION.fullmatch(duration)
        if duration == text or found is None or not any(found.groups()) or duration[-1:] in "tT":
            raise ResetInvalid(text)
        *whole, fraction = found.groups()
        ms = sum(int(count or 0) * unit for count, unit in zip(whole, _UNITS_MS, strict=True))
        return cls(ago_ms=ms + int((fraction or "0").ljust(3, "0")[:3]))
