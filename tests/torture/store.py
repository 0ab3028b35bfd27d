"""The store behind the broker, and how it fails: a directory, or a real S3 server behind a proxy."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.s3_server import S3Server, missing
from tests.torture.controls import Controls
from tests.torture.disk import can_mount

from holdfast.io.objects import Objects
from holdfast.io.objects.open import open_objects

_WRAPPED = ("store_before", "store_after", "store_early", "store_delay_ms", "store_hangs", "store_errs")
ON_THE_WAY = (
    Fault.ANSWER_503,
    Fault.DO_AND_ANSWER_503,
    Fault.CUT_BEFORE_REQUEST,
    Fault.CUT_IN_REQUEST,
    Fault.CUT_BEFORE_ANSWER,
    Fault.CUT_IN_ANSWER,
)


class DirectoryStore:
    """Objects are files; the broker's wrapper makes calls fail before, after, or while they are under way."""

    name = "a directory"

    def __init__(self, folder: Path, controls: Controls) -> None:
        self.url = str(folder)
        self.options: Mapping[str, str] = {}  # For those who open the store themselves.
        self._controls = controls

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.quiet()

    @property
    def environment(self) -> dict[str, str]:
        """For processes that use the store."""
        return {}

    @property
    def is_disturbed(self) -> bool:
        return any(self._controls[name] for name in _WRAPPED)

    @property
    def is_away(self) -> bool:
        return self._controls["store_before"] >= 1 or self._controls["store_hangs"] > 0

    def open(self) -> Objects:
        return open_objects(self.url, self.options)

    def errors(self, amount: float) -> None:
        share = 0.1 + 0.3 * amount
        for name, part in (("store_before", 2), ("store_after", 2), ("store_early", 4)):
            self._controls[name] = share / part

    def away(self) -> None:
        self._controls["store_before"] = 1

    def hang(self) -> None:
        """No call comes back."""
        self._controls["store_hangs"] = 1

    def err(self) -> None:
        """One answer has one wrong byte."""
        self._controls["store_errs"] = 1

    def deny(self, *, on: bool) -> None:
        """Nothing can be deleted; everything else is well."""
        self._controls["store_denies"] = int(on)

    def unmount(self) -> None:
        """Its file system goes; a store that has none is away."""
        self.away()

    def slow(self, amount: float) -> None:
        self._controls["store_delay_ms"] = 500 * amount

    def quiet(self) -> None:
        self._controls.quiet(*_WRAPPED)


class MountedStore(DirectoryStore):
    """A directory on a file system that may go, and come back with all that was on it."""

    name = "a directory that is mounted"

    def __init__(self, folder: Path, controls: Controls) -> None:
        super().__init__(folder, controls)
        self._folder = folder
        self._real = folder.with_name(folder.name + ".real")
        self._gone = False

    def __enter__(self) -> Self:
        for each in (self._real, self._folder):
            each.mkdir(parents=True)
        self._mount()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.quiet()
        subprocess.run(["umount", "--lazy", self.url], check=False, capture_output=True)

    @property
    def is_disturbed(self) -> bool:
        return super().is_disturbed or self._gone

    @property
    def is_away(self) -> bool:
        return super().is_away or self._gone

    def unmount(self) -> None:
        if not self._gone:
            subprocess.run(["umount", "--lazy", self.url], check=True, capture_output=True)
            self._gone = True

    def quiet(self) -> None:
        super().quiet()
        if self._gone:
            self._gone = False
            self._mount()

    def _mount(self) -> None:
        subprocess.run(["mount", "--bind", str(self._real), self.url], check=True, capture_output=True)


class S3Store(DirectoryStore):
    """versitygw. Half of the time the proxy disturbs: 503, done or not, connections cut at each stage, slowness."""

    name = "an S3 server behind a proxy"

    def __init__(self, controls: Controls, chance: random.Random) -> None:
        super().__init__(Path(), controls)
        self._chance = chance
        self._share = 0.0  # Of all requests that the proxy disturbs.
        self._open = ExitStack()

    def __enter__(self) -> Self:
        server = self._open.enter_context(S3Server())
        self._proxy = self._open.enter_context(FaultyProxy(server.port))
        self.url = f"s3://{server.fresh_bucket()}"
        self.options = {**server.options, "endpoint": self._proxy.endpoint}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.quiet()
        self._open.close()

    @property
    def environment(self) -> dict[str, str]:
        words = {"endpoint": "ENDPOINT_URL"}
        return {f"AWS_{words.get(name, name.upper())}": value for name, value in self.options.items()}

    @property
    def is_disturbed(self) -> bool:
        return super().is_disturbed or self._share > 0 or self._proxy.delay_s > 0

    @property
    def is_away(self) -> bool:
        return super().is_away or self._share >= 1

    def errors(self, amount: float) -> None:
        if amount < 0.5:
            super().errors(amount)
        else:
            self._disturb(0.05 + 0.3 * (amount - 0.5))

    def away(self) -> None:
        self._disturb(1.0)

    def slow(self, amount: float) -> None:
        self._proxy.delay_s = 0.5 * amount

    def quiet(self) -> None:
        super().quiet()
        self._disturb(0.0)
        self._proxy.delay_s = 0.0

    def _disturb(self, share: float) -> None:
        self._share = share
        self._proxy.plan = lambda method, path: (
            self._chance.choice(ON_THE_WAY) if self._chance.random() < self._share else None
        )


def store(folder: Path, controls: Controls, chance: random.Random, *, s3: bool, mounted: bool) -> DirectoryStore:
    """An S3 server, if it is wanted and installed; else a directory, mounted if that is wanted and allowed."""
    if s3 and missing() is None:
        return S3Store(controls, chance)
    return (MountedStore if mounted and can_mount(folder.parent) else DirectoryStore)(folder, controls)
