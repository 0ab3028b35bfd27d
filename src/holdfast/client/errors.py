"""What can go wrong between a client and a broker.

Unavailable
├── BrokerUnreachable   nobody answers at the addresses given
│   └── NodeUnreachable a broker does not answer that the cluster names as the one to ask
├── BrokerLost          the connection ended, or no answer came: whether the request took effect is not known
├── NotNow              the broker cannot do it now, but may soon
└── TransactionLost     this transaction cannot go on: begin again with `init_producer_id`
Rejected
├── NotKafka            whoever listens there does not speak Kafka's protocol
├── TlsFailed           no TLS with this broker: its certificate, or ours, is not taken
├── LoginRefused        no login with this broker: it does not take our proof, or has none of its own
├── BadAddress          the text is no HOST:PORT (of `io.address`)
├── TooOld              the broker and this client have no version of a request in common
├── TopicNotFound       there is no such topic
└── Refused             the broker understood, and said no
    └── OffsetGone      the partition does not have this offset, or no longer
Fenced
└── ProducerFenced      another producer with the same transactional id has begun
"""

from __future__ import annotations

from holdfast.errors import Fenced, Rejected, Unavailable


class BrokerUnreachable(Unavailable):
    """Nobody answers at any of the addresses given."""

    def __init__(self, addresses: str, cause: BaseException) -> None:
        super().__init__(
            f"no broker answers at {addresses} ({reason_of(cause)}): start one, or give the address of one that runs"
        )
        self.addresses = addresses
        self.cause = cause


class NodeUnreachable(BrokerUnreachable):
    """The broker that leads or coordinates does not answer: the cluster may soon name another."""

    def __init__(self, address: str, cause: BaseException) -> None:
        super().__init__(address, cause)
        self.args = (
            f"the broker at {address}, which the cluster names for this, does not answer ({reason_of(cause)})",
        )


def reason_of(cause: BaseException) -> str:
    """What a person needs to know of a connection that failed."""
    if isinstance(cause, TimeoutError):
        return "timed out"
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    return getattr(cause, "strerror", None) or str(cause)


class BrokerLost(Unavailable):
    """The connection ended, or no answer came: whether the request took effect is not known."""

    def __init__(self, address: str, cause: BaseException, hint: str = "") -> None:
        what = "did not answer in time" if isinstance(cause, TimeoutError) else f"closed the connection{hint}"
        super().__init__(f"the broker at {address} {what}")
        self.address = address
        self.cause = cause


def _sentence(what: str, reason: str) -> str:
    """A reason that names the thing itself needs no other subject."""
    return reason if what.split()[-1] in reason else f"{what}: {reason}"


class NotNow(Unavailable):
    """The broker cannot do it now, but may soon."""

    def __init__(self, what: str, code: int, reason: str) -> None:
        self.sentence = _sentence(what, reason)
        super().__init__(f"{self.sentence}; try again later")
        self.what = what
        self.code = code
        self.reason = reason


class TransactionLost(Unavailable):
    """The transaction cannot go on. Nothing of it is visible; begin again."""

    def __init__(self, what: str, code: int, reason: str) -> None:
        super().__init__(f"{what}: {reason}; begin the transaction again")
        self.what = what
        self.code = code
        self.reason = reason


class NotKafka(Rejected):
    """Whoever listens there does not speak Kafka's protocol."""

    def __init__(self, address: str, why: object) -> None:
        super().__init__(f"what listens at {address} is no Kafka broker: {why}")
        self.address = address


class TlsFailed(Rejected):
    """There is no TLS with this broker."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"no TLS with {address}: {why}")
        self.address = address
        self.why = why


class LoginRefused(Rejected):
    """There is no login with this broker."""

    def __init__(self, address: str, mechanism: str, user: str, why: str) -> None:
        super().__init__(f"no login at {address} with {mechanism}{f' as {user}' if user else ''}: {why}")
        self.address = address
        self.mechanism = mechanism
        self.user = user
        self.why = why


class TooOld(Rejected):
    """The broker and this client have no version of a request in common."""

    def __init__(self, address: str, name: str, theirs: tuple[int, int] | None, ours: tuple[int, int]) -> None:
        found = f"versions {theirs[0]} to {theirs[1]}" if theirs else "no version"
        super().__init__(f"the broker at {address} knows {found} of {name}, {ours[0]} to {ours[1]} are needed")
        self.address = address
        self.name = name
        self.theirs = theirs
        self.ours = ours


class TopicNotFound(Rejected):
    """There is no such topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"there is no topic {topic}: create it first, with `holdfast topic create {topic}`")
        self.topic = topic


class Refused(Rejected):
    """The broker understood, and said no."""

    def __init__(self, what: str, code: int, reason: str) -> None:
        super().__init__(_sentence(what, reason))
        self.what = what
        self.code = code
        self.reason = reason


class OffsetGone(Refused):
    """The partition does not have this offset, or no longer."""


class ProducerFenced(Fenced):
    """Another producer with the same transactional id has begun: this one must stop."""

    def __init__(self, what: str, code: int, reason: str) -> None:
        super().__init__(f"{what}: another producer with the same transactional id has taken over ({reason}); stop")
        self.what = what
        self.code = code
        self.reason = reason
