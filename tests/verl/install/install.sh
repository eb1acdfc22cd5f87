#!/bin/sh
# install.sh VENV: a Python with stock verl and TRL that runs on a CPU, from nothing.
set -eu
here=$(dirname "$(readlink -f "$0")")
venv=$1
python3 -m venv "$venv"
pip="$venv/bin/python -m pip install --quiet --disable-pip-version-check"
$pip --no-deps -r "$here/alone.txt"
$pip -r "$here/with_dependencies.txt"
"$venv/bin/python" "$here/cuda_stubs.py" "$("$venv/bin/python" -c '
import sysconfig; print(sysconfig.get_path("purelib") + "/torch/lib")')"
"$venv/bin/python" -W ignore -c '
import torch, verl, verl.experimental.agent_loop, verl.trainer.ppo.v1, transfer_queue, trl
print("verl", verl.__version__, "torch", torch.__version__, "trl", trl.__version__)' 2>/dev/null
