"""A job on a cluster that goes on without it: starts its reward workers and is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))


def main() -> None:
    options = SimpleNamespace(**json.loads(sys.argv[1]))
    import ray
    from stack import config
    from verl.experimental.reward_loop import RewardLoopManager

    ray.init(address=options.address, logging_level="error", log_to_driver=False)
    cfg = config(Path(options.tokenizer), Path(options.root), options.overrides)
    workers = RewardLoopManager(cfg).reward_loop_workers
    ray.get([worker.__ray_ready__.remote() for worker in workers])
    job = ray.get_runtime_context().get_job_id()
    print(json.dumps({"job": job}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
