"""What a program imports from `holdfast.log` is what the modules behind it have."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PACKAGES = ("holdfast.catalog", "holdfast.log", "holdfast.subscribe")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_face_is_there(package: str) -> None:
    """Also when everything behind it was imported before: no module hides a name."""
    found = importlib.import_module(package)
    names = found.__all__
    first = [getattr(found, name) for name in names]
    assert not any(isinstance(each, type(sys)) for each in first)
    assert first == [getattr(found, name) for name in names]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_not_there_is_an_attribute_error(package: str) -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match=package):
        importlib.import_module(package).nothing_of_this_name  # noqa: B018


def test_a_face_loads_nothing_heavy() -> None:
    """Numpy, numba, Arrow and gRPC come with the names that need them."""
    heavy = "{'numpy', 'numba', 'pyarrow', 'grpc'}"
    program = f"import sys, {', '.join(PACKAGES)}; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
