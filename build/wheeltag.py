"""The platform tag of a wheel, from what its library needs.

A manylinux tag promises an oldest glibc. The library's own symbol table says
which glibc it needs, so the tag is read from there and cannot promise too much.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# The libraries a manylinux wheel may take from the system (PEP 600) that this
# project has reason to use.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|resolv)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+)")
MACHINES = {62: "x86_64", 183: "aarch64"}
# manylinux2014. Older tags exist for x86_64, but Go's kernel floor (3.2) and
# Python 3.10 leave no system that could use them.
OLDEST = (2, 17)

SHT_STRTAB_LINKED = {"dynamic": 6, "verneed": 0x6FFFFFFE}
DT_NEEDED = 1


class NotALibrary(Exception):
    """Not a 64-bit little-endian ELF library for a machine we know."""


@dataclass(frozen=True)
class Needs:
    """What a library asks of the system it is loaded on."""

    machine: str
    libraries: tuple[str, ...]
    versions: tuple[str, ...]  # "GLIBC_2.3.2", ...

    @property
    def glibc(self) -> tuple[int, int]:
        """The oldest glibc that has every symbol version, as (major, minor)."""
        found = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", v) for v in self.versions]
        return max(((int(m[1]), int(m[2])) for m in found if m), default=OLDEST)


@dataclass(frozen=True)
class _Section:
    kind: int
    data: bytes
    link: int


def _sections(data: bytes) -> list[_Section]:
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    found = []
    for i in range(count):
        fields = struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size)
        found.append(_Section(fields[1], data[fields[4] : fields[4] + fields[5]], fields[6]))
    return found


def _text(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode()


def _linked(sections: list[_Section], name: str) -> Iterator[tuple[bytes, bytes]]:
    for section in sections:
        if section.kind == SHT_STRTAB_LINKED[name]:
            yield section.data, sections[section.link].data


def _needed(table: bytes, strings: bytes) -> Iterator[str]:
    for tag, value in struct.iter_unpack("<QQ", table):
        if tag == DT_NEEDED:
            yield _text(strings, value)


def _versions(table: bytes, strings: bytes) -> Iterator[str]:
    """Walk Elf64_Verneed and, for each, its Elf64_Vernaux entries."""
    at = 0
    while True:
        _, count, _, first, following = struct.unpack_from("<HHIII", table, at)
        entry = at + first
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<IHHII", table, entry)
            yield _text(strings, name)
            entry += step
        if following == 0:
            return
        at += following


def needs(library: Path) -> Needs:
    """Read what a library needs; NotALibrary if it is none."""
    data = library.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotALibrary(f"{library}: not a 64-bit little-endian ELF file")
    try:
        return _read(data)
    except (struct.error, ValueError, IndexError) as error:
        raise NotALibrary(f"{library}: damaged, or for another machine: {error}") from error


def _read(data: bytes) -> Needs:
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in MACHINES:
        raise ValueError(f"ELF machine {machine} is none of {MACHINES}")
    sections = _sections(data)
    versions = {v for t, s in _linked(sections, "verneed") for v in _versions(t, s)}
    return Needs(
        machine=MACHINES[machine],
        libraries=tuple(n for t, s in _linked(sections, "dynamic") for n in _needed(t, s)),
        versions=tuple(sorted(versions)),
    )


def platform_tag(library: Path) -> str:
    """The platform part of the wheel's tag, such as
    "manylinux_2_17_x86_64.manylinux2014_x86_64"; "linux_x86_64", which no index
    accepts, when the library needs something that other systems may lack.
    """
    found = needs(library)
    foreign = [name for name in found.libraries if not SYSTEM.fullmatch(name)]
    unknown = [v for v in found.versions if not re.fullmatch(r"GLIBC_\d+\.\d+(\.\d+)?", v)]
    if foreign or unknown:
        return f"linux_{found.machine}"
    major, minor = max(found.glibc, OLDEST)
    tag = f"manylinux_{major}_{minor}_{found.machine}"
    return f"{tag}.manylinux2014_{found.machine}" if (major, minor) == OLDEST else tag
