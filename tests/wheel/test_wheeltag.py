"""The platform tag follows the library's own symbols."""

from __future__ import annotations

import platform
import struct
import subprocess
from pathlib import Path

import pytest
from running import ROOT

import wheeltag

MACHINE = platform.machine()


def compiled(directory: Path, source: str, *flags: str, name: str = "lib.so") -> Path:
    output = directory / name
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(output), *flags]
    subprocess.run(command, input=source, text=True, check=True)
    return output


def test_the_library_runs_on_manylinux2014() -> None:
    library = ROOT / "python" / "rankbuffer" / "_lib" / "librankbuffer.so"
    assert library.is_file(), "run `make build`"
    found = wheeltag.needs(library)
    assert found.machine == MACHINE
    assert max(found.glibc, wheeltag.OLDEST) == wheeltag.OLDEST, found.versions
    tag = wheeltag.platform_tag(library)
    assert tag == f"manylinux_2_17_{MACHINE}.manylinux2014_{MACHINE}"


def test_what_readelf_says(tmp_path: Path) -> None:
    """An independent reader of the same file."""
    library = ROOT / "python" / "rankbuffer" / "_lib" / "librankbuffer.so"
    shown = subprocess.run(
        ["readelf", "--wide", "-V", "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout
    for version in wheeltag.needs(library).versions:
        assert f"Name: {version}" in shown
    assert shown.count("Name: ") == len(wheeltag.needs(library).versions)
    for name in wheeltag.needs(library).libraries:
        assert f"[{name}]" in shown
    assert shown.count("(NEEDED)") == len(wheeltag.needs(library).libraries)


def test_newer_symbols_give_a_newer_tag(tmp_path: Path) -> None:
    """The built library's own floor, had build/glibc_compat.h not been there."""
    needs_234 = """
        #include <pthread.h>
        void *run(void *x) { return x; }
        int start(pthread_t *t) { return pthread_create(t, 0, run, 0); }
    """
    library = compiled(tmp_path, needs_234, "-pthread")
    if wheeltag.needs(library).glibc < (2, 34):
        pytest.skip("this machine's glibc is older than the symbol version in question")
    assert wheeltag.platform_tag(library) == f"manylinux_2_34_{MACHINE}"


def test_a_foreign_library_forbids_manylinux(tmp_path: Path) -> None:
    compiled(tmp_path, "int other(void) { return 1; }", name="libother.so")
    source = "int other(void); int f(void) { return other(); }"
    library = compiled(tmp_path, source, f"-L{tmp_path}", "-lother")
    assert "libother.so" in wheeltag.needs(library).libraries
    assert wheeltag.platform_tag(library) == f"linux_{MACHINE}"


def test_a_foreign_symbol_version_forbids_manylinux(tmp_path: Path) -> None:
    (tmp_path / "other.map").write_text("OTHER_9 { global: other; };")
    flags = [f"-Wl,--version-script={tmp_path / 'other.map'}", "-Wl,-soname,libm.so.6"]
    compiled(tmp_path, "int other(void) { return 1; }", *flags, name="libother.so")
    source = "int other(void); int f(void) { return other(); }"
    library = compiled(tmp_path, source, f"-L{tmp_path}", "-lother")
    assert "OTHER_9" in wheeltag.needs(library).versions
    assert wheeltag.platform_tag(library) == f"linux_{MACHINE}"


ELF64 = b"\x7fELF\x02\x01\x01" + bytes(9)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF\x01\x01" + bytes(100),  # 32 bits
        b"\x7fELF\x02\x02" + bytes(100),  # big endian
        ELF64,  # cut
        ELF64 + struct.pack("<HH", 3, 8) + bytes(100),  # MIPS
        ELF64 + struct.pack("<HHIQQQ", 3, 62, 1, 0, 0, 1 << 60) + struct.pack("<IHHHHHH", *[9] * 7),
    ],
)
def test_no_library(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(wheeltag.NotALibrary, match=r"lib\.so"):
        wheeltag.needs(path)
