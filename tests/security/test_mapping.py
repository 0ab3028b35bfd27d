"""Names of certificates, and the rules that make users of them."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.security.errors import BadSetting
from holdfast.security.mapping import NobodysName, PrincipalMapping, subject_of
from holdfast.testing.certificates import Authority

CA = Authority()
TYPES = [
    NameOID.COMMON_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.LOCALITY_NAME,
    NameOID.STATE_OR_PROVINCE_NAME,
    NameOID.STREET_ADDRESS,
    NameOID.USER_ID,
]
TEXTS = st.text(st.characters(exclude_categories=["C"], exclude_characters=" "), min_size=1, max_size=12)


def _subject(*parts: tuple[x509.ObjectIdentifier, str]) -> str:
    name = x509.Name([x509.NameAttribute(*part) for part in parts])
    return subject_of(CA.issue(name).certificate.public_bytes(Encoding.DER))


def test_a_name_is_written_as_java_writes_it() -> None:
    """X2: the last part first, no blanks, signs escaped; what has no letters by its number, with its bytes."""
    assert (
        _subject(
            (NameOID.COUNTRY_NAME, "DE"),
            (NameOID.ORGANIZATION_NAME, "Big, Inc"),
            (NameOID.ORGANIZATIONAL_UNIT_NAME, "a+b"),
            (NameOID.COMMON_NAME, "käthe"),
        )
        == "CN=käthe,OU=a\\+b,O=Big\\, Inc,C=DE"
    )
    assert _subject((NameOID.COMMON_NAME, "#x ")) == "CN=\\#x\\ "
    mail = _subject((NameOID.EMAIL_ADDRESS, "a@b"), (NameOID.COMMON_NAME, "a"))
    assert mail == "CN=a,1.2.840.113549.1.9.1=#1603614062"
    pair = x509.RelativeDistinguishedName(
        [x509.NameAttribute(NameOID.COMMON_NAME, "a"), x509.NameAttribute(NameOID.USER_ID, "b")]
    )
    both = CA.issue(x509.Name([pair])).certificate
    assert subject_of(both.public_bytes(Encoding.DER)) in ("CN=a+UID=b", "UID=b+CN=a")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TYPES), TEXTS), min_size=1, max_size=4))
def test_a_name_is_what_a_library_says(parts: list[tuple[x509.ObjectIdentifier, str]]) -> None:
    """X2: cryptography's own RFC 4514 text, as far as it writes the same (it does not escape `=`)."""
    made = x509.Name([x509.NameAttribute(*part) for part in parts])
    found = subject_of(CA.issue(made).certificate.public_bytes(Encoding.DER))
    assert x509.Name.from_rfc4514_string(found) == made


KAFKA = "CN=kafka1,OU=SME,O=mycp,L=Fulton,ST=MD,C=US"


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("", KAFKA, KAFKA),
        ("DEFAULT", KAFKA, KAFKA),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=serviceuser,OU=ServiceUsers,O=x", "serviceuser"),
        (
            "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, DEFAULT",
            "CN=adminUser,OU=Admin,O=Unknown,L=Unknown,ST=Unknown,C=Unknown",
            "adminuser@admin",
        ),
        ("RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U, DEFAULT", KAFKA, KAFKA),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT", KAFKA, "kafka1"),
        ("RULE:^CN=([^,]+).*$/$1\\/x/U", KAFKA, "KAFKA1/X"),
        ("RULE:CN=a\\/b/c/", "CN=a/b", "c"),
        ("RULE:^CN=(.*)$/ü$0\\$1/ , DEFAULT", "CN=x", "üCN=x$1"),
    ],
)
def test_rules_of_kafkas_documentation(rules: str, name: str, user: str) -> None:
    """X2: ssl.principal.mapping.rules; the first that matches the whole name."""
    assert PrincipalMapping.parse(rules).name_of(name) == user


@pytest.mark.parametrize("name", ["CN=other", "xCN=a,OU=b", ""])
def test_a_name_that_no_rule_takes_is_nobody(name: str) -> None:
    """X2: a certificate is no way in by itself; a part of the name is not the name."""
    with pytest.raises(NobodysName, match=r"ssl\.principal"):
        PrincipalMapping.parse("RULE:CN=(.*),OU=b/$1/").name_of(name)


@pytest.mark.parametrize(
    "rules", ["RULE:a", "RULE:a/b", "RULE:a/b/X", "default", "DEFAULT DEFAULT", "RULE:(a/b/", "RULE:a/$1/"]
)
def test_rules_that_are_written_wrongly_are_said(rules: str) -> None:
    """X2: at the start, not at the first connection."""
    with pytest.raises(BadSetting, match=r"ssl\.principal\.mapping\.rules"):
        PrincipalMapping.parse(rules)
