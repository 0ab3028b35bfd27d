"""A real browser: Chromium of the system, driven by playwright. It complains of every mistake of a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = Path(os.environ.get("CONSOLE_SHOTS", ""))


class Watched:
    """A tab, and what went wrong in it."""

    def __init__(self, page: Any, port: int) -> None:
        self.page = page
        self.wrong: list[str] = []
        self._ours = (f"http://127.0.0.1:{port}/", f"https://127.0.0.1:{port}/")
        self._root = self._ours[0]
        page.on("console", lambda each: each.type in ("error", "warning") and self.wrong.append(each.text))
        page.on("pageerror", lambda each: self.wrong.append(str(each)))
        page.on("request", lambda each: each.url.startswith(self._ours) or self.wrong.append(f"foreign: {each.url}"))

    def open(self, path: str) -> Any:
        """Load a page as one who types its address."""
        self.page.goto(self._root.rstrip("/") + path)
        return self.page

    def keep(self, name: str) -> None:
        """A picture for the output of CI."""
        if SHOTS.name:
            SHOTS.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)


@contextmanager
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()
