"""The recipe of a sentence encoder, and the artifact that it makes. Nothing is trained: weights are copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from safetensors.torch import save_file

from cocite.artifacts import publish
from cocite.bounds import Location, TextPart
from cocite.config import Settings
from cocite.errors import InputError
from cocite.nn import pretrained_transformers as backbones
from cocite.systems.sentence_encoder.encoder import (
    KIND,
    MAX_TOKENS,
    SETTINGS,
    EncoderPrecision,
    SentenceSettings,
)
from cocite.systems.sentence_encoder.folders import FolderSettings, read_folder
from cocite.systems.sentence_encoder.pooling import Pooling

WEIGHTS = "model.safetensors"


class SentenceRecipe(Settings):
    """Which public encoder becomes a component of a model folder.

    A setting that is null is taken from the encoder's ``modules.json``, as sentence-transformers writes it; without
    that file it is 256 tokens, the mean, no prompts.

    Example:
        >>> recipe = SentenceRecipe.parse({"kind": "sentence", "pooling": "cls"}, where="recipe.yaml")
        >>> recipe.pooling, recipe.max_tokens
        ('cls', None)
    """

    kind: Literal["sentence"] = "sentence"
    encoder: Location = "sentence-transformers/all-MiniLM-L6-v2"
    """A name on the Hugging Face hub, or a folder with ``config.json``, safetensors and a tokenizer."""
    max_tokens: int | None = Field(None, ge=8, le=MAX_TOKENS)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""
    pooling: Pooling | None = None
    """How the states of a text's tokens become one vector."""
    query_prompt: TextPart | None = None
    """Text put before contexts, and before manuscripts as queries."""
    document_prompt: TextPart | None = None
    """Text put before papers, and before manuscripts where they are compared as papers."""
    separator: TextPart = ". "
    """Text put between title and abstract; SPECTER reads ``[SEP]``."""
    precision: EncoderPrecision = "auto"
    """Of matrix products: ``float32`` gives the same vectors on all machines, ``auto`` is as fast as this one can."""
    normalize: bool = False
    """Whether to accept a folder that compares vectors by dot product or a distance; they are compared by cosine."""


def save_sentence_encoder(folder: Path, recipe: SentenceRecipe, meta: dict[str, Any]) -> None:
    """Copy a public encoder's weights and tokenizer into an artifact, so that the model folder needs nothing else.

    Raises:
        CociteError: as :func:`cocite.nn.pretrained_transformers.load`.
        InputError: the encoder reads fewer tokens than it is to be given.
    """
    # The weights of a name on the hub are loaded first: their loader explains best what a hub lacks.
    pretrained = None if Path(recipe.encoder).is_dir() else backbones.load(recipe.encoder)
    declared = read_folder(recipe.encoder)
    if pretrained is None:
        pretrained = backbones.load(str(Path(recipe.encoder, declared.transformer if declared else "")))
    settings = _merge_settings(recipe, declared, pretrained)
    with publish(folder, kind=KIND, meta=meta, replace=True) as temporary:
        pretrained.backbone.config.save_pretrained(temporary)
        pretrained.tokenizer.save_pretrained(temporary)
        weights = {name: value.contiguous() for name, value in pretrained.backbone.state_dict().items()}
        save_file(weights, temporary / WEIGHTS, {"format": "pt"})
        (temporary / SETTINGS).write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _merge_settings(
    recipe: SentenceRecipe, declared: FolderSettings | None, pretrained: backbones.PretrainedEncoder
) -> SentenceSettings:
    """The settings of the recipe, else of the folder, else the defaults; refuses what would give other vectors."""
    limit = getattr(pretrained.backbone.config, "max_position_embeddings", None) or MAX_TOKENS
    tokens = recipe.max_tokens
    if tokens is None and declared is not None:
        tokens = min(declared.max_tokens or pretrained.tokenizer.model_max_length, limit, MAX_TOKENS)
    elif tokens is None:
        tokens = min(SentenceSettings().max_tokens, limit)
    elif tokens > limit:
        raise InputError(f"max_tokens = {tokens}, and the encoder reads {limit}", where=recipe.encoder)
    values: dict[str, Any] = {
        "max_tokens": tokens,
        "separator": recipe.separator,
        "precision": recipe.precision,
    }
    for name in ("pooling", "query_prompt", "document_prompt"):
        chosen = getattr(recipe, name)
        if chosen is not None or declared is not None:
            values[name] = getattr(declared, name) if chosen is None else chosen
    if declared is not None:
        values["lower_case"] = declared.lower_case
        scaled = declared.similarity in ("dot", "euclidean") and not declared.normalize
        if (scaled or declared.similarity == "manhattan") and not recipe.normalize:
            raise InputError(
                f"compares vectors by {declared.similarity}, and an index compares unit vectors by their cosine",
                where=recipe.encoder,
                hint="pass normalize=true to compare them by cosine all the same",
            )
        if not declared.include_prompt and (values["query_prompt"] or values["document_prompt"]):
            raise InputError(
                "its module Pooling leaves out the tokens of prompts, which is not supported",
                where=recipe.encoder,
                hint='pass query_prompt="" and document_prompt="" to do without prompts',
            )
    return SentenceSettings.parse(values, where=recipe.encoder)
