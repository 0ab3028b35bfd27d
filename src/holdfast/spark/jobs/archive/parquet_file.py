"""A Parquet file in a store, for whoever reads it by pyarrow."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.io.objects import Objects


class ObjectFile(io.RawIOBase):
    """An object as a file that Parquet's reader can move about in: every read is one ranged read."""

    def __init__(self, objects: Objects, name: str) -> None:
        self._objects = objects
        self._name = name
        self._size = objects.size(name)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._at + size, self._size)
        data = self._objects.get(self._name, self._at, end) if end > self._at else b""
        self._at += len(data)
        return data


def open_file(objects: Objects, name: str) -> pq.ParquetFile:
    """One Parquet file of the archive."""
    return pq.ParquetFile(pa.PythonFile(ObjectFile(objects, name), mode="r"))
