"""Fork and spawn: a child that cannot work says so, at once."""

from __future__ import annotations

from fresh_process import run

# Runs body in a forked child and prints what it printed and how it ended.
IN_CHILD = """
def in_child(body):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            body()
        except BaseException as error:
            print(type(error).__name__, "|", error)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def test_child_forked_after_load_is_refused() -> None:
    out = run(
        IN_CHILD
        + """
s = scorer()
score(s)
held = s.open_group("q", expected=2)
def every_use():
    uses = {
        "score": lambda: score(s),
        "async": lambda: asyncio.run(s.score_group_async("q", texts)),
        "open": lambda: s.open_group("q", expected=2),
        "enter": lambda: held.__enter__(),
        "with": lambda: s.__enter__(),
        "buffer": lambda: s.buffer("q"),
        "create": lambda: s.create_buffer("p", query="?"),
        "update": lambda: s.update("q/0/0"),
        "snapshot": lambda: s.snapshot("/tmp/never"),
        "restore": lambda: s.restore("/tmp/never"),
        "stats": lambda: s.stats(),
        "check": lambda: s.check(),
        "journal": lambda: s.journal("/tmp/never"),
        "restore_from": lambda: s.restore_from(),
        "new": lambda: scorer(),
        "inspect": lambda: rb.inspect("/tmp/never"),
        "server": lambda: rb.JudgeServer(rb.SimulatedJudge(qualities={})),
    }
    for name, use in uses.items():
        try:
            use()
            print(name, "worked")
        except rb.ForkedError as error:
            assert "spawn" in str(error), error
    s.close()
    s.close()
    s.__exit__(None, None, None)
    print("refused")
in_child(every_use)
print(score(s).group_status)
"""
    )
    assert out.splitlines() == ["refused", "ok"]


def test_child_forked_while_the_parent_is_busy() -> None:
    """Locks that the parent's threads hold at the fork must not hang the child."""
    out = run(
        IN_CHILD
        + """
s = scorer()
stop = threading.Event()
def work(name):
    while not stop.is_set():
        score(s, name)
threads = [threading.Thread(target=work, args=(f"q{i}",)) for i in range(3)]
for t in threads:
    t.start()
def use():
    score(s)
for _ in range(30):
    in_child(use)
stop.set()
for t in threads:
    t.join()
print(score(s).group_status)
"""
    )
    lines = out.splitlines()
    assert len(lines) == 31
    assert all(line.startswith("ForkedError | ") for line in lines[:-1])
    assert lines[-1] == "ok"


def test_forked_child_that_exits_normally() -> None:
    """Exit handlers and finalizers of the child leave the parent's scorer alone."""
    out = run(
        """
s = scorer()
score(s)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    del s
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print(score(s).group_status)
"""
    )
    assert out == "ok\n"


def test_fork_first_then_load_in_the_child() -> None:
    out = run(IN_CHILD + 'in_child(lambda: print(score(scorer()).group_status))\nprint("parent")')
    assert out.splitlines() == ["ok", "parent"]


def test_fork_after_import_and_load_in_both() -> None:
    out = run(
        IN_CHILD
        + """
in_child(lambda: print(score(scorer()).group_status))
s = scorer()
print(score(s).group_status)
in_child(lambda: score(s))
"""
    )
    assert [line.split()[0] for line in out.splitlines()] == ["ok", "ok", "ForkedError"]


def test_multiprocessing_spawn(tmp_path: object) -> None:
    """The configuration travels; the child builds its own scorer from it."""
    import multiprocessing

    import rankbuffer as rb

    config = rb.ScorerConfig(
        method=rb.RankBuffer(k0=2),
        judge=rb.SimulatedJudge(qualities={"good": 1.0, "bad": 0.0}),
    )
    with (
        rb.Scorer(config) as scorer,
        multiprocessing.get_context("spawn").Pool(1) as pool,
    ):
        here = _ranks(scorer.config)
        assert pool.apply(_ranks, (scorer.config,)) == here == [1, 0]


def _ranks(config: object) -> list[float]:
    import rankbuffer as rb

    assert isinstance(config, rb.ScorerConfig)
    with rb.Scorer(config) as scorer:
        return scorer.score_group("q", ["good", "bad"], query="?").ranks
