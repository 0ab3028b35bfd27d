"""Places against a plain list: packed or not, each is found, and cut, as if it were one list of them all."""

from __future__ import annotations

import random
from array import array

from holdfast.wal.chunks import columns
from holdfast.wal.chunks.frame_index import FrameIndex, FrameRange


def column(numbers: list[int]) -> bytes:
    return array("Q", numbers).tobytes()


def check(places: FrameIndex, plain: list[FrameRange], chance: random.Random) -> None:
    assert len(places) == len(plain)
    assert places.first_index == (plain[0].first_index if plain else None)
    for _ in range(20):
        if plain:
            number = chance.randrange(len(plain))
            assert places[number] == plain[number]
            end = plain[number + 1].first_index if number + 1 < len(plain) else plain[number].first_index + 5
            assert places.number_of(chance.randrange(plain[number].first_index, end)) == number
    if plain:
        assert places.number_of(plain[0].first_index - 1) == -1
        assert [places[number] for number in range(len(plain))] == plain


def test_against_a_plain_list() -> None:
    """D11, W5: whatever is added one by one or in bulk, cut and cleared, with records of other kinds in between."""
    for seed in range(40):
        chance = random.Random(seed)
        places, plain = FrameIndex(), list[FrameRange]()
        index, offset = chance.randrange(1, 1 << 40), 123
        for _ in range(chance.randrange(1, 8)):
            action = chance.choice(("add", "add", "extend", "extend", "truncate", "truncate", "clear"))
            if action in ("add", "extend"):
                new = []
                for _ in range(chance.choice((1, 3, 500, 512, 513, 1500))):
                    size = chance.choice((90, 91, 200, 1 << 20))
                    new.append(FrameRange(index, offset, size))
                    index += chance.choice((1, 1, 4096))
                    offset += size + chance.choice((0, 0, 0, 41, 4096))
                if action == "add":
                    for each in new:
                        places.add(*each)
                else:
                    places.extend(*(column(list(each)) for each in zip(*new, strict=True)))
                plain += new
            elif action == "truncate" and plain:
                index = chance.choice(plain).first_index + chance.choice((0, 0, 1))
                places.truncate(index)
                plain = [each for each in plain if each.first_index < index]
            elif action == "clear":
                places.clear()
                plain = []
            check(places, plain, chance)
        if not plain:
            assert places.memory_size == 0


def test_a_place_of_a_small_entry_takes_a_few_bytes() -> None:
    """D11: entries of one batch of 78 bytes, of one size or of many, with a marker now and then."""
    for sizes in ([148], list(range(130, 170))):
        places, offset = FrameIndex(), 0
        for number in range(100_000):
            size = sizes[number % len(sizes)]
            places.add(number, offset, size)
            offset += size if number % 1000 else 4096
        assert places.memory_size < 4 * 100_000


def test_columns_of_every_width_come_back() -> None:
    """D11: negative numbers, equal numbers, and the largest distance that there is."""
    for low in (0, -1, -(1 << 63), 5, 1 << 40):
        for distance in (0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1):
            values = [low, low + distance, low + distance // 2]
            others = [3, 3, 3]
            assert [list(each) for each in columns.unpack(columns.pack((values, others)), 3)] == [values, others]
