"""Ctrl-C: at once, with the group cancelled and the scorer still usable."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from fresh_process import python


def _interrupt(process: subprocess.Popen[str]) -> tuple[list[str], float]:
    """Sends SIGINT when the child says that it waits; its remaining lines, and when it was sent."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "waiting\n", line + (process.stderr.read() if process.stderr else "")
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    return out.splitlines(), sent


# Says so once the group is in flight and the main thread had time to fall asleep.
# It runs on another thread, since the main one waits. A signal that comes right
# before the sleep is another test, and asyncio (CPython's own code) has no answer
# to it.
TELL = """
s = scorer(latency_ms=600_000)
def tell():
    waiting(s)
    time.sleep(0.2)
    print("waiting", flush=True)
teller = threading.Thread(target=tell)
teller.start()
"""

CALLS = {
    "score_group": "score(s)",
    "open_group": """
    with s.open_group("q", expected=2, query="?") as group:
        group.add(texts[0])
        group.add(texts[1])
""",
    "asyncio": 'asyncio.run(s.score_group_async("q", texts, query="?"))',
    "asyncio open_group": """
    async def main():
        async with s.open_group("q", expected=2, query="?") as group:
            await group.add(texts[0])
    asyncio.run(main())
""",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_returns_at_once_and_cancels(call: str) -> None:
    code = f"""
{TELL}
try:
    {call.strip()}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
teller.join()
while s.stats()["in_flight"]:
    time.sleep(0.001)
print("cancelled", len(s.buffer("q").anchors))
s.close()
"""
    process = python(code)
    lines, sent = _interrupt(process)
    assert process.returncode == 0
    raised, cancelled = lines
    print(f"KeyboardInterrupt after {1000 * (float(raised) - sent):.1f} ms")
    assert cancelled == "cancelled 0"


def test_ctrl_c_that_nobody_catches_ends_the_process() -> None:
    process = python(f"{TELL}\nscore(s)")
    lines, _ = _interrupt(process)
    assert process.returncode == -signal.SIGINT
    assert lines == []


def test_ctrl_c_in_the_gap_before_the_sleep() -> None:
    """A signal that comes as the main thread is about to sleep must not wait for another.

    The thread that sends it is woken by the very release of the interpreter's
    lock with which the main thread goes to sleep.
    """
    code = """
    s = scorer(latency_ms=600_000)
    for i in range(50):
        def send():
            waiting(s)
            os.kill(os.getpid(), signal.SIGINT)
        sender = threading.Thread(target=send)
        try:
            sender.start()
            score(s)
        except KeyboardInterrupt:
            pass
        sender.join()
        while s.stats()["in_flight"]:
            time.sleep(0.001)
    print("interrupted every time")
    s.close()
    """
    process = python(code)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "interrupted every time\n"), err


def test_ctrl_c_loses_nobody_elses_result() -> None:
    """Interrupts hail on the main thread while another scores: each of its groups comes back."""
    code = """
    s = scorer()
    done = []
    def work():
        for i in range(300):
            score(s, f"q{i}")
            done.append(i)
        finished.set()
    finished = threading.Event()
    worker = threading.Thread(target=work)
    worker.start()
    interrupts = 0
    def hail():
        while not finished.is_set():
            time.sleep(0.0005)
            os.kill(os.getpid(), signal.SIGINT)
    hailer = threading.Thread(target=hail)
    while True:
        try:
            if not hailer.ident:
                hailer.start()
            while not finished.is_set():
                score(s, "main")
            break
        except KeyboardInterrupt:
            interrupts += 1
    while True:
        try:
            hailer.join()
            worker.join()
            break
        except KeyboardInterrupt:
            pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while s.stats()["in_flight"]:
        time.sleep(0.001)
    s.close()
    print(len(done), interrupts > 0)
    """
    process = python(code)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "300 True\n"), err


@pytest.mark.parametrize("call", ["s.check()", 's.write_rubrics("q", query="?", ranked=texts)'])
def test_ctrl_c_during_a_call_that_blocks_in_the_library(call: str) -> None:
    code = f"""
import socket
silent, held = socket.create_server(("127.0.0.1", 0)), []
url = f"http://127.0.0.1:{{silent.getsockname()[1]}}/v1"
s = rb.Scorer(judge=rb.Judge(base_url=url, model="m"))
def tell():
    held.append(silent.accept())
    time.sleep(0.2)
    print("waiting", flush=True)
teller = threading.Thread(target=tell)
teller.start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
s.close(deadline=0.1)
"""
    process = python(code)
    lines, _ = _interrupt(process)
    assert (process.returncode, lines) == (0, ["interrupted"])
