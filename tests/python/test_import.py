"""Importing must leave the process able to fork, and say what is there."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from fresh_process import run

import rankbuffer as rb
from rankbuffer import _ffi


def test_import_loads_nothing_native() -> None:
    out = run(
        """
        maps = open("/proc/self/maps").read()
        print("librankbuffer" in maps, len(os.listdir("/proc/self/task")))
        rb.Judge(base_url="http://x", model="m"), rb.RankBuffer(), rb.Rubric("clear")
        print("librankbuffer" in open("/proc/self/maps").read())
        with scorer():
            print("librankbuffer" in open("/proc/self/maps").read())
        """
    )
    assert out.split() == ["False", "1", "False", "True"]


def test_import_of_every_public_name() -> None:
    promised = (
        "Scorer ScorerConfig Judge SimulatedJudge JudgeServer Rubric GroupResult inspect "
        "RankBuffer SCR AGR PRC GenRM Tournament Arena Pairwise Pointwise GDPO "
        "Implicit Explicit WinRate Listwise "
        "RankBufferError ConfigError InputError ClosedError ForkedError StaleError "
        "ConflictError NotFoundError BusyError CheckpointError JudgeError"
    )
    assert [name for name in promised.split() if not hasattr(rb, name)] == []


def test_star_gives_the_api_and_no_modules() -> None:
    bound = {n for n, v in vars(rb).items() if not n.startswith("_")}
    modules = {n for n in bound if isinstance(getattr(rb, n), ModuleType)}
    assert set(rb.__all__) == bound - modules
    assert dir(rb) == sorted([*rb.__all__, "__version__"])
    for name in rb.__all__:
        assert hasattr(rb, name)


def test_one_version() -> None:
    assert rb.__version__ == _ffi.library().version()


def test_missing_library_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_ffi, "_library", None)
    monkeypatch.setenv("RANKBUFFER_LIBRARY", str(tmp_path / "none.so"))
    with pytest.raises(rb.LibraryError, match=r"none\.so does not exist: RANKBUFFER_LIBRARY"):
        _ffi.library()


def test_file_that_is_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "fake.so"
    fake.write_text("not ELF")
    monkeypatch.setattr(_ffi, "_library", None)
    monkeypatch.setenv("RANKBUFFER_LIBRARY", str(fake))
    with pytest.raises(rb.LibraryError, match="cannot load"):
        _ffi.library()


def test_library_of_another_abi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ffi, "ABI_VERSION", 99)
    with pytest.raises(rb.LibraryError, match="has ABI version 1, this Python package needs 99"):
        _ffi.Library(_ffi._path())


def test_errors_are_all_ours() -> None:
    from rankbuffer import errors

    told = {"code": "a_code", "summary": "x.y: short", "message": "x.y: long", "field": "x.y"}
    for status in range(-12, 0):
        error = errors.from_library({**told, "status": status})
        assert type(error) is not rb.RankBufferError
        assert isinstance(error, rb.RankBufferError)
        assert str(error) == error.detail == "x.y: long"
        assert (error.code, error.field, error.summary) == ("a_code", "x.y", "x.y: short")
    assert isinstance(errors.from_library({**told, "status": -77}), rb.InternalError)
    assert isinstance(errors.from_library({**told, "status": -1}), ValueError)
