"""Snapshot, restore, and going on as if nothing had happened."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from known_world import MIXED, NEVER_MS, World, in_flight, until

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def _train(scorer: rb.Scorer, world: World, epochs: range) -> None:
    for epoch in epochs:
        for q in range(5):
            noise = random.Random(f"{epoch} {q}")
            qualities = [noise.uniform(-3, 9) for _ in range(6)]
            scorer.score_group(f"q{q}", world.group(f"q{q}", *qualities), epoch=epoch, step=epoch)


@pytest.fixture
def trainer(world: World, build: Build) -> Callable[[], rb.Scorer]:
    """Fresh scorers that know five queries, and every answer of four epochs."""
    ranked = {f"q{q}": world.ranked(f"q{q}") for q in range(5)}
    for epoch in range(4):
        for q in range(5):
            noise = random.Random(f"{epoch} {q}")
            world.group(f"q{q}", *(noise.uniform(-3, 9) for _ in range(6)))

    def trainer() -> rb.Scorer:
        scorer = build()
        for q, texts in ranked.items():
            scorer.create_buffer(q, query=q, ranked=texts)
        return scorer

    return trainer


def test_resume_equals_never_stopping(
    world: World, trainer: Callable[[], rb.Scorer], build: Build, tmp_path: Path
) -> None:
    through = trainer()
    _train(through, world, range(2))
    through.snapshot(tmp_path / "middle.zst")
    _train(through, world, range(2, 4))
    through.snapshot(tmp_path / "end.zst")

    resumed = build()  # knows nothing but what the file tells
    resumed.restore(tmp_path / "middle.zst")
    _train(resumed, world, range(2, 4))
    resumed.snapshot(str(tmp_path / "resumed.zst"))
    assert (tmp_path / "resumed.zst").read_bytes() == (tmp_path / "end.zst").read_bytes()
    for q in range(5):
        assert resumed.buffer(f"q{q}") == through.buffer(f"q{q}")
    assert {p.name for p in tmp_path.iterdir()} == {"middle.zst", "end.zst", "resumed.zst"}


def test_inspect_shows_what_is_in_a_file(
    world: World, trainer: Callable[[], rb.Scorer], tmp_path: Path
) -> None:
    scorer = trainer()
    _train(scorer, world, range(1))
    scorer.snapshot(tmp_path / "c.zst")
    assert rb.inspect(tmp_path / "c.zst", "q3") == scorer.buffer("q3").raw
    listing = rb.inspect(tmp_path / "c.zst")
    assert isinstance(listing, dict)
    for q in range(5):
        assert f"q{q}" in str(listing)
    with pytest.raises(rb.NotFoundError, match="nobody"):
        rb.inspect(tmp_path / "c.zst", "nobody")


def _truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


def _foreign(data: bytes) -> bytes:
    return b"PK\x03\x04 this is somebody else's file" * 20


def _empty(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [_truncated, _flipped, _foreign, _empty])
def test_bad_file_changes_nothing(
    damage: Callable[[bytes], bytes],
    world: World,
    trainer: Callable[[], rb.Scorer],
    tmp_path: Path,
) -> None:
    scorer = trainer()
    scorer.snapshot(tmp_path / "good.zst")
    _train(scorer, world, range(1))
    before = [scorer.buffer(f"q{q}") for q in range(5)]
    bad = tmp_path / "bad.zst"
    bad.write_bytes(damage((tmp_path / "good.zst").read_bytes()))
    with pytest.raises(rb.CheckpointError, match=r"bad\.zst"):
        scorer.restore(bad)
    with pytest.raises(rb.CheckpointError, match=r"bad\.zst"):
        rb.inspect(bad)
    assert [scorer.buffer(f"q{q}") for q in range(5)] == before


def test_file_of_another_method(
    trainer: Callable[[], rb.Scorer], build: Build, tmp_path: Path
) -> None:
    trainer().snapshot(tmp_path / "c.zst")
    with pytest.raises(rb.CheckpointError, match=r"rankbuffer.*pointwise"):
        build(rb.Pointwise()).restore(tmp_path / "c.zst")


def test_bad_paths(query: Build, tmp_path: Path) -> None:
    scorer = query()
    for bad in (tmp_path / "none" / "c.zst", tmp_path):
        with pytest.raises(rb.FileError):
            scorer.snapshot(bad)
    with pytest.raises(rb.FileError, match=r"none\.zst"):
        scorer.restore(tmp_path / "none.zst")
    with pytest.raises(rb.FileError, match=r"none\.zst"):
        rb.inspect(tmp_path / "none.zst")
    for path in ("a\0b", ""):
        with pytest.raises(rb.InputError, match="path: must not be empty or contain a NUL"):
            scorer.snapshot(path)
    with pytest.raises(rb.InputError, match="path: must be a string or a Path, got int"):
        scorer.snapshot(7)  # type: ignore[arg-type]


def test_odd_file_names(query: Build, tmp_path: Path) -> None:
    import os

    scorer = query()
    for name in ("with space é 漢.zst", os.fsdecode(b"not utf-8 \xff.zst")):
        scorer.snapshot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 0
        scorer.restore(tmp_path / name)


def test_restore_with_groups_in_flight_is_busy(world: World, query: Build, tmp_path: Path) -> None:
    scorer = query(latency_ms=NEVER_MS)
    scorer.snapshot(tmp_path / "c.zst")
    with suppress(KeyError), scorer.open_group("q", expected=2):
        with pytest.raises(rb.BusyError):
            scorer.restore(tmp_path / "c.zst")
        raise KeyError
    until(lambda: in_flight(scorer) == 0)
    scorer.restore(tmp_path / "c.zst")


def test_snapshot_while_scoring_is_a_whole_number_of_groups(
    world: World, query: Build, build: Build, tmp_path: Path
) -> None:
    """Each file holds the buffer as it was after some group, never in between."""
    rounds = [world.group("q", *(q + 0.01 * i for q in MIXED)) for i in range(60)]
    alone = query(rb.RankBuffer(max_anchors=8))
    states = [alone.buffer("q").raw]
    for texts in rounds:
        alone.score_group("q", texts)
        states.append(alone.buffer("q").raw)

    scorer = query(rb.RankBuffer(max_anchors=8))
    work = threading.Thread(target=lambda: [scorer.score_group("q", t) for t in rounds])
    work.start()
    files: list[Path] = []
    while work.is_alive():
        files.append(tmp_path / f"{len(files)}.zst")
        scorer.snapshot(files[-1])
    work.join()
    assert len(files) >= 2
    seen = [states.index(rb.inspect(file, "q")) for file in files]
    assert seen == sorted(seen)
