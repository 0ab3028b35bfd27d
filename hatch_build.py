"""Builds the machine code when Holdfast is packed or installed; without it the wheel is pure Python, and slower."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        spec = importlib.util.spec_from_file_location("build", Path(self.root) / "src/holdfast/native/build.py")
        assert spec is not None
        assert spec.loader is not None
        builder = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(builder)
        if reason := builder.build():
            self.app.display_warning(reason)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["artifacts"].append("src/holdfast/native/kernels.abi3.so")
