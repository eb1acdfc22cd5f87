"""A check before the start, for trainers that build no checkpoint callback."""

from __future__ import annotations

import sys
from typing import Any


class StartCheck:
    """``+hydra.callbacks.rankbuffer._target_=rankbuffer.verl.StartCheck``.

    verl's older trainer (V0) calls nothing of ours before its reward workers start,
    when the models are loaded. Hydra, which composes its configuration, calls this
    before anything else of it runs.
    """

    def on_job_start(self, config: Any, **kwargs: Any) -> None:
        """Ends the process where the configuration cannot work.

        By SystemExit: hydra makes a warning of any other exception here.
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
