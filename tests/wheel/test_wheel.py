"""What is in the wheel, and that it runs where there is no Go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from running import run

PYTHONS = ["python3.10", "python3.11", "python3.12", "python3.13", "python3.14"]


def interpreter(name: str) -> str:
    """A Python of that version: on PATH, or one of pyenv's."""
    found = shutil.which(name)
    if found is not None and subprocess.run([found, "-V"], capture_output=True).returncode == 0:
        return found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    version = name.removeprefix("python")
    for candidate in sorted(pyenv.glob(f"versions/{version}.*/bin/python")):
        return str(candidate)
    pytest.skip(f"{name} is not installed")


def test_one_wheel_for_every_python_tagged_by_its_library(wheel: Path) -> None:
    name, version, *tag = wheel.stem.split("-")
    assert (name, version) == ("rankbuffer", "0.1.0")
    python, abi, platform = tag
    assert (python, abi) == ("py3", "none")
    assert platform.startswith("manylinux_2_17_"), platform
    with zipfile.ZipFile(wheel) as archive:
        [info] = [n for n in archive.namelist() if n.endswith(".dist-info/WHEEL")]
        text = archive.read(info).decode()
    assert "Root-Is-Purelib: false" in text
    for part in platform.split("."):
        assert f"Tag: py3-none-{part}" in text


def test_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        mode = archive.getinfo("rankbuffer/_lib/librankbuffer.so").external_attr >> 16
    assert mode & 0o555 == 0o555, "the library must be readable and executable for all"
    for wanted in ("__init__.py", "py.typed", "data/sample.jsonl", "cli/__init__.py"):
        assert f"rankbuffer/{wanted}" in names
    beside = {n.split("/")[0] for n in names}
    assert beside == {"rankbuffer", "rankbuffer-0.1.0.dist-info"}, "only the package itself"
    strangers = {n for n in names if n.endswith((".go", ".c", ".h", ".pyc", ".map"))}
    assert strangers == set()


def test_every_python_file_of_the_package_is_in_it(sources: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = sources / "python"
    missing = {str(p.relative_to(package)) for p in package.rglob("*.py")} - names
    assert missing == set()


def test_metadata_asks_for_nothing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [info] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(info).decode())
    required = metadata.get_all("Requires-Dist") or []
    assert [r for r in required if "extra ==" not in r] == []
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"


@pytest.mark.parametrize("python", PYTHONS)
def test_installs_and_runs_without_go(python: str, wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment, another directory, and no Go on PATH."""
    run([interpreter(python), "-m", "venv", str(tmp_path / "venv")], tmp_path)
    bin_ = tmp_path / "venv" / "bin"
    run([str(bin_ / "pip"), "install", "--no-index", "--quiet", str(wheel)], tmp_path)
    clean = {"PATH": f"{bin_}:/nowhere", "PYTHONPATH": "", "RANKBUFFER_LIBRARY": ""}
    shown = run([str(bin_ / "rankbuffer"), "demo"], tmp_path, **clean)
    assert "reward" in shown.lower()
    code = (
        "import rankbuffer as r, rankbuffer._ffi as f; print(r.__version__, f.library().version())"
    )
    versions = run([str(bin_ / "python"), "-W", "error", "-c", code], tmp_path, **clean)
    assert versions.split() == ["0.1.0", "0.1.0"]


def test_editable_install_runs_from_the_sources(sources: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", "--system-site-packages", str(tmp_path / "venv")], tmp_path)
    bin_ = tmp_path / "venv" / "bin"
    run([str(bin_ / "pip"), "install", "--quiet", "setuptools==84.2.1"], tmp_path)
    pip = [str(bin_ / "pip"), "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, "--no-build-isolation", "--no-deps", "-e", "."], sources)
    code = "import rankbuffer._ffi as f; print(f.library().version(), f.__file__)"
    version, file = run([str(bin_ / "python"), "-c", code], tmp_path, RANKBUFFER_LIBRARY="").split()
    assert version == "0.1.0"
    assert file == str(sources / "python" / "rankbuffer" / "_ffi.py")
