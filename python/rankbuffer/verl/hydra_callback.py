"""The check before the start, for the trainer that has no checkpoint callback (V0)."""

from __future__ import annotations

import sys
from typing import Any


class StartCheck:
    """``+hydra.callbacks.rankbuffer._target_=rankbuffer.verl.StartCheck``.

    verl's older trainer (V0) calls nothing of ours until its reward workers start, after
    the models are loaded. Hydra, which composes its configuration, calls this before
    anything else runs.
    """

    def on_job_start(self, config: Any, **kwargs: Any) -> None:
        """Ends the process if the configuration cannot work.

        It raises SystemExit, because hydra turns any other exception into a warning.
        """
        from omegaconf import OmegaConf

        from .config.overrides import verify

        ours = OmegaConf.masked_copy(config, [name for name in config if name != "hydra"])
        plain = OmegaConf.to_container(ours, resolve=True)
        assert isinstance(plain, dict)
        try:
            verify({str(name): value for name, value in plain.items()})
        except Exception as error:
            sys.exit(f"{type(error).__name__}: {error}")

    def __getattr__(self, name: str) -> Any:
        """Hydra's other events."""
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda **kwargs: None
