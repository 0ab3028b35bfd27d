"""The state machine of a login, by all sequences of events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.protocol.api import Key
from holdfast.security.logins.login import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Do,
    Event,
    Failed,
    Frame,
    Handshake,
    Login,
    More,
    Phase,
    Proven,
    TokenFrame,
    step,
)
from holdfast.security.logins.scram import Exchange, fake_verifier
from holdfast.security.principal import Principal, Session

SCRAM, PLAIN = "SCRAM-SHA-256", "PLAIN"
EXCHANGE = Exchange("alice", True, fake_verifier(SCRAM, "alice", b""), "n", "")
ALICE = Session(Principal("alice"), "127.0.0.1", "SASL", SCRAM, until=100.0)
BOB = Session(Principal("bob"), "127.0.0.1", "SASL", SCRAM, until=100.0)
PRODUCE, LATE, VERSIONS = Frame(0, 50.0), Frame(0, 100.0), Frame(API_VERSIONS, 50.0)
FIRST, SECOND = Handshake(SCRAM, 1), Handshake(PLAIN, 1)
OLD, UNKNOWN = Handshake(SCRAM, 0), Handshake("GSSAPI", 1)
TOKEN, BARE = TokenFrame(b"t", False), TokenFrame(b"t", True)
MORE, IS_ALICE, IS_BOB, FAILED = More(b"a", EXCHANGE), Proven(b"a", ALICE), Proven(b"a", BOB), Failed()
FRAMES: tuple[Event, ...] = (PRODUCE, LATE, VERSIONS, FIRST, SECOND, OLD, UNKNOWN, TOKEN, BARE)
VERDICTS: tuple[Event, ...] = (MORE, IS_ALICE, IS_BOB, FAILED)
NAMES = {id(each): name for name, each in list(globals().items()) if isinstance(each, Event)}


def _runs(length: int) -> Iterator[tuple[list[Event], list[Do], Login]]:
    """All sequences; behind a close there is nothing, and verdicts come only while a token is checked."""

    def go(login: Login, events: list[Event], done: list[Do]) -> Iterator[tuple[list[Event], list[Do], Login]]:
        yield events, done, login
        if len(events) == length or login.phase is Phase.CLOSED:
            return
        for event in (*FRAMES, *VERDICTS) if login.phase is Phase.CHECKING else FRAMES:
            after, do = step(login, event)
            yield from go(after, [*events, event], [*done, do])

    yield from go(Login((SCRAM, PLAIN)), [], [])


def _model(events: list[Event]) -> Do | None:
    """What the last event must do, read off the whole history, in plain words."""
    *history, last = events
    kept: list[Event] = []  # Without what was only held.
    for each in history:
        is_checking = bool(kept) and isinstance(kept[-1], TokenFrame)
        if not is_checking or isinstance(each, More | Proven | Failed):
            kept.append(each)
    before = kept[-1] if kept else None
    proven = [each for each in kept if isinstance(each, Proven)]
    shakes = [each for each in kept if isinstance(each, Handshake)]
    if isinstance(before, TokenFrame):
        if isinstance(last, More):
            return Do.ANSWER
        if isinstance(last, Proven):
            return Do.ANSWER if not proven or proven[0].session.principal == last.session.principal else Do.FAIL
        return Do.FAIL if isinstance(last, Failed) else Do.HOLD
    is_open = bool(proven) and not isinstance(before, Handshake | More)
    is_greeting = not shakes
    if isinstance(last, Handshake) and (is_open or is_greeting):
        if is_open and last.version == 0:
            return Do.CLOSE
        is_offered = last.mechanism in (SCRAM, PLAIN) and (is_greeting or last.mechanism == shakes[0].mechanism)
        return Do.OFFER if is_offered else Do.REFUSE_MECHANISM
    if isinstance(last, TokenFrame) and isinstance(before, Handshake | More):
        return Do.CHECK if last.is_bare == (shakes[-1].version == 0) else Do.CLOSE
    if isinstance(last, Frame) and is_open:
        return Do.SERVE if last.at < 100.0 else Do.CLOSE
    if last is VERSIONS and is_greeting and VERSIONS not in history:
        return Do.TELL_VERSIONS
    return Do.CLOSE


def test_every_sequence_does_what_the_model_says() -> None:
    """X4, X5: of up to six events: nothing is served before a proof, behind a failure, or after the end."""
    count = 0
    for events, done, _ in _runs(6):
        if events:
            count += 1
            assert done[-1] is _model(events), [NAMES[id(each)] for each in events]
    assert count > 10_000


def test_nothing_is_served_without_a_proof() -> None:
    """X4: said once more without a model: behind no sequence is a request served before somebody was proven."""
    for events, done, login in _runs(5):
        if Do.SERVE in done:
            assert any(isinstance(each, Proven) for each in events[: done.index(Do.SERVE)])
        assert (login.session is None) or any(isinstance(each, Proven) for each in events)


@pytest.mark.parametrize("key", range(-1, max(Key) + 10))
def test_every_other_api_key_closes_in_every_phase(key: int) -> None:
    """X4: tried raw, each one is closed without an answer, before the login and in the middle of it."""
    if key == API_VERSIONS:
        return
    for events, _, login in _runs(3):
        if login.phase in (Phase.GREETING, Phase.TOKENS):
            after, do = step(login, Frame(key, 0.0))
            assert (after.phase, do) == (Phase.CLOSED, Do.CLOSE), events
        if login.phase is Phase.CHECKING:
            assert step(login, Frame(key, 0.0)) == (login, Do.HOLD)


def test_a_login_has_few_tokens() -> None:
    """X4: what a client can make us check is bounded."""
    login, _ = step(Login((SCRAM,)), FIRST)
    for _ in range(4):
        login, do = step(login, TOKEN)
        assert do is Do.CHECK
        login, _ = step(login, MORE)
    assert step(login, TOKEN)[1] is Do.CLOSE


def test_a_session_is_replaced_whole() -> None:
    """X5: by a login of the same user, also after its end; and the numbers are Kafka's."""
    login = Login((SCRAM,), Phase.OPEN, mechanism=SCRAM, session=ALICE)
    assert step(login, LATE)[1] is Do.CLOSE
    for event in (FIRST, TOKEN, Proven(b"", Session(ALICE.principal, "127.0.0.1", "SASL", SCRAM, until=200.0))):
        login, _ = step(login, event)
    assert step(login, LATE)[1] is Do.SERVE
    assert (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE) == (
        Key.API_VERSIONS,
        Key.SASL_HANDSHAKE,
        Key.SASL_AUTHENTICATE,
    )
