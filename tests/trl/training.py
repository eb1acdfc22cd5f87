"""Two GRPO steps of TRL with a tiny model; one process, or several under torchrun."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import rankbuffer as rb
from rankbuffer.config import ScorerConfig
from rankbuffer.trl import AsyncRewardFunction, RewardFunction
from trl import GRPOConfig, GRPOTrainer

WORDS = [f"w{i}" for i in range(60)]
GROUP, STEPS = 4, 2


def model(directory: Path) -> Path:
    """One token a word, so that every completion of one token has a known quality."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocab = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocab),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            eos_token_id=1,
            pad_token_id=0,
            bos_token_id=1,
        )
    ).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def main() -> None:
    out, kind, resume = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "resume"
    rank = int(os.environ.get("RANK", "0"))
    directory = model(out / f"model-{rank}")
    qualities = {word: float(i) for i, word in enumerate(WORDS)}
    config = ScorerConfig(judge=rb.SimulatedJudge(qualities=qualities))
    reward = (RewardFunction if kind == "sync" else AsyncRewardFunction)(config, group_size=GROUP)
    seen: list[Any] = []

    def note(prompts: Any, completions: Any, query_id: Any, rewards: Any, state: Any) -> None:
        for row in zip(query_id, completions, rewards, strict=True):
            seen.append([state.global_step, *row])

    if kind == "sync":

        def spy(prompts: Any, completions: Any, **kw: Any) -> list[float]:
            rewards = reward(prompts, completions, **kw)
            note(prompts, completions, kw["query_id"], rewards, kw["trainer_state"])
            return rewards

    else:

        async def spy(prompts: Any, completions: Any, **kw: Any) -> list[float]:
            rewards = await reward(prompts, completions, **kw)
            note(prompts, completions, kw["query_id"], rewards, kw["trainer_state"])
            return rewards

    rows = [
        {
            "prompt": f"{WORDS[i]} {WORDS[i + 1]}",
            "query_id": f"q{i}",
            "ranked": ["w50", "w40", "w20", "w10"],
        }
        for i in range(8)
    ]
    args = GRPOConfig(
        output_dir=str(out / "run"),
        use_cpu=True,
        per_device_train_batch_size=8 // int(os.environ.get("WORLD_SIZE", "1")),
        num_generations=GROUP,
        max_completion_length=1,
        max_steps=STEPS * (2 if resume else 1),
        save_steps=1,
        logging_steps=1,
        report_to=[],
        bf16=False,
        gradient_checkpointing=False,
        beta=0.0,
    )
    trainer = GRPOTrainer(
        model=str(directory),
        reward_funcs=[spy],
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(directory),
        callbacks=[reward.checkpoints()],
    )
    trainer.train(resume_from_checkpoint=resume)
    buffers = {}
    if rank == 0:
        for i in range(8):
            try:
                buffers[f"q{i}"] = reward.scorer.buffer(f"q{i}").raw
            except rb.NotFoundError:
                buffers[f"q{i}"] = None
    (out / f"seen-{rank}.json").write_text(json.dumps({"seen": seen, "buffers": buffers}))
    reward.close()


if __name__ == "__main__":
    main()
