"""Building from source says what is missing; the release is stated once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from running import ROOT

import gobuild


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_without_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(gobuild.BuildError, match=r"no `go` on PATH") as caught:
        gobuild.check_tools()
    major, minor = gobuild.required_go()
    for advice in (
        f"needs Go {major}.{minor} or newer",
        "https://go.dev/dl/",
        "A wheel needs neither",
    ):
        assert advice in str(caught.value)


def test_with_an_old_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "go", "echo go version go1.19.8 linux/amd64")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(gobuild.BuildError, match=r"too old: go version go1\.19\.8"):
        gobuild.check_tools()


def test_with_a_go_that_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What Go says itself when go.mod wants a newer one that it may not fetch."""
    script(
        tmp_path / "go", "echo 'go: go.mod requires go >= 1.26.0 (running go 1.22.1)' >&2; exit 1"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(gobuild.BuildError, match=r"go\.mod requires go >= 1\.26\.0"):
        gobuild.check_tools()


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O9")
    with pytest.raises(gobuild.BuildError, match="`no-such-compiler` is not on PATH"):
        gobuild.check_tools()


def test_pip_shows_the_advice(sources: Path, tmp_path: Path) -> None:
    """setup.py's own error, as pip prints it, and no traceback above it."""
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", str(tmp_path / "lib")]
    command += ["--build-temp", str(tmp_path / "temp")]
    done = subprocess.run(
        command, cwd=sources, env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "Go was not found" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.rglob("*.so")) == []


def test_the_release_is_stated_once() -> None:
    release = gobuild.project_version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", release)
    text = (ROOT / "pyproject.toml").read_text()
    assert "\nversion =" not in text.split("[tool.setuptools.dynamic]")[0]


@pytest.mark.parametrize(
    ("argument", "quoted"),
    [("/plain/path", "/plain/path"), ("/with a/space", '"/with a/space"')],
)
def test_quoting_for_go(argument: str, quoted: str) -> None:
    assert gobuild._quote(argument) == quoted


@pytest.mark.parametrize("argument", ["/it's/here", '/"here"'])
def test_paths_that_go_cannot_quote(argument: str) -> None:
    with pytest.raises(gobuild.BuildError, match="quotes"):
        gobuild._quote(argument)
