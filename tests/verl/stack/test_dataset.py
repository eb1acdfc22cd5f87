"""What `rankbuffer prepare` writes, as verl's own data set hands it to the reward manager."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from torch.utils.data import DataLoader
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

import rankbuffer as rb
from rankbuffer.config import ScorerConfig
from rankbuffer.prepare import Prepared, prepare
from rankbuffer.rows import QueryRow, Response, query_id_of
from rankbuffer.types import Rubric
from rankbuffer.verl.config.settings import Settings
from rankbuffer.verl.rollouts.queries import SideFile
from rankbuffer.verl.rollouts.rows import Rollout, RowReader
from verl import DataProto

LONG = ["long and good " * 200, "long and bad " * 200]
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Wie? 好"}]
LINES: list[dict[str, Any]] = [
    {"query_id": "named", "query": "Why?", "ranked": ["good", "bad"], "reference": "a reference"},
    {"query": "When?", "rubrics": [{"text": "Clear", "weight": 2}, "Short"]},
    {"query": CHAT, "ranked": ["good", "bad"]},
]
RANKED = [Response(text="good"), Response(text="bad")]
WANTED = [
    QueryRow(query_id="named", query="Why?", ranked=RANKED, reference="a reference"),
    QueryRow(
        query_id=query_id_of("When?"),
        query="When?",
        rubrics=[Rubric("Clear", weight=2.0), Rubric("Short", weight=1.0)],
    ),
    QueryRow(query_id=query_id_of(CHAT), query=CHAT, ranked=RANKED),
]


def written(path: Path, lines: list[dict[str, Any]], **options: Any) -> Prepared:
    source = path.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return prepare(source, path, **options)


def read(files: list[Prepared], tokenizer: Any) -> list[Rollout]:
    """Through verl's data set and collation, and through the agent loop's row for a rollout."""
    config = OmegaConf.create({"max_prompt_length": 512, "return_raw_chat": True})
    data = RLHFDataset([str(done.parquet) for done in files], tokenizer, config)
    batch = next(iter(DataLoader(data, batch_size=len(data), collate_fn=collate_fn)))
    reader = RowReader(
        tokenizer, Settings(scorer=ScorerConfig(judge=rb.Judge(base_url="", model="")))
    )
    rollouts = []
    for i in range(len(data)):
        columns = {name: batch[name][i : i + 1] for name in batch if name != "dummy_tensor"}
        response = tokenizer("an answer", return_tensors="pt")
        tensors = {
            "prompts": response["input_ids"][:, :0],
            "responses": response["input_ids"],
            "attention_mask": response["attention_mask"],
        }
        rollouts.append(reader.read(DataProto.from_dict(tensors, columns)))
    return rollouts


@pytest.mark.parametrize("split", ["train", "test"])
def test_rows_reach_the_manager_as_they_were_given(
    tmp_path: Path, tokenizer: Any, split: str
) -> None:
    done = written(tmp_path / "rows.parquet", LINES, split=split)
    assert done.side_file is None
    rollouts = read([done], tokenizer)
    assert [r.query for r in rollouts] == WANTED
    assert {r.validate for r in rollouts} == {split != "train"}
    assert {(r.text, r.failure, r.eligible) for r in rollouts} == {("an answer", None, True)}


def test_two_files_with_side_files(tmp_path: Path, tokenizer: Any) -> None:
    lines = [{"query": query, "ranked": [f"{query} {t}" for t in LONG]} for query in ("A", "B")]
    files = [
        written(tmp_path / f"{name}.parquet", [line], split=name)
        for name, line in zip(("train", "test"), lines, strict=True)
    ]
    side = SideFile([str(done.side_file) for done in files])
    rollouts = read(files, tokenizer)
    assert [r.query.ranked for r in rollouts] == [[], []]
    filled = [side.fill(r.query) for r in rollouts]
    assert [q.texts() for q in filled] == [line["ranked"] for line in lines]
    assert [q.query_id for q in filled] == [query_id_of("A"), query_id_of("B")]
    assert [r.validate for r in rollouts] == [False, True]
