"""Known bugs of listeners."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LISTENERS = "tests/broker/test_listeners.py"
TLS = "tests/broker/test_tls.py"
LINK = "tests/broker/test_tls_link.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "clients are told the address of the first listener",
        "broker/net/server.py",
        "partial(self._made, each) for each in listeners}",
        "partial(self._made, listeners[0]) for each in listeners}",
        LISTENERS + "::test_each_listener_tells_its_own_address",
    ),
    bug(
        "clients are told where a listener listens, not what is advertised",
        "broker/net/listener.py",
        "told = advertised or Address(",
        "told = Address(",
        LISTENERS + "::test_each_listener_tells_its_own_address",
    ),
    bug(
        "a broken certificate drops the good one",
        "security/tls.py",
        "        except BadSetting as failure:\n            self._complain(str(failure))\n            return False\n"
        "        if why := self._why_worse",
        "        except BadSetting as failure:\n            self._complain(str(failure))\n"
        "            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
        "        if why := self._why_worse",
        TLS + "::test_certificates_are_renewed_under_open_connections",
    ),
    bug(
        "a listener with TLS is served in plain",
        "broker/net/server.py",
        "        if listener.tls is not None:\n            return TlsLink",
        "        if False:\n            return TlsLink",
        TLS + "::test_a_port_speaks_one_language",
    ),
    bug(
        "a certificate is not made a name by the rules",
        "broker/net/listener.py",
        "Principal(self.mapping.name_of(subject_of(certificate)))",
        "Principal(subject_of(certificate))",
        LINK + "::test_a_session_has_the_name_in_the_certificate",
    ),
    bug(
        "a rule matches the beginning of a name",
        "security/mapping.py",
        "self.pattern.fullmatch(name)",
        "self.pattern.match(name)",
        "tests/security/test_mapping.py",
    ),
    bug(
        "an answer is encrypted at once",
        "broker/net/tls_link.py",
        "            self._socket.set_write_buffer_limits(high, low)\n",
        "            self._socket.set_write_buffer_limits(1 << 30)\n",
        LINK + "::test_an_answer_is_encrypted_as_it_is_taken",
    ),
    bug(
        "a handshake has all the time in the world",
        "broker/net/server.py",
        "            await self._close_unproven(now)\n",
        "",
        LINK + "::test_a_handshake_has_its_time",
    ),
    bug(
        "handshakes take the room of everybody",
        "broker/net/server.py",
        "        if len(self._handshakes) + len(self._logins) <= max(",
        "        if True or len(self._handshakes) + len(self._logins) <= max(",
        LINK + "::test_those_without_a_session_leave_room",
    ),
    bug(
        "a connection that ended in its handshake is counted for ever",
        "broker/net/server.py",
        "is_lost and self._acceptor is not None:",
        "False and self._acceptor is not None:",
        LINK + "::test_those_without_a_session_leave_room",
    ),
    bug(
        "what was received while nobody read is forgotten",
        "broker/net/tls_link.py",
        "                self._incoming.write(self._received)\n        except",
        "                pass\n        except",
        LINK + "::test_requests_wait_while_nobody_reads",
    ),
]
