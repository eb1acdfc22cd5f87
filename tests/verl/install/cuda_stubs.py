"""Stands in for the CUDA libraries, so that PyPI's torch imports on a machine without a GPU.

    cuda_stubs.py SITE_PACKAGES/torch/lib

torch's own libraries are linked to some fifteen of NVIDIA's, gigabytes that no test
here calls into. Each is replaced by a library of its name that has the symbols
torch refers to; every function of it reports that there is no device. Needs gcc
and readelf.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

_NVIDIA = re.compile(
    r"lib(cudart|cusparse|cusparseLt|cufft|cufile|nccl|cublas|cublasLt|cudnn|nvrtc|nvshmem_host"
    r"|cupti|cusolver|nvJitLink|cuda)\.so\.\d+$"
)
_SYMBOL = re.compile(
    r"(__)?(cuda|cublas|cusparse|cufft|cuFile|nccl|cudnn|nvrtc|nvshmemx?|cupti|cusolver|nvJitLink"
    r"|cu[A-Z])"
)
_NO_DEVICE = 100  # cudaErrorNoDevice

# What torch does with the answers while it is imported.
_BODIES = {
    "__cudaRegisterFatBinary": "static long handle; return (long)&handle;",
    "cudaGetErrorString": 'return (long)"no CUDA here";',
    "cudaGetErrorName": 'return (long)"none";',
    "cudaGetLastError": "return 0;",
    "cudaPeekAtLastError": "return 0;",
}


@dataclass
class Wanted:
    """What torch's libraries need of NVIDIA's."""

    libraries: list[str] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)  # with the version tag, "" for none
    owners: dict[str, str] = field(default_factory=dict)  # version tag to library


def readelf(*arguments: str) -> str:
    done = subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def wanted(directory: Path) -> Wanted:
    found = Wanted()
    defined: set[str] = set()
    for path in sorted(directory.glob("*.so*")):
        if path.is_symlink() or _NVIDIA.match(path.name):
            continue
        for name in re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", str(path))):
            if _NVIDIA.match(name) and name not in found.libraries:
                found.libraries.append(name)
        _symbols(str(path), found, defined)
        _versions(str(path), found)
    found.symbols = {s: tag for s, tag in found.symbols.items() if s not in defined}
    return found


def _symbols(path: str, found: Wanted, defined: set[str]) -> None:
    for line in readelf("--dyn-syms", path).splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].endswith(":"):
            continue
        bind, section, name = columns[4], columns[6], columns[7]
        symbol, _, tag = name.replace("@@", "@").partition("@")
        if section != "UND":
            defined.add(symbol)
        elif bind != "WEAK" and _SYMBOL.match(symbol):
            found.symbols.setdefault(symbol, tag)


def _versions(path: str, found: Wanted) -> None:
    library = ""
    for line in readelf("-V", path).splitlines():
        if file := re.search(r"File: (\S+)", line):
            library = file[1]
        if (tag := re.search(r"Name: (\S+)", line)) and _NVIDIA.match(library):
            found.owners[tag[1]] = library


def build(directory: Path, found: Wanted) -> None:
    by_library: dict[str, list[str]] = defaultdict(list)
    anywhere = next(name for name in found.libraries if name.startswith("libcupti"))
    for symbol, tag in found.symbols.items():
        # Symbols without a version may be in any library that is always loaded.
        by_library[found.owners.get(tag, anywhere)].append(symbol)
    tags = {library: tag for tag, library in found.owners.items()}
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch) / "stub.c", Path(scratch) / "stub.map"
        for library in found.libraries:
            source.write_text("".join(map(_function, by_library[library])))
            command = ["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{library}", str(source)]
            if library in tags:
                script.write_text(f"{tags[library]} {{ global: *; }};\n")
                command.append(f"-Wl,--version-script={script}")
            subprocess.run([*command, "-o", str(directory / library)], check=True)


def _function(symbol: str) -> str:
    silent = symbol.startswith("__cuda")
    body = _BODIES.get(symbol, f"return {0 if silent else _NO_DEVICE};")
    return f"long {symbol}(void) {{ {body} }}\n"


def main() -> None:
    directory = Path(sys.argv[1])
    found = wanted(directory)
    build(directory, found)
    print(f"{len(found.libraries)} libraries with {len(found.symbols)} functions in {directory}")


if __name__ == "__main__":
    main()
