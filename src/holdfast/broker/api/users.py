"""DescribeUserScramCredentials, AlterUserScramCredentials: the users that log in with SCRAM.

Kafka's tools salt a password before they send it. Of that only what checks it is kept, never what would log in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import ALTER_CLUSTER
from holdfast.broker.net.request import Request
from holdfast.cluster.auth import Auth, Verifiers, remove_user, set_user
from holdfast.cluster.version_log import Step
from holdfast.errors import HoldfastError, Rejected
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from holdfast.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from holdfast.security.logins.scram import ITERATIONS_MAX, ITERATIONS_MIN, MECHANISMS, verifier_of

_NUMBERS = dict(enumerate(MECHANISMS, 1))  # As the messages have them.
_MECHANISMS_MAX = 256  # A byte: whoever changes one user more often repeats one.
_Change = ScramCredentialDeletion | ScramCredentialUpsertion


class _Refused(Rejected):
    def __init__(self, code: Code, why: str) -> None:
        super().__init__(why)
        self.code = code


async def describe(
    context: BrokerContext, message: DescribeUserScramCredentialsRequest, request: Request
) -> DescribeUserScramCredentialsResponse:
    """Those that are named; without names, all."""
    users = context.users.value.users
    named: Mapping[str, int]
    if message.users:
        named = await request.pace.counted(each.name for each in message.users)
    else:
        named = {name: 1 async for name in request.pace.in_order(users)}
    results = [_described(name, count, users.get(name)) async for name, count in request.pace.through(named.items())]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def _described(name: str, count: int, known: Verifiers | None) -> DescribeUserScramCredentialsResult:
    code, reason, infos = Code.NONE, None, []
    if count > 1:
        code, reason = Code.DUPLICATE_RESOURCE, f"the request names {name} twice"
    elif known is None:
        code, reason = Code.RESOURCE_NOT_FOUND, f"there is no user {name} that logs in with SCRAM"
    else:
        infos = [
            CredentialInfo(mechanism=number, iterations=known[each].iterations)
            for number, each in _NUMBERS.items()
            if each in known
        ]
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=reason, credential_infos=infos)


async def alter(
    context: BrokerContext, message: AlterUserScramCredentialsRequest, request: Request
) -> AlterUserScramCredentialsResponse:
    """Each user's changes are made, or none of them; those of one user do not wait for another's."""
    by_user: dict[str, list[_Change]] = {}
    changes: Iterable[_Change] = chain(message.deletions, message.upsertions)
    async for each in request.pace.through(changes):
        by_user.setdefault(each.name, []).append(each)
    results = []
    async for name in request.pace.through(list(by_user)):
        result = await _alter(context, name, by_user.pop(name), request.rights)  # All of it at once would take long.
        results.append(result)
        if not result.error_code:
            context.gate.audit.changed(request.session, f"the logins of user {name!r}")
    return AlterUserScramCredentialsResponse(results=results)


async def _alter(
    context: BrokerContext, name: str, changes: Sequence[_Change], rights: SenderRights
) -> AlterUserScramCredentialsResult:
    code, reason = Code.NONE, None
    try:
        rights.need(ALTER_CLUSTER)
        await context.users.commit(*_steps(name, changes, context.users.value))
    except _Refused as failure:
        code, reason = failure.code, str(failure)
    except HoldfastError as failure:
        code, reason = code_of(failure), str(failure)
    return AlterUserScramCredentialsResult(user=name, error_code=code, error_message=reason)


def _steps(name: str, changes: Sequence[_Change], auth: Auth) -> list[Step]:
    """Raises _Refused, with what Kafka answers."""
    if not name:
        raise _Refused(Code.UNACCEPTABLE_CREDENTIAL, "a user's name must not be empty")
    if len(changes) > _MECHANISMS_MAX or len({each.mechanism for each in changes}) < len(changes):
        raise _Refused(Code.DUPLICATE_RESOURCE, "a user cannot be changed twice in one request for one mechanism")
    return [_step(each, auth) for each in changes]


def _step(change: _Change, auth: Auth) -> Step:
    mechanism = _NUMBERS.get(change.mechanism)
    if mechanism is None:
        raise _Refused(Code.UNSUPPORTED_SASL_MECHANISM, f"there is no SCRAM mechanism of number {change.mechanism}")
    if isinstance(change, ScramCredentialDeletion):
        if auth.verifier(change.name, mechanism) is None:
            raise _Refused(Code.RESOURCE_NOT_FOUND, f"there is no user {change.name} for {mechanism}")
        return remove_user(change.name, mechanism)
    if not ITERATIONS_MIN <= change.iterations <= ITERATIONS_MAX:
        why = f"{change.iterations} iterations are not between {ITERATIONS_MIN} and {ITERATIONS_MAX}"
        raise _Refused(Code.UNACCEPTABLE_CREDENTIAL, why)
    if not change.salted_password or not change.salt:
        raise _Refused(Code.UNACCEPTABLE_CREDENTIAL, "a salt and a salted password must not be empty")
    made = verifier_of(mechanism, bytes(change.salted_password), bytes(change.salt), change.iterations)
    return set_user(change.name, made)
