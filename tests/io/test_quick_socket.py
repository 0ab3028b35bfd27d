"""A socket whose small calls keep the interpreter's lock says what any other says."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from holdfast.io.quick_socket import QuickSocket, quick
from holdfast.native import kernels

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours = quick(ours)
    ours.settimeout(0)
    yield ours, theirs
    ours.close()
    theirs.close()


def fill(ours: socket.socket) -> None:
    for _ in range(10_000):
        ours.send(bytes(60_000))


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 100_000])
def test_bytes_come_and_go(ends: tuple[socket.socket, socket.socket], size: int) -> None:
    """K9: small ones in one way, large ones in the other."""
    ours, theirs = ends
    assert isinstance(ours, QuickSocket)
    data = bytes(number % 251 for number in range(size))
    sent = ours.send(data)
    assert 0 <= sent <= size
    assert (sent > 0) == (size > 0)
    theirs.settimeout(5)
    assert (theirs.recv(sent, socket.MSG_WAITALL) if sent else b"") == data[:sent]
    theirs.sendall(b"answer")
    room = bytearray(max(size, 6))
    assert ours.recv_into(room) == 6
    assert room[:6] == b"answer"


def test_what_would_block_says_so(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = ends
    with pytest.raises(BlockingIOError):
        ours.recv_into(bytearray(10))
    with pytest.raises(BlockingIOError):
        fill(ours)


def test_an_end_is_told_and_no_signal_comes(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.close()
    assert ours.recv_into(bytearray(10)) == 0
    with pytest.raises(BrokenPipeError):
        ours.send(b"to nobody")


def test_what_is_read_only_is_not_written_to(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.send(b"x")
    with pytest.raises(BufferError):
        ours.recv_into(memoryview(bytes(10)))


def test_a_closed_one_raises(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = ends
    ours.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        ours.send(b"x")
