"""Writes the files by which sentence-transformers knows how vectors are made of an encoder's states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cocite.manifests import read_json
from cocite.systems.sentence_encoder.encoder import SentenceSettings
from cocite.systems.sentence_encoder.folders import POOLING_KEYS

CONFIG, MODULES = "config.json", "modules.json"
_PACKAGE = "sentence_transformers.models"


def write_sentence_transformer(folder: Path, settings: SentenceSettings) -> None:
    """Make a folder with an encoder's configuration, weights and tokenizer one of sentence-transformers.

    Args:
        folder: of the encoder.
        settings: how texts become vectors.
    """
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    prompts = {"query": settings.query_prompt, "document": settings.document_prompt}
    general: dict[str, Any] = {
        "model_type": "SentenceTransformer",
        "prompts": prompts if any(prompts.values()) else {},
        "default_prompt_name": None,
        "similarity_fn_name": "cosine",
    }
    write_modules(folder, modules, general)
    write_tokenizing(folder, settings.max_tokens, lower_case=settings.lower_case)
    write_pooling(folder, settings.pooling)
    (folder / "2_Normalize").mkdir()
    write_json(folder / "2_Normalize" / CONFIG, {})


def write_modules(folder: Path, modules: list[tuple[str, str]], general: dict[str, Any]) -> None:
    """Write the list of modules, each a name and a subfolder, and what holds for all of them."""
    described = [
        {"idx": i, "name": str(i), "path": path, "type": f"{_PACKAGE}.{name}"}
        for i, (name, path) in enumerate(modules)
    ]
    write_json(folder / MODULES, described)
    write_json(folder / "config_sentence_transformers.json", general)


def write_tokenizing(folder: Path, tokens: int, *, lower_case: bool = False) -> None:
    """Write how many tokens of a text are read, and whether it is lower-cased first."""
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": tokens, "do_lower_case": lower_case})


def write_pooling(folder: Path, pooling: str) -> None:
    """Write the Pooling module, as all versions of sentence-transformers read it."""
    width = int(read_json(folder / CONFIG)["hidden_size"])
    chosen = {key: name == pooling for key, name in POOLING_KEYS.items()}
    (folder / "1_Pooling").mkdir()
    write_json(
        folder / "1_Pooling" / CONFIG, {"word_embedding_dimension": width, **chosen, "include_prompt": True}
    )


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON."""
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
