"""Bytes by address, inside loops that numba compiles: what `memory` offers, as machine code.

They end up inside the machine code of loops in other files, whose cache on disk does not notice changes of this file:
give a function that changes a new name.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

_POINTER = ir.IntType(8).as_pointer()


def _emit_byte_at(_typing: Any, address: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _POINTER))

    return types.uint8(address), emit


def _emit_put_byte(_typing: Any, address: Any, _byte: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _POINTER))
        return context.get_dummy_value()

    return types.void(address, types.uint8), emit


def _emit_copy(_typing: Any, target: Any, source: Any, size: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, source, size = arguments
        emit_memcpy: Any = cgutils.raw_memcpy
        emit_memcpy(builder, builder.inttoptr(target, _POINTER), builder.inttoptr(source, _POINTER), size, 1)
        return context.get_dummy_value()

    return types.void(target, source, size), emit


def _copying(unit: Any) -> Any:
    """Copy one value of that many bits, wherever it lies: it is read whole before it is written."""

    def typed(_typing: Any, target: Any, source: Any) -> Any:
        def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            target, source = (builder.inttoptr(each, unit.as_pointer()) for each in arguments)
            builder.store(builder.load(source, align=1), target, align=1)
            return context.get_dummy_value()

        return types.void(target, source), emit

    return typed


byte_at: Any = intrinsic(_emit_byte_at)  # (address) -> the byte there
put_byte: Any = intrinsic(_emit_put_byte)  # (address, byte)
copy: Any = intrinsic(_emit_copy)  # (target address, source address, size)
copy_8: Any = intrinsic(_copying(ir.IntType(64)))  # (target address, source address): eight bytes
copy_16: Any = intrinsic(_copying(ir.VectorType(ir.IntType(64), 2)))  # The same, sixteen bytes.
