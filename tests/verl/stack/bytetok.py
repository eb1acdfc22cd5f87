"""Tokenizers of bytes, with a model config beside them, so that real texts pass through verl."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SPECIALS = ["<pad>", "<eos>", "<|im_start|>", "<|im_end|>"]
EOS = 1

_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


# As Qwen's: tool calls in the assistant's turn, a tool's answer in one of the user. Reasoning
# is opened for the policy where `opens` is given, and closed at once without thinking.
QWEN_LIKE = (
    "{% for m in messages %}"
    "{% if m['role'] == 'tool' %}<|im_start|>user\n<tool_response>\n{{ m['content'] }}\n"
    "</tool_response><|im_end|>\n"
    "{% else %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
    "{% elif opens is defined and opens %}<think>\n{% endif %}{% endif %}"
)


def tokenizer(
    special: Sequence[str] = (), plain: Sequence[str] = (), template: str = _TEMPLATE
) -> Any:
    """``special`` tokens are left out where decoding skips them, ``plain`` ones are not."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {name: i for i, name in enumerate(SPECIALS)}
    for symbol in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab[symbol] = len(vocab)
    made = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    # Special in the file alone, as many models have theirs: no attribute names them.
    made.add_special_tokens([AddedToken(token, special=True) for token in special])
    made.add_tokens(list(plain))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="<eos>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = template
    return fast


def make(directory: Path) -> Path:
    """Writes tokenizer and config; no hub is asked for anything."""
    fast = tokenizer()
    fast.save_pretrained(directory)
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": len(fast),
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 65536,
        "eos_token_id": EOS,
        "pad_token_id": 0,
        "bos_token_id": EOS,
        "tie_word_embeddings": True,
    }
    (directory / "config.json").write_text(json.dumps(config))
    return directory
