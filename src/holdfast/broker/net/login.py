"""A connection on a listener with SASL: nothing is served before somebody has proven who they are.

What an event does is `security.logins.login.step`'s to say; here it is done. A frame behind a token is not even looked
at before the verdict, and until the session is open the socket is not read further than what is worked on. Frames are
small until then. A failure is told with the same words whatever its cause, and at the same time after the token came.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from holdfast.broker.net.connection import Connection, Slot
from holdfast.errors import HoldfastError, Rejected
from holdfast.io.address import Address
from holdfast.protocol.api import Key, find
from holdfast.protocol.codes import Code
from holdfast.protocol.errors import UnsupportedVersion
from holdfast.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from holdfast.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from holdfast.protocol.header import RequestHeader, decode_request_header, frame_response
from holdfast.protocol.messages import decode_request, encode_response
from holdfast.security.errors import LoginFailed
from holdfast.security.logins.checks import LoginChecks
from holdfast.security.logins.login import Do, Failed, Frame, Handshake, Login, More, Phase, Proven, TokenFrame, step
from holdfast.security.principal import Session
from holdfast.types import Buffer

if TYPE_CHECKING:
    from holdfast.broker.net.server import Server

log = logging.getLogger(__name__)

_FAILED: Final = "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"
_HANDSHAKE: Final = Key.SASL_HANDSHAKE.to_bytes(2, "big")
_AUTHENTICATE: Final = Key.SASL_AUTHENTICATE.to_bytes(2, "big")


class LoginConnection(Connection):
    """The server's end of one connection that begins with a login."""

    def __init__(
        self, server: Server, told: Address, session: Session, peer: str, checks: LoginChecks, began: float
    ) -> None:
        super().__init__(server, told, session, peer)
        self._checks = checks
        self._began = began
        self._login = Login(checks.mechanisms)
        self._is_greeted = False  # In a version of ApiVersions that we do not have; once.
        self._frames.size_max = min(checks.receive_size_max, server.limits.frame_size_max)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.add_login(self, self._began)

    def update_reading(self) -> None:
        """Until somebody is there, nothing is read behind what is worked on."""
        super().update_reading()
        is_held = self._login.phase is not Phase.OPEN and self._task is not None
        if is_held and self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = False
            self._paused_at = self._server.clock.monotonic()
            self._transport.pause_reading()

    def _begin(self, frame: memoryview) -> None:
        login, key = self._login, bytes(frame[:2])
        if login.phase is Phase.OPEN and key not in (_HANDSHAKE, _AUTHENTICATE):
            if self.session.is_over(self._server.clock.boottime()):
                self._close_for("its session is over")
            else:
                super()._begin(frame)
        elif login.phase is Phase.TOKENS and login.is_bare:
            self._take_token(frame, None, bytes(frame))
        else:
            self._begin_login(frame, decode_request_header(frame))

    def _begin_login(self, frame: memoryview, header: RequestHeader) -> None:
        """What belongs to a login, or to none."""
        if header.api_key == Key.SASL_HANDSHAKE:
            self._shake_hands(frame, header)
        elif header.api_key == Key.SASL_AUTHENTICATE:
            find(header.api_key, header.api_version)
            asked = decode_request(Key.SASL_AUTHENTICATE, header.api_version, frame[header.body :])
            assert isinstance(asked, SaslAuthenticateRequest)
            self._take_token(frame, header, bytes(asked.auth_bytes))
        elif self._server.is_peer(frame):  # Another broker of the cluster proves it in each request.
            self._server.end_login(self)
            super()._begin(frame)
        elif self._asks_wrongly(header):
            self._is_greeted = True
            super()._begin(frame)
        else:
            self._login, do = step(self._login, Frame(header.api_key, self._server.clock.boottime()))
            if do is Do.TELL_VERSIONS:
                super()._begin(frame)
            else:
                self._close_for(f"API {header.api_key} is not for those who have not logged in")

    def _asks_wrongly(self, header: RequestHeader) -> bool:
        """Whether somebody asks for ApiVersions in a version that is not there: once they are told which are."""
        if header.api_key != Key.API_VERSIONS or self._login.phase is not Phase.GREETING or self._is_greeted:
            return False
        try:
            find(header.api_key, header.api_version)
        except UnsupportedVersion:
            return not self._login.has_asked
        return False

    def _shake_hands(self, frame: memoryview, header: RequestHeader) -> None:
        find(header.api_key, header.api_version)
        asked = decode_request(Key.SASL_HANDSHAKE, header.api_version, frame[header.body :])
        assert isinstance(asked, SaslHandshakeRequest)
        self._login, do = step(self._login, Handshake(asked.mechanism, header.api_version))
        if do not in (Do.OFFER, Do.REFUSE_MECHANISM):
            self._close_for("a handshake of SASL came out of turn")
            return
        code = Code.NONE if do is Do.OFFER else Code.UNSUPPORTED_SASL_MECHANISM
        answer = SaslHandshakeResponse(error_code=code, mechanisms=list(self._checks.mechanisms))
        body = encode_response(Key.SASL_HANDSHAKE, header.api_version, answer)
        self._tell(self._slot(frame), frame_response(header.api_key, header.api_version, header.correlation_id, body))
        if do is Do.REFUSE_MECHANISM:
            self._end_login(f"the mechanism {asked.mechanism[:40]!r} is not offered, or is not that of its session")

    def _take_token(self, frame: memoryview, header: RequestHeader | None, token: bytes) -> None:
        self._login, do = step(self._login, TokenFrame(token, header is None))
        if do is not Do.CHECK:
            self._close_for("a token of SASL came out of turn")
            return
        self._is_producing = False
        self._task = asyncio.ensure_future(self._prove(self._slot(frame), header, token))

    async def _prove(self, slot: Slot, header: RequestHeader | None, token: bytes) -> None:
        """Check a token, and go on with what was proven."""
        began, why = self._server.clock.monotonic(), ""
        try:
            verdict = await self._verdict(token)
        except LoginFailed as failure:
            verdict, why = Failed(), failure.for_audit
        except HoldfastError as failure:
            self.refuse(failure)
            return
        except Exception:
            log.exception("%s: a login failed", self.peer)
            self._drop()
            return
        self._login, do = step(self._login, verdict)
        if do is not Do.ANSWER:
            await self._fail(slot, header, began, why or "a login again must be of the same user")
            return
        assert not isinstance(verdict, Failed)
        if isinstance(verdict, Proven):
            self._open(verdict.session)
        self._task = None
        self._answer(slot, self._token_answer(header, verdict))

    async def _verdict(self, token: bytes) -> More | Proven | Failed:
        login, calls = self._login, self._server.login_calls
        run = calls.run if self._checks.needs_others(login.mechanism) else calls.local
        return await run(self._checks.check, login, token, self.session, self._server.users())

    def _open(self, session: Session) -> None:
        self.session = session
        self._frames.size_max = self._server.limits.frame_size_max
        self._server.end_login(self)

    def _token_answer(self, header: RequestHeader | None, verdict: More | Proven) -> Sequence[Buffer]:
        if header is None:
            return [len(verdict.answer).to_bytes(4, "big"), verdict.answer]
        lasts_ms = 0
        if isinstance(verdict, Proven) and verdict.session.until < float("inf"):
            lasts_ms = max(round((verdict.session.until - self._server.clock.boottime()) * 1000), 1)
        answer = SaslAuthenticateResponse(error_message=None, auth_bytes=verdict.answer, session_lifetime_ms=lasts_ms)
        return _framed(header, answer)

    async def _fail(self, slot: Slot, header: RequestHeader | None, began: float, why: str) -> None:
        """At the same time after the token came, however long its check took."""
        delay_s = self._server.limits.failed_login_ms / 1000
        await asyncio.sleep(max(delay_s - (self._server.clock.monotonic() - began), 0))
        answer: Sequence[Buffer] = ()
        if header is not None:
            words = _FAILED.format(self._login.mechanism)
            answer = _framed(
                header, SaslAuthenticateResponse(error_code=Code.SASL_AUTHENTICATION_FAILED, error_message=words)
            )
        self._waiting.clear()
        self._tell(slot, answer)
        self._end_login(why)

    def _slot(self, frame: memoryview) -> Slot:
        slot = Slot(len(frame))
        self._slots.append(slot)
        return slot

    def _tell(self, slot: Slot, answer: Sequence[Buffer]) -> None:
        slot.answer, slot.done = answer, True
        self._send()

    def _end_login(self, why: str) -> None:
        """Close behind the last answer."""
        self._waiting.clear()
        self._note(why)
        self.close()

    def _close_for(self, why: str) -> None:
        """Close without an answer."""
        self._server.closed["sasl"] += 1
        self.refuse(Rejected(why))

    def _note(self, why: str) -> None:
        self._server.closed["sasl"] += 1
        self._server.audit.failed_login(self.peer, self.session.listener, why)


def _framed(header: RequestHeader, answer: SaslAuthenticateResponse) -> Sequence[Buffer]:
    body = encode_response(Key.SASL_AUTHENTICATE, header.api_version, answer)
    return frame_response(Key.SASL_AUTHENTICATE, header.api_version, header.correlation_id, body)
