"""The buffers beside the model, in ``global_step_N/rankbuffer``."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from .._whole import replacing, sync_directory
from ..errors import CheckpointError
from .layout import FORMAT, HOME, MANIFEST, Shard, read_json, shard_name, write_json
from .tracker import step_directories, step_directory


def shards_of(directory: Path) -> list[Path] | None:
    """The shards of a checkpoint; None if it has no buffers. CheckpointError if it lacks some."""
    manifest = read_json(directory / MANIFEST)
    if manifest is None:
        return None
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"{directory / MANIFEST}: format {manifest.get('format')!r} is not {FORMAT}, which "
            "this version reads; install the version that wrote it"
        )
    paths = [directory / str(name) for name in manifest.get("shards", [])]
    for path in paths:
        if not path.is_file():
            raise CheckpointError(f"{path} is missing, {directory / MANIFEST} lists it")
    return paths


def publish(base: Path, shard: Shard, root: Path, step: int) -> bool:
    """Puts a shard's base beside the model's checkpoint; the last shard makes it appear.

    True when the checkpoint's buffers are there.
    """
    directory = step_directory(root, step)
    if not directory.is_dir():
        return False
    staging = directory / f".{HOME}-{shard.run_id}.tmp"
    for stale in directory.glob(f".{HOME}-*.tmp"):
        if stale.name != staging.name:
            shutil.rmtree(stale, ignore_errors=True)
    staging.mkdir(exist_ok=True)
    _link(base, staging / f"{shard.name}.zst")
    names = [f"{shard_name(i, shard.count)}.zst" for i in range(shard.count)]
    if any(not (staging / name).exists() for name in names):
        return False
    manifest = {"format": FORMAT, "step": step, "run": shard.run_id, "shards": names}
    with suppress(FileNotFoundError):  # another owner was faster
        write_json(staging / MANIFEST, manifest)
    return _appear(staging, directory / HOME)


def prune_published(root: Path, tracked: int) -> None:
    """Our part of checkpoints that verl has removed.

    verl keeps ``max_actor_ckpt_to_keep`` of them by removing ``actor`` and
    ``critic``, not the directory around them.
    """
    for step, directory in step_directories(root).items():
        if step == tracked or any((directory / part).exists() for part in ("actor", "critic")):
            continue
        if (directory / HOME / MANIFEST).exists():
            shutil.rmtree(directory / HOME, ignore_errors=True)


def _appear(staging: Path, final: Path) -> bool:
    """Renames a finished directory into place, over what an earlier run left there."""
    mine = read_json(staging / MANIFEST) or {}
    there = read_json(final / MANIFEST)
    if there is not None and there.get("run") != mine.get("run"):
        trash = final.with_name(staging.name + ".old")
        with suppress(OSError):
            final.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)
    try:
        staging.rename(final)
    except OSError:  # another owner was faster
        shutil.rmtree(staging, ignore_errors=True)
    sync_directory(final.parent)
    return (final / MANIFEST).exists()


def _link(source: Path, target: Path) -> None:
    """A second name for a file that nobody changes, or a copy where there are no hard links."""
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError:
        with replacing(target) as part:
            shutil.copyfile(source, part)
