"""An object store on a real S3 server keeps the contract."""

from __future__ import annotations

import pytest
from tests.io.objects_contract import ObjectsContract, OpenStore

from holdfast.io.objects.open import open_objects


@pytest.mark.s3
class TestS3Objects(ObjectsContract):
    @pytest.fixture
    def open_store(self, s3_store: tuple[str, dict[str, str]]) -> OpenStore:
        return lambda: open_objects(*s3_store)
