"""Compiles the C program of this directory against the header and the library,
and runs each of its cases in a process of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HEADER = ROOT / "capi" / "rankbuffer.h"
CC = os.environ.get("CC", "gcc")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-D_GNU_SOURCE"]

CASES = re.findall(r'^    \{"(\w+)", \w+\},$', (HERE / "main.c").read_text(), re.MULTILINE)


@pytest.fixture(scope="session")
def library() -> Path:
    """The library under test: RANKBUFFER_LIBRARY, or what `make build` made."""
    default = ROOT / "python" / "rankbuffer" / "_lib" / "librankbuffer.so"
    path = Path(os.environ.get("RANKBUFFER_LIBRARY", default))
    assert path.is_file(), f"{path} does not exist: run `make build`"
    return path.resolve()


@pytest.fixture(scope="session")
def program(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("abi") / "abi"
    sources = sorted(str(path) for path in HERE.glob("*.c"))
    command = [CC, *STRICT, "-g", f"-I{HEADER.parent}", *sources, str(library)]
    command += [f"-Wl,-rpath,{library.parent}", "-pthread", "-o", str(output)]
    subprocess.run(command, check=True)
    return output


def run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr[-8000:]}"
    assert done.stdout == "", "the library must not write to standard output"
    assert done.stderr == "", "the library must not write to standard error"


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, program: Path, tmp_path: Path) -> None:
    run([str(program), case], tmp_path)


def test_every_case_of_the_program_is_run(program: Path) -> None:
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == CASES
    assert len(CASES) >= 15


def declared() -> set[str]:
    """The functions of the header, its comments left out."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    return set(re.findall(r"\b(rb_\w+)\(", text))


def test_exports_are_the_header_s_functions_and_nothing_else(library: Path) -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert exported == declared()
    assert len(exported) >= 25


def test_every_function_says_since_when(library: Path) -> None:
    """Effect, threads and Since are part of the contract of each function."""
    text = HEADER.read_text()
    for name in declared():
        comment = text[: re.search(rf"^\w[\w *]*\b{name}\(", text, re.MULTILINE).start()]
        comment = comment[comment.rindex("/*") :]
        assert "Since 1." in comment, f"{name} does not say since when it is there"


@pytest.mark.parametrize("compiler", [[CC, *STRICT, "-x", "c"], ["g++", "-Wall", "-x", "c++"]])
def test_header_stands_alone(compiler: list[str], tmp_path: Path) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed")
    source = tmp_path / "alone.c"
    source.write_text('#include "rankbuffer.h"\n#include "rankbuffer.h"\n')
    command = [*compiler, f"-I{HEADER.parent}", "-fsyntax-only", "-Werror", str(source)]
    subprocess.run(command, check=True)
