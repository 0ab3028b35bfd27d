"""The loops give the same answers where they were not built from C: then numba compiles them, or Python runs them."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from holdfast.io.chance import SeededChance
from holdfast.native import ADVICE, VARIABLE
from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.columnar.decode import decode
from holdfast.record.columnar.encode import encode
from holdfast.record.columnar.key_hash import partitions_of
from holdfast.record.layout import Codec
from holdfast.record.records import Record
from holdfast.record.retain import retain
from holdfast.record.validate import validate
from holdfast.segment.compaction.key_map import KeyMap
from holdfast.segment.times import record_times

_WITHOUT = """
import pickle, sys
from tests.record.test_without_numba import answers
from holdfast.record.compiled import BY_NUMBA
sys.stdout.buffer.write(pickle.dumps((BY_NUMBA, answers(int(sys.argv[1])))))
"""


def some_bytes(draw: random.Random) -> bytes | None:
    return None if draw.random() < 0.2 else draw.randbytes(draw.choice([0, 1, 7, 60, 200]))


def some_record(draw: random.Random) -> Record:
    headers = tuple((f"h{number}", some_bytes(draw)) for number in range(draw.choice([0, 0, 2])))
    return Record(some_bytes(draw), some_bytes(draw), draw.randrange(-5, 1 << 42), headers)


def answers(seed: int) -> list[Any]:
    """What every loop that a broker uses says of the same batches."""
    draw = random.Random(seed)
    found: list[Any] = []
    for codec in Codec:
        batch = memoryview(build([some_record(draw) for _ in range(40)], codec=codec))
        columns = decode([batch])
        found.append((columns.offset.tolist(), columns.timestamp.tolist(), bytes(encode(columns))))
        found.append(tuple(validate(read_header(batch), batch)))
        found.append(bytes(retain(batch, np.array([draw.random() < 0.5 for _ in range(40)]))))
        assert columns.key is not None
        found.append(partitions_of(columns.key, 7).tolist())
        keys = KeyMap(1 << 20, 100, SeededChance(seed))
        keep = np.ones(40, np.bool_)
        found.append(keys.learn(columns.key, columns.offset, keep))
        keys.find_last(columns.key, columns.offset - 1, keep)
        found.append((keys.key_count, keep.tolist()))
        found.append(record_times([batch], 1, thorough=True, size_min=0))
    return found


@pytest.mark.parametrize(("seed", "way"), [(0, "off"), (1, "off"), (2, "off"), (3, "numba")])
def test_the_same_loops_come_to_the_same_answers_without_c(seed: int, way: str) -> None:
    asked = [sys.executable, "-c", _WITHOUT, str(seed)]
    done = subprocess.run(asked, env={**os.environ, VARIABLE: way}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    said = done.stderr.decode().splitlines()
    assert len(said) == (way == "off")  # One sentence of what is slow, and nothing of numbers that go round.
    assert all(ADVICE in each for each in said)
    by_numba, theirs = pickle.loads(done.stdout)
    assert by_numba == (way == "numba")
    assert theirs == answers(seed)
