"""Where subscribers are served, beside the Kafka port."""

from __future__ import annotations

import pytest

from holdfast.cli.subscribe.port import address_of
from holdfast.io.address import Address


@pytest.mark.parametrize(
    ("listen", "kafka", "expected"),
    [
        ("auto", 9092, Address("127.0.0.1", 9094)),
        ("auto", 0, Address("127.0.0.1", 0)),
        ("[::1]:7000", 0, Address("::1", 7000)),
    ],
)
def test_beside_a_port_that_was_chosen_any_free_one_is_taken(listen: str, kafka: int, expected: Address) -> None:
    """S1: the neighbours of a port that the system chose belong to others: they are never taken by number."""
    assert address_of(listen, Address("127.0.0.1", kafka)) == expected
