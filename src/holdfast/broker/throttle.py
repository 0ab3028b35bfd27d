"""Throttling: what users and their clients use is held against their quotas, and who has used too much waits.

Each quota is a token bucket: it fills at the quota's rate and holds what some seconds bring, so a client that was quiet
may burst. A request that overdraws it is served; its answer says for how long the bucket is overdrawn, and until then
the connection is not read (back-pressure). For time that was used nobody waits longer than one window at once. Changes
of topics are refused instead, where the client knows what that is.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from holdfast.broker.configs.quotas import Quota, Rate, rates_of_client
from holdfast.broker.net.request import Body, Request, Wait
from holdfast.errors import Rejected
from holdfast.io.clock import Clock
from holdfast.io.sparing import SparingLines
from holdfast.measure import ThrottleCounts
from holdfast.protocol.api import Key
from holdfast.protocol.throttled import produced_with_throttle, throttle_of, with_throttle
from holdfast.types import Buffer

log = logging.getLogger(__name__)

_CLIENTS_MAX = 10_000  # Whose quotas are remembered once they were looked up,
_BUCKETS_MAX = 10_000  # and whose use is counted, of users and of client ids; for one more the oldest is forgotten.
_WAITING_MAX = 1_000
_PERCENT = 100.0
_RATE_MIN, _RATE_MAX = 1e-9, 1e15  # What is less or more can be told and counted no longer.
_WAIT_S_MAX = (2**31 - 1) / 1000  # The longest that clients can be told.


class QuotaExceeded(Rejected):
    """Too many partitions were made or deleted in too short a time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the quota {Quota.CHANGES} is used up: try again in {seconds:.1f} s")


class Windows(NamedTuple):
    """For how many seconds a bucket is filled at most, and the longest wait for time that was used."""

    of_clients: float
    of_changes: float
    of_work: float


class Bucket:
    """What is left of a quota; below nothing, how much was used too much."""

    __slots__ = ("_at", "_burst_s", "level", "rate")

    def __init__(self, rate: float, burst_s: float, now: float) -> None:
        self.rate = rate  # Units a second.
        self._burst_s = burst_s
        self._at = now
        self.level = self.full

    @property
    def full(self) -> float:
        return self.rate * self._burst_s

    def fill(self, now: float) -> None:
        self.level = min(self.full, self.level + self.rate * (now - self._at))
        self._at = now

    def change(self, rate: float) -> None:
        """Another quota holds from now on: whoever has used too much waits no longer than before, nor owes more."""
        part = rate / self.rate
        self.level *= min(part, 1.0) if self.level < 0 else part
        self.rate = rate

    @property
    def wait_s(self) -> float:
        return min(max(0.0, -self.level / self.rate), _WAIT_S_MAX)


Scope: TypeAlias = tuple[str | None, str | None]
Buckets: TypeAlias = OrderedDict[tuple[Quota, Scope], Bucket]  # Who has used theirs last is last.


class Throttle:
    """All quotas of users and clients, and what was used of them."""

    def __init__(self, quotas: Callable[[], Mapping[str, Mapping[str, float]]], windows: Windows, clock: Clock) -> None:
        self._quotas = quotas
        self._windows = windows
        self._now = clock.monotonic
        self._lines = SparingLines(log, clock.monotonic)
        self._known: Mapping[str, Mapping[str, float]] = {}
        self._is_on = False
        self._rates: dict[tuple[str, str], dict[str, Rate]] = {}
        self._of_users: Buckets = OrderedDict()
        self._of_clients: Buckets = OrderedDict()  # Who makes up many names drives no user from the other table.
        self.counts = {kind: ThrottleCounts() for kind in Quota}

    @property
    def is_on(self) -> bool:
        """Whether there is any quota; as long as there is none, nothing is counted."""
        quotas = self._quotas()
        if quotas is not self._known:
            self._known = quotas
            self._rates = {}
            self._is_on = any(kind in each for each in quotas.values() for kind in Quota)
            if not self._is_on:
                self._of_users.clear()
                self._of_clients.clear()
        return self._is_on

    def waiting(self) -> list[tuple[str, str, float]]:
        """Who has used more than their quota: which, whose, and for how many seconds. Of those who came last."""
        now, found = self._now(), []
        last = (islice(reversed(each.items()), _WAITING_MAX) for each in (self._of_users, self._of_clients))
        for (kind, scope), bucket in chain.from_iterable(last):
            if bucket.level < 0:
                bucket.fill(now)
                if bucket.wait_s > 0:
                    found.append((kind.value, " ".join(each for each in scope if each is not None), bucket.wait_s))
        return found

    # What was used

    def charge(self, request: Request, kind: Quota, amount: float) -> None:
        """So much was used: bytes, seconds of the event loop, or partitions."""
        bucket = self._bucket(request, kind)
        if bucket is None:
            return
        bucket.level -= amount
        if kind is Quota.WORK:  # No more is remembered than the windows hold: Kafka forgets what was before them, too.
            bucket.level = max(bucket.level, -bucket.full)

    def produces(self, request: Request) -> None:
        """A produce request begins. It is charged now: many of a connection may be under way together."""
        self.charge(request, Quota.PRODUCED, len(request.frame))
        self._hold(request, Quota.PRODUCED)

    def produced(self, request: Request, answer: Sequence[Buffer]) -> Sequence[Buffer]:
        """It is done: its answer says for how long its client waits."""
        bucket = self._bucket(request, Quota.PRODUCED)
        seconds = max(self._hold(request, Quota.WORK), 0.0 if bucket is None else bucket.wait_s)
        return produced_with_throttle(request.version, answer, _milliseconds(seconds)) if seconds else answer

    def answered(self, request: Request, body: Body) -> Body:
        """The same for all other requests. Topic changes have said already how long theirs makes them wait."""
        key = Key(request.header.api_key)
        kinds = [Quota.WORK]
        if key in (Key.FETCH, Key.SHARE_FETCH):
            self.charge(request, Quota.FETCHED, sum(map(len, body)))
            kinds.append(Quota.FETCHED)
        seconds = self._hold(request, *kinds)
        before = throttle_of(key, request.version, body)
        if before:
            request.hold(before / 1000, self._wait(request))
        milliseconds = _milliseconds(seconds)
        return with_throttle(key, request.version, body, milliseconds) if milliseconds > before else body

    # How much may be used

    def fetch_size_max(self, request: Request) -> int | None:
        """The most bytes that a fetch gets: what its full bucket holds, or nothing while that is overdrawn."""
        bucket = self._bucket(request, Quota.FETCHED)
        if bucket is None:
            return None
        return 0 if bucket.level < 0 else max(1, int(bucket.full))

    def change(self, request: Request, partitions: int, *, strict: bool) -> None:
        """So many partitions are about to be made or deleted; QuotaExceeded when that has to wait."""
        bucket = self._bucket(request, Quota.CHANGES) if self.is_on else None
        if bucket is None:
            return
        if strict and bucket.level < 0:
            self._note(request, Quota.CHANGES, bucket.wait_s)
            raise QuotaExceeded(bucket.wait_s)
        bucket.level -= partitions

    def change_wait_ms(self, request: Request) -> int:
        """For how long whoever has changed too much has to wait."""
        bucket = self._bucket(request, Quota.CHANGES) if self.is_on else None
        return 0 if bucket is None else _milliseconds(bucket.wait_s)

    def _hold(self, request: Request, *kinds: Quota) -> float:
        """Seconds for which the connection is not read from now on."""
        found = 0.0
        for kind in kinds:
            bucket = self._bucket(request, kind)
            if bucket is not None and bucket.level < 0:
                # Who has used too much time goes on slowly, as in Kafka: a member's heartbeats must not come too late.
                seconds = min(bucket.wait_s, self._windows.of_work) if kind is Quota.WORK else bucket.wait_s
                self._note(request, kind, seconds)
                found = max(found, seconds)
        if found:
            request.hold(found, self._wait(request))
        return found

    def _wait(self, request: Request) -> Wait:
        """Whoever is held asks it from time to time: a quota that is raised or removed lets them go."""
        return partial(self._wait_s, _who(request))  # Without the request, which may be large.

    def _wait_s(self, who: tuple[str, str]) -> float:
        if not self.is_on:
            return 0.0
        found = [self._bucket_of(who, kind) for kind in Quota]
        return max((each.wait_s for each in found if each is not None), default=0.0)

    def _note(self, request: Request, kind: Quota, seconds: float) -> None:
        counts = self.counts[kind]
        counts.count += 1
        counts.seconds += seconds
        self._lines.info("throttled: user %r, client %r: %s: waits for %.1f s", *_who(request), kind.value, seconds)

    # Buckets

    def _bucket(self, request: Request, kind: Quota) -> Bucket | None:
        """Filled until now; None where there is no quota."""
        return self._bucket_of(_who(request), kind)

    def _bucket_of(self, who: tuple[str, str], kind: Quota) -> Bucket | None:
        rates = self._rates.get(who)
        if rates is None:
            if len(self._rates) >= _CLIENTS_MAX:
                self._rates.clear()
            rates = self._rates[who] = rates_of_client(self._known, *who)
        rate = rates.get(kind)
        if rate is None:
            return None
        value = rate.value / _PERCENT if kind is Quota.WORK else rate.value
        value = min(max(value, _RATE_MIN), _RATE_MAX)
        bucket = self._find(kind, rate.scope, value)
        if bucket.rate != value:
            bucket.change(value)
        bucket.fill(self._now())
        return bucket

    def _find(self, kind: Quota, scope: Scope, rate: float) -> Bucket:
        buckets = self._of_users if scope[1] is None else self._of_clients
        found = buckets.get((kind, scope))
        if found is not None:
            buckets.move_to_end((kind, scope))
            return found
        if len(buckets) >= _BUCKETS_MAX:
            buckets.popitem(last=False)
        burst_s = self._windows.of_changes if kind is Quota.CHANGES else self._windows.of_clients
        buckets[kind, scope] = Bucket(rate, burst_s, self._now())
        return buckets[kind, scope]


def _who(request: Request) -> tuple[str, str]:
    """User and client id."""
    return request.session.principal.name, request.header.client_id or ""


def _milliseconds(seconds: float) -> int:
    return min(math.ceil(seconds * 1000), 2**31 - 1)
