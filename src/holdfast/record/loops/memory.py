"""Bytes by address, for loops that are not in C: read one, write one, copy some.

Whoever calls has checked; nobody does here.
"""

from __future__ import annotations

import ctypes
from typing import Any

from holdfast.record.compiled import BY_NUMBA

byte_at: Any  # (address) -> the byte there
put_byte: Any  # (address, byte)
copy: Any  # (target address, source address, size)
copy_8: Any  # (target address, source address): eight bytes
copy_16: Any  # The same, sixteen bytes.


def _byte_at(address: int) -> int:
    return ctypes.c_ubyte.from_address(int(address)).value


def _put_byte(address: int, byte: int) -> None:
    ctypes.c_ubyte.from_address(int(address)).value = int(byte)


def _copy(target: int, source: int, size: int) -> None:
    ctypes.memmove(int(target), int(source), int(size))


if BY_NUMBA:
    from holdfast.record.loops.native_memory import byte_at, copy, copy_8, copy_16, put_byte
else:
    byte_at, put_byte, copy = _byte_at, _put_byte, _copy

    def copy_8(target: int, source: int) -> None:
        _copy(target, source, 8)

    def copy_16(target: int, source: int) -> None:
        _copy(target, source, 16)
