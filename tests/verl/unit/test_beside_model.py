"""Buffers beside the model: several owners publish at once, and nothing unfinished stays."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rankbuffer.errors import CheckpointError
from rankbuffer.verl.files.beside_model import (
    copy_beside_model,
    prune_beside_model,
    prune_staging,
    shards_of,
)
from rankbuffer.verl.files.layout import Shard


def base(tmp_path: Path, shard: Shard) -> Path:
    path = tmp_path / f"{shard.run_id}-{shard.name}.zst"
    path.write_text(f"{shard.run_id} {shard.index}")
    return path


def step_directory(tmp_path: Path, step: int = 4) -> Path:
    directory = tmp_path / f"global_step_{step}"
    (directory / "actor").mkdir(parents=True)
    return directory


def check(directory: Path, run_id: str, count: int) -> None:
    """A complete checkpoint of that run, and nothing else of ours."""
    shards = shards_of(directory / "rankbuffer")
    assert shards is not None, sorted(p.name for p in directory.iterdir())
    assert [p.read_text() for p in shards] == [f"{run_id} {i}" for i in range(count)]
    there = {p.name for p in (directory / "rankbuffer").iterdir()}
    assert there == {"MANIFEST.json", *(p.name for p in shards)}
    assert {p.name for p in directory.iterdir()} == {"actor", "rankbuffer"}


@pytest.mark.parametrize("before", [None, "earlier"])
@pytest.mark.parametrize("count", [2, 4])
def test_owners_publish_at_once(count: int, before: str | None, tmp_path: Path) -> None:
    """``before``: an earlier run has saved the step already."""
    shards = [Shard(run_id="run", index=i, count=count) for i in range(count)]
    bases = [base(tmp_path, shard) for shard in shards]
    with ThreadPoolExecutor(count) as pool:
        for step in range(1, 151):
            directory = step_directory(tmp_path, step)
            if before is not None:
                first = Shard(run_id=before, index=0, count=1)
                copy_beside_model(base(tmp_path, first), first, tmp_path, step)
                check(directory, before, 1)
            gate = threading.Barrier(count)

            def go(i: int, step: int = step, gate: threading.Barrier = gate) -> None:
                gate.wait(30)
                copy_beside_model(bases[i], shards[i], tmp_path, step)

            list(pool.map(go, range(count)))
            check(directory, "run", count)


def test_a_finished_checkpoint_is_not_touched_again(tmp_path: Path) -> None:
    directory = step_directory(tmp_path)
    shards = [Shard(run_id="run", index=i, count=2) for i in range(2)]
    for shard in (*shards, *shards):  # an owner that was restarted comes twice
        copy_beside_model(base(tmp_path, shard), shard, tmp_path, 4)
    check(directory, "run", 2)


def test_what_a_killed_owner_left_does_not_get_in(tmp_path: Path) -> None:
    directory = step_directory(tmp_path)
    first, second = (Shard(run_id="run", index=i, count=2) for i in range(2))
    copy_beside_model(base(tmp_path, first), first, tmp_path, 4)
    staging = next(directory.glob(".rankbuffer-*"))
    (staging / ".MANIFEST.json.0a1b2c3d.tmp").write_text("{")
    (directory / "rankbuffer").mkdir()  # and a removal that did not end
    (directory / "rankbuffer" / "shard-1-of-2.zst").write_text("old")
    copy_beside_model(base(tmp_path, second), second, tmp_path, 4)
    check(directory, "run", 2)


def test_a_checkpoint_that_cannot_appear_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step_directory(tmp_path)
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if target.name == "rankbuffer":
            raise PermissionError(13, "Permission denied", str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    shard = Shard(run_id="run", index=0, count=1)
    with pytest.raises(OSError, match="Permission denied"):
        copy_beside_model(base(tmp_path, shard), shard, tmp_path, 4)
    monkeypatch.undo()
    copy_beside_model(base(tmp_path, shard), shard, tmp_path, 4)  # the owner's next life
    check(tmp_path / "global_step_4", "run", 1)


def test_without_the_models_directory_there_is_nothing_to_do(tmp_path: Path) -> None:
    shard = Shard(run_id="run", index=0, count=1)
    copy_beside_model(base(tmp_path, shard), shard, tmp_path, 4)
    assert not (tmp_path / "global_step_4").exists()


def test_pruning_takes_what_was_never_finished(tmp_path: Path) -> None:
    gone, kept, now = (step_directory(tmp_path, step) for step in (2, 4, 6))
    for directory in (gone, kept, now):
        done = Shard(run_id="done", index=0, count=1)
        copy_beside_model(
            base(tmp_path, done), done, tmp_path, int(directory.name.rsplit("_", 1)[1])
        )
        for run_id in ("dead", "mine"):
            half = Shard(run_id=run_id, index=0, count=2)
            copy_beside_model(
                base(tmp_path, half), half, tmp_path, int(directory.name.rsplit("_", 1)[1])
            )
    (gone / "actor").rmdir()
    prune_beside_model(tmp_path, 6)
    prune_staging(tmp_path, "mine", 6)
    assert list(gone.iterdir()) == []
    check(kept, "done", 1)
    assert {p.name for p in now.iterdir()} == {"actor", "rankbuffer", ".rankbuffer-mine.tmp"}


def test_a_removal_that_was_interrupted_is_ended(tmp_path: Path) -> None:
    directory = step_directory(tmp_path, 2)
    shard = Shard(run_id="done", index=0, count=1)
    copy_beside_model(base(tmp_path, shard), shard, tmp_path, 2)
    (directory / "actor").rmdir()
    half = directory / ".rankbuffer-removed.tmp"
    half.mkdir()
    (half / "shard-0-of-1.zst").write_text("")
    prune_beside_model(tmp_path, 4)
    prune_staging(tmp_path, "mine", 4)
    assert list(directory.iterdir()) == []


def test_a_broken_manifest_is_told(tmp_path: Path) -> None:
    directory = step_directory(tmp_path)
    shard = Shard(run_id="run", index=0, count=1)
    copy_beside_model(base(tmp_path, shard), shard, tmp_path, 4)
    manifest = directory / "rankbuffer" / "MANIFEST.json"
    manifest.write_text(json.dumps({"format": 9}))
    with pytest.raises(CheckpointError, match="format 9"):
        shards_of(directory / "rankbuffer")
