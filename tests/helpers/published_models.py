"""Small parts of models that are exported as repositories, and the code of their cards."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
from cocite.text.wordpiece import train_wordpiece
from helpers.small_berts import small_bert

TEXTS = ["rare words are split into units . machine translation . we translate rare words ."]
META: dict[str, Any] = {
    "corpus": "0123456789abcdef",
    "dev": {"MRR": 0.25, "R@10": 0.5, "loss": 0.1, "seconds": 3.0},
}


def small_tokenizer() -> Any:
    """A WordPiece tokenizer of 80 tokens."""
    return train_wordpiece(lambda: TEXTS * 3, 80)


def add_cross_encoder(
    model: Path,
    type_: str = "bert",
    *,
    pairs: dict[str, Any] | None = None,
    corpus: str = META["corpus"],
    **options: Any,
) -> Path:
    """Write a cross-encoder with random weights into a model folder; returns its folder."""
    budgets = {"query_tokens": 128, "candidate_tokens": 128, "context_tokens": 64}
    settings = PairSettings.parse({**budgets, **(pairs or {})})
    backbone = small_bert(type_, max_position_embeddings=300)
    network = CrossEncoder(backbone, PairTokenizer(small_tokenizer(), settings), **options)
    network.head.weight.data.normal_()
    network.head.bias.data.fill_(0.3)
    recipe = {"encoder": "allenai/scibert_scivocab_uncased", "period": {"train_until": 2010}}
    network.save(model / "cross-encoder", {**META, "corpus": corpus, "recipe": recipe})
    return model / "cross-encoder"


def add_sentence_encoder(model: Path, type_: str = "bert", **settings: Any) -> Path:
    """Write a sentence encoder with random weights into a model folder; returns its folder."""
    source = model.parent / f"{model.name}-{type_}-weights"
    shutil.rmtree(source, ignore_errors=True)
    backbone = small_bert(type_, max_position_embeddings=300)
    backbone.save_pretrained(source)
    small_tokenizer().save_pretrained(source)
    recipe = SentenceRecipe.parse({"encoder": str(source), "precision": "float32", **settings})
    save_sentence_encoder(model / "sentence", recipe, {"recipe": recipe.model_dump(mode="json")})
    return model / "sentence"


def blocks_of(card: str) -> list[str]:
    """The Python code of a card, without the block that downloads."""
    blocks = [block.split("\n```")[0] for block in card.split("```python\n")[1:]]
    return [block for block in blocks if "snapshot_download" not in block]


def run_blocks(card: str, folder: Path) -> list[dict[str, Any]]:
    """Run each block of a card's code with the repository's path; returns what each defined."""
    results = []
    for block in blocks_of(card):
        names: dict[str, Any] = {"folder": str(folder)}
        exec(compile(block, "<card>", "exec"), names)
        results.append(names)
    return results
