"""The part of the build that pyproject.toml cannot state: the Go library, and
the tag of a wheel that holds it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

sys.path.insert(0, str(Path(__file__).resolve().parent / "build"))

import gobuild
import wheeltag

LIBRARY = "rankbuffer._lib.librankbuffer"


class BuildGo(build_ext):
    """Builds the one extension with Go. It is no Python module: ctypes loads it."""

    def build_extension(self, ext: Extension) -> None:
        try:
            gobuild.build(Path(self.get_ext_fullpath(ext.name)), self.distribution.get_version())
        except gobuild.BuildError as error:
            raise CompileError(str(error)) from error

    def copy_extensions_to_source(self) -> None:
        """For an editable install; _lib holds no source, so a clone lacks it."""
        Path("python", "rankbuffer", "_lib").mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def get_ext_filename(self, fullname: str) -> str:
        """Without Python's ABI suffix, since any Python can load it."""
        return str(Path(*fullname.split("."))) + ".so"


class BdistGo(bdist_wheel):
    """Tags the wheel by the library in it: any Python 3, this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        build = self.get_finalized_command("build_ext")
        library = Path(build.get_ext_fullpath(LIBRARY))
        if not library.is_file():  # an editable install asks before it builds
            return "py3", "none", super().get_tag()[2]
        return "py3", "none", wheeltag.platform_tag(library)


setup(
    ext_modules=[Extension(LIBRARY, sources=[])],
    cmdclass={"build_ext": BuildGo, "bdist_wheel": BdistGo},
    # setuptools' own default is build/, which holds our sources.
    options={"build": {"build_base": ".work/build"}},
)
