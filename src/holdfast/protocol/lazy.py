"""A class that is made when it is first used: there are a hundred message classes, and most processes use a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class LazyClass:
    """Stands for a message class: called, it makes a message. Its attributes are the class's, its parts lazy, too."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def load(self) -> Any:
        """The class itself."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def __call__(self, **fields: Any) -> Any:
        return (self._made or self.load())(**fields)

    def __getattr__(self, name: str) -> Any:
        if name[:1].isupper():  # A part, by the schema's rule for names.
            value: Any = LazyClass(lambda: getattr(self.load(), name))
        else:
            value = getattr(self.load(), name)
        self.__dict__[name] = value  # Asked once.
        return value
