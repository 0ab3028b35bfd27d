"""Known ways to get security wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SECRET = "tests/security/test_secret.py"
PROPERTIES = "tests/security/test_properties.py"
TLS = "tests/security/test_tls.py"

BUGS = [
    Bug(
        "security: a secret shows itself in a traceback",
        (Edit("security/secret.py", 'return f"Secret({HIDDEN})"', 'return f"Secret({self.__text})"'),),
        (f"{SECRET}::test_a_traceback_with_locals_does_not_show_it",),
    ),
    Bug(
        "security: a secret is pickled",
        (
            Edit(
                "security/secret.py",
                "    def __reduce__(self) -> NoReturn:\n",
                "    def __reduce__(self) -> object:\n        return Secret, (self.__text,)\n",
            ),
        ),
        (f"{SECRET}::test_it_is_not_pickled_and_not_written_as_json",),
    ),
    Bug(
        "security: a broken certificate file drops the good one",
        (
            Edit(
                "security/tls.py",
                "            self._complain(str(failure))\n            return False\n        self.current,",
                "            self._complain(str(failure))\n"
                "            self.current = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n            return False\n"
                "        self.current,",
            ),
        ),
        (f"{TLS}::test_a_new_certificate_is_taken_and_a_broken_one_is_not",),
    ),
    Bug(
        "security: a client certificate that is required is only requested",
        (Edit("security/tls.py", '"required": ssl.CERT_REQUIRED', '"required": ssl.CERT_OPTIONAL'),),
        (f"{TLS}::test_client_certificates_none_requested_required",),
    ),
    Bug(
        "security: a value from a file is looked into again",
        (Edit("security/properties.py", "return read[path][key]", "return resolve(read[path], environ)[key]"),),
        (f"{PROPERTIES}::test_values_come_from_files_and_variables",),
    ),
]
