"""Build librankbuffer.so from the Go sources.

    python build/gobuild.py [-o python/rankbuffer/_lib/librankbuffer.so]

Needs Go (the version in go.mod or newer) and a C compiler. setup.py and the
Makefile both build through here, so there is one library whatever the way.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "python" / "rankbuffer" / "_lib" / "librankbuffer.so"
HERE = Path(__file__).resolve().parent


class BuildError(Exception):
    """The library cannot be built here; the text says what to install."""


def required_go() -> tuple[int, int]:
    """The Go version go.mod asks for, as (major, minor)."""
    match = re.search(r"^go (\d+)\.(\d+)", (ROOT / "go.mod").read_text(), re.MULTILINE)
    assert match is not None, "go.mod has no go line"
    return int(match[1]), int(match[2])


def project_version() -> str:
    """The release, from the one place that states it."""
    text = (ROOT / "python" / "rankbuffer" / "_version.py").read_text()
    match = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    assert match is not None, "_version.py has no __version__ line"
    return match[1]


def _advice(problem: str) -> BuildError:
    major, minor = required_go()
    return BuildError(
        f"{problem}\n\n"
        f"Building RankBuffer from source needs Go {major}.{minor} or newer and a C compiler:\n"
        f"  Go:  https://go.dev/dl/ (unpack it and put its bin directory on PATH),\n"
        f"       or: conda install -c conda-forge 'go>={major}.{minor}'\n"
        f"  C:   apt install gcc libc6-dev, or: dnf install gcc glibc-devel\n"
        f"A wheel needs neither: pip install --only-binary :all: rankbuffer"
    )


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise _advice(f"`{shlex.join(command)}` failed: {error.stderr.strip()}") from error
    return done.stdout.strip()


def check_tools() -> None:
    """Raise BuildError unless everything that the build needs is here."""
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        raise BuildError("RankBuffer runs on Linux with glibc only.")
    if shutil.which("go") is None:
        raise _advice("Go was not found: there is no `go` on PATH.")
    # Run inside the module: a Go that may fetch the toolchain go.mod names does.
    found = _output(["go", "version"])
    match = re.search(r"\bgo(\d+)\.(\d+)", found)
    if match is not None and (int(match[1]), int(match[2])) < required_go():
        raise _advice(f"Go is too old: {found}.")
    compiler = shlex.split(_output(["go", "env", "CC"]))[:1]
    if not compiler or shutil.which(compiler[0]) is None:
        raise _advice(f"No C compiler was found: `{' '.join(compiler)}` is not on PATH.")


def _quote(argument: str) -> str:
    """Quote for Go's flag lists, which know quotes but no escapes."""
    if "'" in argument or '"' in argument:
        raise BuildError(f"Go cannot build under a path with quotes in it: {argument}")
    return f'"{argument}"' if " " in argument else argument


def build(output: Path, version: str) -> None:
    """Build the library to output, replacing it in one step.

    version becomes rb_version().
    """
    check_tools()
    environment = dict(os.environ)
    environment["CGO_ENABLED"] = "1"
    flags = ["-O2", "-include", _quote(str(HERE / "glibc_compat.h"))]
    flags.append(f"'-DRB_VERSION=\"{version}\"'")
    environment["CGO_CFLAGS"] = " ".join([environment.get("CGO_CFLAGS", ""), *flags]).strip()
    link = [
        _quote(f"-Wl,--version-script={HERE / 'rankbuffer.map'}"),
        # Before glibc 2.34 the pthread functions live here; a host that is not
        # linked with it would not find them.
        "-Wl,--no-as-needed,-l:libpthread.so.0",
    ]
    command = ["go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false"]
    command += ["-tags", "netgo,osusergo", "-ldflags", f"-s -w -extldflags '{' '.join(link)}'"]
    output.parent.mkdir(parents=True, exist_ok=True)
    # Go also writes a header beside its output; ours is capi/rankbuffer.h. The
    # temporary directory is on output's file system, so that the replacement is
    # atomic and a process that has the old library loaded keeps it.
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".build-") as scratch:
        made = Path(scratch) / output.name
        command += ["-o", str(made), "./capi"]
        done = subprocess.run(command, cwd=ROOT, env=environment)
        if done.returncode != 0:
            raise BuildError("go build failed; its own words are above.")
        made.chmod(0o755)
        os.replace(made, output)


def main() -> int:
    parser = argparse.ArgumentParser(description="Build librankbuffer.so.")
    parser.add_argument("-o", "--output", type=Path, default=LIBRARY)
    arguments = parser.parse_args()
    try:
        build(arguments.output, project_version())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
