"""Rollouts that arrive one by one, in any order, late, twice or never."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from world import RANKED, judge, rollout, world_scorer

import rankbuffer as rb
from rankbuffer.verl.config.settings import RendezvousSettings
from rankbuffer.verl.groups.rendezvous import Rendezvous
from rankbuffer.verl.rollout_reward import GROUP_STATUS, STATUS, RolloutReward
from rankbuffer.verl.rollouts.rows import Rollout

Run = Callable[[Any], Any]
TEXTS = ["t90", "t50", "t30", "t10"]


def make(scorer: rb.Scorer, size: int = 4, padded: bool = True, **options: Any) -> Rendezvous:
    return Rendezvous(scorer, RendezvousSettings(**options), size, padded=padded)


async def score(rendezvous: Rendezvous, *rollouts: Rollout) -> list[RolloutReward]:
    return await asyncio.gather(*(rendezvous.score(r) for r in rollouts))


def group(texts: list[str] = TEXTS, **options: Any) -> list[Rollout]:
    return [rollout(text, slot=f"s{i}", **options) for i, text in enumerate(texts)]


def expected(texts: list[str] = TEXTS) -> list[float]:
    with world_scorer() as scorer:
        return scorer.score_group("q", texts, query="about q", ranked=RANKED).rewards


def test_siblings_get_their_rewards_in_any_order(scorer: rb.Scorer, run: Run) -> None:
    shuffled = group()
    seed = random.randrange(2**32)
    random.Random(seed).shuffle(shuffled)
    outcomes = run(score(make(scorer), *shuffled))
    rewards = {r.text: v.reward for r, v in zip(shuffled, outcomes, strict=True)}
    assert [rewards[text] for text in TEXTS] == expected(), f"seed {seed}"
    assert {v.status for v in outcomes} == {v.group_status for v in outcomes} == {0}
    assert len(scorer.buffer("q").anchors) > 4


def test_numbers_add_up(scorer: rb.Scorer, run: Run) -> None:
    outcomes = run(score(make(scorer), *group()))
    ledger = scorer.stats()["judge"]
    assert sum(v.calls for v in outcomes) == pytest.approx(4)  # one coarse call each, no ties
    assert sum(v.prompt_tokens for v in outcomes) > 0
    assert [v.position for v in outcomes] == [4, 2, 1, 0]
    assert [v.rank for v in outcomes] == [3, 2, 1, 0]
    assert {v.group_std for v in outcomes} == {outcomes[0].group_std}
    assert ledger


def test_two_uids_of_one_query_take_their_turns(scorer: rb.Scorer, run: Run) -> None:
    first, second = group(uid="a"), group(["t95", "t45", "t5", "t1"], uid="b")
    mixed = [r for pair in zip(first, second, strict=True) for r in pair]
    outcomes = run(score(make(scorer), *mixed))
    assert all(v.group_status == 0 for v in outcomes)
    assert scorer.buffer("q").epochs_seen == [0, 1]


def test_a_sibling_that_never_comes(scorer: rb.Scorer, run: Run) -> None:
    outcomes = run(score(make(scorer, deadline_s=0.2), *group()[:3]))
    assert {v.group_status for v in outcomes} == {GROUP_STATUS["partial"]}
    assert {v.status for v in outcomes} == {0}
    assert [a.text for a in scorer.buffer("q").anchors] == RANKED[::-1]  # not updated
    assert outcomes[0].reward > outcomes[1].reward > outcomes[2].reward


def test_a_sibling_that_comes_too_late(scorer: rb.Scorer, run: Run) -> None:
    async def late() -> tuple[list[RolloutReward], RolloutReward]:
        rendezvous = make(scorer, deadline_s=0.2)
        came = await score(rendezvous, *group()[:3])
        return came, (await score(rendezvous, group()[3]))[0]

    came, last = run(late())
    assert last.status == STATUS["late"]
    assert last.reward == pytest.approx(sum(v.reward for v in came) / 3)


def test_the_deadline_counts_from_the_last_arrival(scorer: rb.Scorer, run: Run) -> None:
    async def slowly() -> list[RolloutReward]:
        rendezvous = make(scorer, deadline_s=1.0)
        tasks = []
        for r in group():
            tasks.append(asyncio.create_task(rendezvous.score(r)))
            await asyncio.sleep(0.4)
        return await asyncio.gather(*tasks)

    assert {v.group_status for v in run(slowly())} == {0}


def test_a_row_seen_twice_is_one_rollout(scorer: rb.Scorer, run: Run) -> None:
    async def twice() -> tuple[list[RolloutReward], list[RolloutReward]]:
        rendezvous = make(scorer)
        first = await score(rendezvous, *group(), group()[2])
        return first, await score(rendezvous, *group())

    first, again = run(twice())
    assert first[4] == first[2]
    assert again == first[:4]
    assert scorer.buffer("q").epochs_seen == [0]


@pytest.mark.parametrize("when", ["open", "full", "ended"])
def test_another_text_under_a_known_slot(scorer: rb.Scorer, run: Run, when: str) -> None:
    """It neither gets the first text's reward nor takes a sibling's place."""
    other = rollout("t99", slot="s0")

    async def meet() -> list[RolloutReward]:
        rendezvous = make(scorer)
        if when == "open":
            return await score(rendezvous, *group()[:1], other, *group()[1:])
        if when == "full":
            return await score(rendezvous, *group(), other)
        return await score(rendezvous, *group()) + await score(rendezvous, other)

    outcomes = run(meet())
    late = outcomes.pop(1 if when == "open" else -1)
    assert [v.reward for v in outcomes] == expected()
    assert late.status == STATUS["late"]
    assert late.reward == pytest.approx(sum(expected()) / 4)


@pytest.mark.parametrize("at", [0, 2, 4])
def test_padding_of_the_batch_path(scorer: rb.Scorer, run: Run, at: int) -> None:
    """Rows without a name of their own: a repeated first row must not push out a sibling."""
    rows = [rollout(text) for text in TEXTS]
    rows.insert(at, rollout(TEXTS[0]))
    outcomes = run(score(make(scorer), *rows))
    rewards = {r.text: v.reward for r, v in zip(rows, outcomes, strict=True)}
    assert [rewards[text] for text in TEXTS] == expected()
    assert {v.group_status for v in outcomes} == {0}


@pytest.mark.parametrize("padded", [True, False])
def test_siblings_that_wrote_the_same(scorer: rb.Scorer, run: Run, padded: bool) -> None:
    texts = ["t90", "t50", "t50", "t10"]
    outcomes = run(
        score(make(scorer, padded=padded, batch_wait_s=0.3), *(rollout(text) for text in texts))
    )
    assert [v.reward for v in outcomes] == expected(texts)
    assert {v.group_status for v in outcomes} == {0}


def test_rows_without_uid_meet_by_prompt(scorer: rb.Scorer, run: Run) -> None:
    rows = [rollout(text, uid="prompt-1", has_uid=False, step=None) for text in TEXTS]
    more = [rollout(t, uid="prompt-1", has_uid=False, step=None) for t in ["t91", "t51", "t31"]]
    outcomes = run(score(make(scorer, batch_wait_s=0.3), *rows, *more))
    assert [v.reward for v in outcomes[:4]] == expected()
    assert {v.group_status for v in outcomes[:4]} == {0}
    assert {v.group_status for v in outcomes[4:]} == {GROUP_STATUS["partial"]}


def test_empty_and_ineligible_rollouts(scorer: rb.Scorer, run: Run) -> None:
    rows = [
        rollout("t90", slot="s0"),
        rollout("", slot="s1"),
        rollout("<think>never ends", slot="s2"),
        rollout("t95", slot="s3", eligible=False),
    ]
    outcomes = run(score(make(scorer), *rows))
    names = {code: name for name, code in STATUS.items()}
    assert [names[v.status] for v in outcomes] == ["ok", "empty", "empty", "ineligible"]
    assert [v.reward for v in outcomes] == [1, -1, -1, -1]


def test_validation_is_scored_alone_and_changes_nothing(scorer: rb.Scorer, run: Run) -> None:
    async def mixed() -> tuple[list[RolloutReward], list[RolloutReward]]:
        rendezvous = make(scorer)
        unknown = await score(rendezvous, rollout("t99", query="new", validate=True))
        await score(rendezvous, *group())
        before = scorer.buffer("q")
        known = await score(rendezvous, *(rollout(t, validate=True) for t in ("t0", "t70", "t99")))
        assert scorer.buffer("q") == before
        return unknown, known

    unknown, known = run(mixed())
    assert [v.reward for v in known] == sorted(v.reward for v in known)
    assert known[0].reward == -1
    assert known[2].reward == 1
    assert unknown[0].status == 0


def test_a_judge_that_is_down(run: Run) -> None:
    with world_scorer(failure_rate=1.0, max_retries=0) as scorer:
        outcomes = run(score(make(scorer), *group()))
        assert {v.reward for v in outcomes} == {0}
        assert {v.status for v in outcomes} == {STATUS["judge_failed"]}
        assert [a.text for a in scorer.buffer("q").anchors] == RANKED[::-1]


def test_other_content_for_a_known_query(scorer: rb.Scorer, run: Run) -> None:
    scorer.create_buffer("q", query="something else", ranked=RANKED)
    outcomes = run(score(make(scorer), *group()))
    assert {v.status for v in outcomes} == {STATUS["rejected"]}
    assert {v.reward for v in outcomes} == {0}


def test_text_that_is_no_text(scorer: rb.Scorer, run: Run) -> None:
    rows = group(["t90", "bad \ud800 text", "t30", "t10"])
    outcomes = run(score(make(scorer), *rows))
    assert outcomes[1].status == STATUS["empty"]
    assert outcomes[0].reward == 1


@pytest.mark.parametrize("at", [0, 2, 3])
@pytest.mark.parametrize("failures", [1, 2])
def test_a_row_that_cannot_be_scored(scorer: rb.Scorer, run: Run, at: int, failures: int) -> None:
    """Its siblings do not wait for it, and it has no advantage."""
    rows = [rollout(text, slot=f"s{i}") for i, text in enumerate(TEXTS[: 4 - failures])]
    rows[at:at] = [rollout("", slot=f"f{i}", failure="rejected") for i in range(failures)]
    outcomes = run(score(make(scorer), *rows))
    bad = [v for r, v in zip(rows, outcomes, strict=True) if r.failure]
    good = [v for r, v in zip(rows, outcomes, strict=True) if not r.failure]
    assert {v.status for v in bad} == {STATUS["rejected"]}
    assert {v.status for v in good} == {0}
    assert good[0].reward > good[-1].reward
    assert bad[0].reward == pytest.approx(sum(v.reward for v in good) / len(good))
    assert {v.group_status for v in outcomes} == {GROUP_STATUS["partial"]}
    assert [a.text for a in scorer.buffer("q").anchors] == RANKED[::-1]


@pytest.mark.parametrize("slot", [True, False])
def test_a_group_of_which_nothing_can_be_scored(scorer: rb.Scorer, run: Run, slot: bool) -> None:
    rows = [rollout("", slot=f"s{i}" if slot else None, failure="error") for i in range(4)]
    outcomes = run(score(make(scorer, batch_wait_s=0.3), *rows))
    assert {v.reward for v in outcomes} == {0}
    assert 0 not in {v.status for v in outcomes} | {v.group_status for v in outcomes}
    unseen = run(score(make(scorer), rollout("", validate=True, failure="error")))
    assert unseen[0].status == STATUS["error"]


def test_a_rollout_that_is_cancelled_takes_nothing_from_its_siblings(
    scorer: rb.Scorer, run: Run
) -> None:
    """It had been handed over, so that it stays in the group."""

    async def cancel() -> list[RolloutReward]:
        rendezvous = make(scorer)
        gone = [asyncio.create_task(rendezvous.score(r)) for r in group()[:2]]
        await asyncio.sleep(0.05)
        for task in gone:
            task.cancel()
        rest = await score(rendezvous, *group()[2:])
        assert all(task.cancelled() for task in gone)
        return [*await score(rendezvous, *group()[:2]), *rest]  # asked for again

    outcomes = run(cancel())
    assert [v.reward for v in outcomes] == expected()
    assert {v.group_status for v in outcomes} == {0}
    assert len(scorer.buffer("q").anchors) > 4


@pytest.mark.parametrize("validate", [True, False])
def test_a_judge_that_fails_is_told_apart_from_a_row_that_cannot_be_used(
    run: Run, caplog: pytest.LogCaptureFixture, validate: bool
) -> None:
    """With on_failure=raise. What the judge wrote is in no log."""
    judging = judge(malformed_rate=1.0, max_retries=0)
    with (
        caplog.at_level("INFO"),
        rb.Scorer(judge=judging, method=rb.RankBuffer(k0=4), on_failure="raise") as scorer,
    ):
        scorer.create_buffer("q", query="about q", ranked=RANKED)
        outcomes = run(score(make(scorer), *group(validate=validate)))
        with pytest.raises(rb.JudgeError) as complaint:
            scorer.score_group("q", TEXTS)
    assert {v.status for v in outcomes} == {STATUS["judge_failed"]}
    assert {v.group_status for v in outcomes} == {GROUP_STATUS["failed"]}
    assert "is judge_failed: the judge's answer holds no usable verdict\n" in caplog.text
    quoted = str(complaint.value).split(":")[-1].strip()
    assert quoted
    assert quoted not in caplog.text


def test_padding_of_a_row_that_never_got_in(
    scorer: rb.Scorer, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def drained() -> list[RolloutReward]:
        rendezvous = make(scorer)
        waiting = [asyncio.create_task(rendezvous.score(rollout("t90"))) for _ in range(2)]
        await asyncio.sleep(0)
        await rendezvous.drain()  # before the group has opened
        return await asyncio.gather(*waiting)

    outcomes = run(drained())
    assert [v.status for v in outcomes] != [STATUS["error"]] * 2
    assert "Traceback" not in caplog.text
    assert outcomes[0] == outcomes[1]


def test_a_reissued_prompt_is_applied_once(run: Run) -> None:
    """An asynchronous trainer asks again with the same uid and another step."""
    with world_scorer() as scorer:
        rendezvous = Rendezvous(
            scorer,
            RendezvousSettings(),
            4,
            lambda r: {"idempotency_key": r.uid, "after_checkpoint": 0},
        )

        async def again() -> list[RolloutReward]:
            await score(rendezvous, *group())
            before = scorer.buffer("q")
            outcomes = await score(rendezvous, *group(["t99", "t98", "t3", "t2"], step=2))
            assert scorer.buffer("q") == before
            return outcomes

        outcomes = run(again())
        assert [v.rank for v in outcomes] == [3, 2, 1, 0]
        assert {v.group_status for v in outcomes} == {0}


def test_many_groups_at_once(scorer: rb.Scorer, run: Run) -> None:
    rng = random.Random(5)
    rows = [
        rollout(f"t{rng.randrange(100)}", uid=f"u{g}", query=f"q{g % 40}", slot=f"s{i}")
        for g in range(125)
        for i in range(16)
    ]
    rng.shuffle(rows)
    rendezvous = make(scorer, size=16)
    outcomes = run(score(rendezvous, *rows))
    assert len(outcomes) == 2000
    assert {v.group_status for v in outcomes} == {0}
    assert rendezvous.busy == 0


def test_texts_are_in_no_log(scorer: rb.Scorer, run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong: prompts and responses go to the judge and nowhere else."""
    secret = "secret of the response"
    rows = group([secret, "t50", "bad \ud800 " + secret, "t10"], query="secret of the query")
    with caplog.at_level("INFO"):
        outcomes = run(score(make(scorer, deadline_s=0.2), *rows))  # the judge knows no secret
        scorer.create_buffer("known", query="secret prompt")
        outcomes += run(score(make(scorer), *group(query="known", uid="k")))
    assert {v.status for v in outcomes} != {0}
    assert caplog.records
    assert "secret of the response" not in caplog.text
    assert "secret prompt" not in caplog.text
    assert "about known" not in caplog.text
