"""The buffers beside the model, in ``global_step_N/rankbuffer``.

While they come together, and while they go, they are in ``.rankbuffer-*`` beside it.
"""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ..._whole import replacing, sync_directory
from ...errors import CheckpointError
from .layout import FORMAT, HOME, MANIFEST, Shard, read_json, shard_name, write_json
from .tracker import step_directories, step_directory

log = logging.getLogger(__name__)


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


def published_by(directory: Path) -> str | None:
    """The run whose buffers these are; None if there are none."""
    run_id = (read_json(directory / MANIFEST) or {}).get("run")
    return run_id if isinstance(run_id, str) else None


def publish(base: Path, shard: Shard, root: Path, step: int) -> None:
    """Puts a shard's base beside the model's checkpoint; the last shard makes it appear.

    Nothing happens if the model's is not there. Its siblings may do the same at
    once, and an owner that died on the way may do it again.
    """
    directory = step_directory(root, step)
    final = directory / HOME
    if not directory.is_dir() or published_by(final) == shard.run_id:
        return
    staging = directory / f".{HOME}-{shard.run_id}.tmp"
    mine = directory / f".{HOME}-{shard.run_id}.{shard.name}.tmp"
    names = [f"{shard_name(i, shard.count)}.zst" for i in range(shard.count)]
    if not mine.exists():  # otherwise an earlier life died at the very end
        staging.mkdir(exist_ok=True)
        # The manifest before the shard: once all shards are there, nobody writes any more.
        if not (staging / MANIFEST).exists():
            manifest = {"format": FORMAT, "step": step, "run": shard.run_id, "shards": names}
            write_json(staging / MANIFEST, manifest)
        _link(base, staging / f"{shard.name}.zst")
        if not all((staging / name).exists() for name in names):
            return
        try:
            staging.rename(mine)  # one of those who see all shards goes on
        except FileNotFoundError:
            return
    _appear(mine, final, {MANIFEST, *names})


def _appear(mine: Path, final: Path, names: set[str]) -> None:
    """Renames a finished directory into place, over what an earlier run left there."""
    for path in mine.iterdir():
        if path.name not in names:  # half a file of an owner that was killed
            path.unlink()
    with suppress(FileNotFoundError):
        _remove(final, final.with_name(f"{mine.name}.old"))
    mine.rename(final)
    sync_directory(final.parent)


def prune_published(root: Path, resumable: int) -> None:
    """Our part of checkpoints that verl has removed. ``resumable``: the step that stays anyway.

    verl keeps ``max_actor_ckpt_to_keep`` of them by removing ``actor`` and
    ``critic``, not the directory around them.
    """
    for step, directory in step_directories(root).items():
        if step == resumable or any((directory / part).exists() for part in ("actor", "critic")):
            continue
        if (directory / HOME / MANIFEST).exists():
            with suppress(OSError):  # another owner was faster
                _remove(directory / HOME, directory / f".{HOME}-removed.tmp")


def prune_staging(root: Path, run_id: str, step: int) -> None:
    """What can never be finished: of other runs, and of this one's steps before ``step``.

    A sibling that is slower or faster may be at ``step`` or beyond.
    """
    for other, directory in step_directories(root).items():
        for path in directory.glob(f".{HOME}-*"):
            ours = path.name.startswith(f".{HOME}-{run_id}.")
            if ours and other >= step:
                continue
            if ours and published_by(directory / HOME) != run_id:
                log.error("rankbuffer: step %d: not every owner saved its buffers", other)
            shutil.rmtree(path, ignore_errors=True)


def _remove(directory: Path, trash: Path) -> None:
    """First out of sight as a whole, so that half a removal looks like nothing else."""
    shutil.rmtree(trash, ignore_errors=True)
    directory.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """A second name for a file that nobody changes, or a copy where there are no hard links."""
    if target.exists():  # of an earlier life
        return
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError:
        with replacing(target) as part:
            shutil.copyfile(source, part)
