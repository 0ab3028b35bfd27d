"""The recipes for other languages run as they stand: a broker is there during the tests, and gone behind them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.docs.test_shell_blocks import ROOT, run

JAVA = """
import java.net.Socket;

public class Recipe {
    BLOCK

    public static void main(String[] given) throws Exception {
        up();
        String[] where = bootstrap.split(":");
        new Socket(where[0], Integer.parseInt(where[1])).close();
        down();
        System.out.println(bootstrap);
    }
}

@interface BeforeAll {}

@interface AfterAll {}
"""

GO = """package recipe

import (
    "fmt"
    "log"
    "net"
    "os"
    "os/exec"
    "strings"
    "testing"
)

var bootstrap string

BLOCK

func TestBroker(t *testing.T) {
    link, err := net.Dial("tcp", bootstrap)
    if err != nil { t.Fatal(err) }
    link.Close()
    fmt.Println(bootstrap)
}
"""

NODE = """
const { after, test } = require("node:test")
const net = require("node:net")
BLOCK
test("a broker is there", (_, done) => {
    const [host, port] = bootstrap.split(":")
    const link = net.connect(Number(port), host, () => { link.destroy(); done() })
})
after(() => require("node:fs").writeFileSync("where", bootstrap))
"""


def block(kind: str) -> str:
    page = (ROOT / "docs/guides/testing-recipes.md").read_text()
    [found] = re.findall(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return str(found)


def is_gone(bootstrap: str) -> bool:
    """It is told to end, and does so in its own time."""
    host, port = bootstrap.split(":")
    for _ in range(600):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(shutil.which("java") is None, reason="needs java")
def test_the_recipe_for_java(tmp_path: Path) -> None:
    (tmp_path / "Recipe.java").write_text(JAVA.replace("BLOCK", block("java")))
    assert is_gone(run(tmp_path, "java Recipe.java").strip())


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_the_recipe_for_go(tmp_path: Path) -> None:
    (tmp_path / "recipe_test.go").write_text(GO.replace("BLOCK", block("go")))
    (tmp_path / "go.mod").write_text("module recipe\n\ngo 1.20\n")
    said = run(tmp_path, "go test -v -vet=off ./...")
    [bootstrap] = re.findall(r"^(127\.0\.0\.1:\d+)$", said, re.MULTILINE)
    assert is_gone(bootstrap)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_recipe_for_node(tmp_path: Path) -> None:
    (tmp_path / "recipe.js").write_text(NODE.replace("BLOCK", block("js")))
    run(tmp_path, "node recipe.js")
    assert is_gone((tmp_path / "where").read_text())


def test_the_recipe_for_faust(tmp_path: Path) -> None:
    """In an environment of its own, from what is pinned for it."""
    environment = tmp_path / "faust"
    uv, python = Path(sys.executable).with_name("uv"), environment / "bin" / "python"
    pinned = [word for name in ("base", "faust") for word in ("-r", str(ROOT / "requirements" / f"{name}.txt"))]
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, environment], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, "--require-hashes", *pinned], check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    surroundings = clean | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([python, "-c", block("py")], env=surroundings, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
