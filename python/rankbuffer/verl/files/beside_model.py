"""The copy of the buffers beside the model, in ``global_step_N/rankbuffer``.

The directory appears and disappears as a whole: while it is built or removed, its files
are in ``.rankbuffer-*`` beside it.
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
from .trainer_checkpoints import step_directories, step_directory

log = logging.getLogger(__name__)


def shards_of(directory: Path) -> list[Path] | None:
    """The shards of a checkpoint; None if it has no buffers. CheckpointError if one is missing."""
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


def saved_by(directory: Path) -> str | None:
    """The id of the run that saved these buffers; None if there are none."""
    run_id = (read_json(directory / MANIFEST) or {}).get("run")
    return run_id if isinstance(run_id, str) else None


def copy_beside_model(base: Path, shard: Shard, root: Path, step: int) -> None:
    """Copies a shard's base beside the model. The owner that comes last renames the directory.

    Does nothing if the model has no checkpoint of the step. All owners may call it at
    once, and an owner that died may call it again.
    """
    directory = step_directory(root, step)
    final = directory / HOME
    if not directory.is_dir() or saved_by(final) == shard.run_id:
        return
    staging = directory / f".{HOME}-{shard.run_id}.tmp"
    mine = directory / f".{HOME}-{shard.run_id}.{shard.name}.tmp"
    names = [f"{shard_name(i, shard.count)}.zst" for i in range(shard.count)]
    if not mine.exists():  # otherwise this owner died just before the last rename
        staging.mkdir(exist_ok=True)
        # The manifest comes first: once all shards are there, no owner writes any more.
        if not (staging / MANIFEST).exists():
            manifest = {"format": FORMAT, "step": step, "run": shard.run_id, "shards": names}
            write_json(staging / MANIFEST, manifest)
        _link(base, staging / f"{shard.name}.zst")
        if not all((staging / name).exists() for name in names):
            return
        try:
            staging.rename(mine)  # of all owners that see all shards, one succeeds
        except FileNotFoundError:
            return
    _appear(mine, final, {MANIFEST, *names})


def _appear(mine: Path, final: Path, names: set[str]) -> None:
    """Renames a finished directory into place and replaces what an earlier run left there."""
    for path in mine.iterdir():
        if path.name not in names:  # unfinished, by an owner that was killed
            path.unlink()
    with suppress(FileNotFoundError):
        _remove(final, final.with_name(f"{mine.name}.old"))
    mine.rename(final)
    sync_directory(final.parent)


def prune_beside_model(root: Path, resumable: int) -> None:
    """Removes the buffers of checkpoints whose model verl has removed, except ``resumable``.

    verl keeps ``max_actor_ckpt_to_keep`` checkpoints. It removes the directories ``actor``
    and ``critic`` of the others, but not the directory around them.
    """
    for step, directory in step_directories(root).items():
        if step == resumable or any((directory / part).exists() for part in ("actor", "critic")):
            continue
        if (directory / HOME / MANIFEST).exists():
            with suppress(OSError):  # another owner was faster
                _remove(directory / HOME, directory / f".{HOME}-removed.tmp")


def prune_staging(root: Path, run_id: str, step: int) -> None:
    """Removes what can never be finished: of other runs, and of this run's earlier steps.

    Another owner of this run may be at ``step`` or beyond.
    """
    for other, directory in step_directories(root).items():
        for path in directory.glob(f".{HOME}-*"):
            ours = path.name.startswith(f".{HOME}-{run_id}.")
            if ours and other >= step:
                continue
            if ours and saved_by(directory / HOME) != run_id:
                log.error("rankbuffer: step %d: not every owner saved its buffers", other)
            shutil.rmtree(path, ignore_errors=True)


def _remove(directory: Path, trash: Path) -> None:
    """Renames the directory before it removes it, so that it never looks half complete."""
    shutil.rmtree(trash, ignore_errors=True)
    directory.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """Makes a hard link, or a copy where the file system has none."""
    if target.exists():  # this owner was restarted
        return
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError:
        with replacing(target) as part:
            shutil.copyfile(source, part)
