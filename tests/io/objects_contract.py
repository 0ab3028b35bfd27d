"""What every object store must do. An implementation under test is a subclass with an `open_store` fixture."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from holdfast.errors import Rejected
from holdfast.io.objects import Exists, NotFound, Objects, fill
from holdfast.io.objects.names import BadName

WRITERS = 8
ROUNDS = 40
MANY = 2500  # More than two pages of an S3 listing.
ODD_NAMES = [
    "odd/ with spaces ",
    "odd/#hash",
    "odd/a%2Fb",
    "odd/a+b",
    "odd/a:b@c;,$!()",
    "odd/a=b&c?d*e",
    "odd/{}[]<>^`|'\"",
    "odd/~tilde",
    "odd/über",
    "odd/日本",
    "odd/\U0001f512",
]
BAD_NAMES = ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "a/.b", "a\\b", "a\0b", "a\nb", "\udc80"]
BAD_NAMES += ["x" * 201, "/".join(["x" * 100] * 10)]
PREFIXES = ["", "a", "a/", "a-", "a/y", "a/y/", "a/y/z", "a0", "a1", "b", "b0", "b0/c", "b0/cc", "c"]
AFTERS = ["", "a", "a-", "a/", "a/x", "a/y/", "a/y/z0", "a/zz", "a0", "b0/", "c", "\n", "a//", "../b"]

OpenStore = Callable[[], Objects]


class ObjectsContract:
    """The contract. `open_store()` gives a new handle on the same store, empty at the start of each test."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Objects:
        return open_store()

    def test_a_buffer_is_filled_with_what_is_there(self, store: Objects) -> None:
        """L5: bytes into the caller's own memory are those that `get` gives, and no byte behind them changes."""
        store.put("a/b", [bytes(range(100))])
        for start, size in ((0, 100), (0, 40), (90, 40), (100, 5), (200, 5), (3, 0)):
            into = bytearray(b"-" * size)
            got = fill(store, "a/b", start, memoryview(into))
            assert bytes(into[:got]) == store.get("a/b", start, start + size)
            assert into[got:] == b"-" * (size - got)
        with pytest.raises(NotFound):
            fill(store, "a/c", 0, memoryview(bytearray(4)))

    def test_of_eight_writers_exactly_one_wins_each_round(self, open_store: OpenStore) -> None:
        """L2: a version of a manifest is taken once, whoever asks at the same time."""
        handles = [open_store() for _ in range(WRITERS)]
        at_once = threading.Barrier(WRITERS)

        def write(writer: int) -> list[int]:
            won = []
            for number in range(ROUNDS):
                at_once.wait(timeout=60)
                try:
                    handles[writer].put_if_absent(f"race/{number}", [b"writer ", str(writer).encode()])
                except Exists:
                    continue
                won.append(number)
            return won

        with ThreadPoolExecutor(WRITERS) as threads:
            wins = list(threads.map(write, range(WRITERS)))
        assert sorted(number for won in wins for number in won) == list(range(ROUNDS))
        for writer, won in enumerate(wins):
            for number in won:
                assert handles[0].get(f"race/{number}") == b"writer %d" % writer

    def test_put_if_absent_leaves_what_is_there(self, store: Objects) -> None:
        store.put_if_absent("a/b", [b"first"])
        with pytest.raises(Exists) as caught:
            store.put_if_absent("a/b", [b"second"])
        assert caught.value.name == "a/b"
        assert store.get("a/b") == b"first"

    def test_put_replaces(self, store: Objects) -> None:
        store.put("lease", [b"first, and longer"])
        store.put("lease", [b"second"])
        assert store.get("lease") == b"second"
        assert store.size("lease") == 6

    def test_buffers_of_all_kinds_become_one_object(self, store: Objects) -> None:
        store.put_if_absent("kinds", [b"ab", b"", bytearray(b"cd"), memoryview(b"..ef..")[2:4]])
        assert store.get("kinds") == b"abcdef"

    def test_many_buffers_become_one_object(self, store: Objects) -> None:
        store.put_if_absent("many", [b"%04d" % number for number in range(3000)])
        assert store.get("many") == b"".join(b"%04d" % number for number in range(3000))

    def test_another_handle_sees_the_same(self, open_store: OpenStore) -> None:
        open_store().put_if_absent("shared", [b"x"])
        assert open_store().get("shared") == b"x"

    def test_ranges_at_every_edge(self, store: Objects) -> None:
        """S7: a range is answered whole; past the end there are no bytes, and that is no error."""
        store.put("digits", [b"0123456789"])
        for start, end in product([0, 1, 9, 10, 11, 50], [0, 1, 5, 9, 10, 11, 50, None]):
            assert store.get("digits", start, end) == b"0123456789"[start:end], (start, end)

    def test_ranges_of_nothing(self, store: Objects) -> None:
        """L3: an object that is not there is never an empty answer, not even for an empty range."""
        for start, end in [(0, None), (0, 0), (0, 5), (5, 5), (7, 9)]:
            with pytest.raises(NotFound):
                store.get("absent", start, end)

    def test_negative_ranges_are_refused(self, store: Objects) -> None:
        store.put("digits", [b"0123456789"])
        for start, end in [(-1, None), (0, -1), (-5, -1)]:
            with pytest.raises(Rejected):
                store.get("digits", start, end)

    @pytest.mark.parametrize("data", [[], [b""], [b"", b""]])
    def test_an_empty_object_is_there(self, store: Objects, data: list[bytes]) -> None:
        store.put_if_absent("empty", data)
        assert store.size("empty") == 0
        assert store.get("empty") == store.get("empty", 0, 5) == store.get("empty", 3) == b""
        assert [info.name for info in store.list("")] == ["empty"]
        with pytest.raises(Exists):
            store.put_if_absent("empty", [b"x"])

    def test_eight_mebibytes(self, store: Objects) -> None:
        """S7: large ranges come whole."""
        block = bytes(range(256)) * 4096
        store.put_if_absent("large", [block] * 8)
        assert store.size("large") == 8 << 20
        assert store.get("large") == block * 8
        assert store.get("large", (4 << 20) - 3, (4 << 20) + 3) == block[-3:] + block[:3]
        assert store.get("large", (8 << 20) - 1, 9 << 20) == b"\xff"

    def test_not_found_says_what(self, store: Objects) -> None:
        """L3: what is not there is said to be not there, with its name."""
        store.put("a/b", [b"x"])
        for name in ["a", "a/c", "b/c", "a/b/c"]:
            for ask in (store.get, store.size):
                with pytest.raises(NotFound) as caught:
                    ask(name)
                assert caught.value.name == name

    def test_delete(self, store: Objects) -> None:
        store.put_if_absent("a/b", [b"x"])
        store.delete("a/b")
        with pytest.raises(NotFound):
            store.get("a/b")
        assert list(store.list("")) == []
        store.put_if_absent("a/b", [b"again"])
        assert store.get("a/b") == b"again"

    def test_deleting_what_is_not_there_is_no_error(self, store: Objects) -> None:
        store.put("a/b", [b"x"])
        for name in ["a/c", "c", "a", "c/d/e"]:
            store.delete(name)
        assert store.get("a/b") == b"x"

    def test_names_are_listed_in_order_across_folders(self, store: Objects) -> None:
        names = ["a!", "a-b", "a.b", "a/x", "a/y/z", "a0", "b", "b.a/c", "b0/c"]
        for name in reversed(names):
            store.put(name, [name.encode()])
        found = list(store.list(""))
        assert [info.name for info in found] == names
        assert [info.size for info in found] == [len(name) for name in names]

    def test_prefix_and_after(self, store: Objects) -> None:
        """L2: finding the newest manifest leaves none out, wherever prefix and start point cut the names."""
        names = ["a-b", "a/x", "a/y/z", "a/y/z1", "a0", "b", "b0/c"]
        for name in names:
            store.put(name, [])
        for prefix, after in product(PREFIXES, AFTERS):
            wanted = [name for name in names if name.startswith(prefix) and name > after]
            assert [info.name for info in store.list(prefix, after)] == wanted, (prefix, after)

    def test_two_and_a_half_thousand_names(self, open_store: OpenStore) -> None:
        """L2: a listing of several pages is complete and in order."""
        names = [f"many/{number:020}" for number in range(MANY)]
        store = open_store()
        with ThreadPoolExecutor(WRITERS) as threads:
            list(threads.map(lambda name: store.put(name, [b"x"]), names))
        assert [info.name for info in store.list("many/")] == names
        assert [info.name for info in store.list("many/", names[1200])] == names[1201:]
        assert [info.name for info in store.list("many/000000000000000010")] == names[1000:1100]

    def test_listing_tells_when_an_object_was_made(self, store: Objects) -> None:
        store.put("first", [b"x"])
        store.put("second", [b"x"])
        first, second = store.list("")
        assert 1_600_000_000_000 < first.modified_ms <= second.modified_ms

    def test_an_empty_listing(self, store: Objects) -> None:
        assert list(store.list("")) == []
        assert list(store.list("no/such/folder/")) == []

    def test_odd_names(self, store: Objects) -> None:
        for name in ODD_NAMES:
            store.put_if_absent(name, [name.encode()])
        assert [info.name for info in store.list("odd/")] == sorted(ODD_NAMES)
        for name in ODD_NAMES:
            assert store.get(name) == name.encode()
            assert store.size(name) == len(name.encode())
            store.delete(name)
        assert list(store.list("odd/")) == []

    def test_bad_names_are_refused(self, store: Objects) -> None:
        for name in BAD_NAMES:
            for refused in (
                lambda name=name: store.put_if_absent(name, []),
                lambda name=name: store.put(name, []),
                lambda name=name: store.get(name),
                lambda name=name: store.delete(name),
                lambda name=name: store.size(name),
            ):
                with pytest.raises(BadName):
                    refused()
        for prefix in ["/", "..", "../", "a//", "a/../", "a/.", "\\"]:
            with pytest.raises(BadName):
                store.list(prefix)

    def test_threads_share_a_handle(self, store: Objects) -> None:
        def work(thread: int) -> None:
            for number in range(20):
                name = f"threads/{thread}/{number}"
                data = f"{name} ".encode() * 100
                store.put_if_absent(name, [data])
                assert store.get(name) == data
                assert store.get(name, 5, 50) == data[5:50]
                if number % 2:
                    store.delete(name)
            assert len(list(store.list(f"threads/{thread}/"))) == 10

        with ThreadPoolExecutor(WRITERS) as threads:
            list(threads.map(work, range(WRITERS)))
        assert len(list(store.list("threads/"))) == 10 * WRITERS
