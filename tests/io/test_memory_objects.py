"""The object store in memory keeps the contract."""

from __future__ import annotations

import pytest
from tests.io.objects_contract import ObjectsContract, OpenStore

from holdfast.io.objects.memory import MemoryBucket, MemoryObjects


class TestMemoryObjects(ObjectsContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        bucket = MemoryBucket()
        return lambda: MemoryObjects(bucket)
