"""A wheel built the way a user's pip would, from an unpacked source archive."""

from __future__ import annotations

import shutil
import sys
import tarfile
from pathlib import Path

import pytest
from running import ROOT, run

sys.path.insert(0, str(ROOT / "build"))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a clone of the repository would hold, changes included."""
    copy = tmp_path_factory.mktemp("sources") / "rankbuffer"
    listed = run(["git", "ls-files", "-co", "--exclude-standard", "-z"], ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="session")
def sdist(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    output = tmp_path_factory.mktemp("sdist")
    build = f"import setuptools.build_meta as b; b.build_sdist({str(output)!r})"
    run([sys.executable, "-c", build], sources)
    [archive] = output.glob("rankbuffer-*.tar.gz")
    with tarfile.open(archive) as tar:
        # The filter is the default from Python 3.14; 3.10.0 to 3.10.11 lack it.
        tar.extractall(output, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return output / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel"]
    run([*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(output), "."], sdist)
    [found] = output.glob("*.whl")
    return found
