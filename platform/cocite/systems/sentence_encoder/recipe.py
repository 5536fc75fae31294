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
from cocite.nn import pretrained_transformers as trunks
from cocite.systems.sentence_encoder.encoder import KIND, MAX_TOKENS, SETTINGS, SentenceSettings
from cocite.systems.sentence_encoder.folders import FolderSettings, Pooling, read_folder

WEIGHTS = "model.safetensors"


class SentenceRecipe(Settings):
    """Which public encoder becomes a member of a model folder. Nothing is trained.

    What is null is as a sentence-transformers folder says; without its ``modules.json``: 256 tokens, the mean, no
    prompts.
    """

    kind: Literal["sentence"] = "sentence"
    encoder: Location = "sentence-transformers/all-MiniLM-L6-v2"
    """A name on the Hugging Face hub, or a folder with ``config.json``, safetensors and a tokenizer."""
    max_tokens: int | None = Field(None, ge=8, le=MAX_TOKENS)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""
    pooling: Pooling | None = None
    """How the states of a text's tokens become one vector."""
    query_prompt: TextPart | None = None
    """What stands before contexts and before manuscripts that ask."""
    document_prompt: TextPart | None = None
    """What stands before papers, and before manuscripts where they are compared as papers."""
    separator: TextPart = ". "
    """What stands between title and abstract; SPECTER reads ``[SEP]``."""
    normalize: bool = False
    """Compare vectors by their cosine where the folder says dot product or a distance; else such a folder is refused.
    Vectors are unit vectors in any case."""


def save_sentence_encoder(folder: Path, recipe: SentenceRecipe, meta: dict[str, Any]) -> None:
    """Copy a public encoder's weights and tokenizer into an artifact, so that the model folder needs nothing else.

    Raises:
        CociteError: as :func:`cocite.nn.pretrained_transformers.load`.
        InputError: the encoder reads fewer tokens than it is to be given.
    """
    # A name is looked up by its weights first, whose loader explains best what a hub lacks.
    found = None if Path(recipe.encoder).is_dir() else trunks.load(recipe.encoder)
    said = read_folder(recipe.encoder)
    if found is None:
        found = trunks.load(str(Path(recipe.encoder, said.transformer if said else "")))
    settings = _settings(recipe, said, found)
    with publish(folder, kind=KIND, meta=meta, replace=True) as temporary:
        found.trunk.config.save_pretrained(temporary)
        found.tokenizer.save_pretrained(temporary)
        weights = {name: value.contiguous() for name, value in found.trunk.state_dict().items()}
        save_file(weights, temporary / WEIGHTS, {"format": "pt"})
        (temporary / SETTINGS).write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _settings(
    recipe: SentenceRecipe, said: FolderSettings | None, found: trunks.Pretrained
) -> SentenceSettings:
    """What the recipe says, else the folder, else the defaults; refuses what would give other vectors."""
    limit = getattr(found.trunk.config, "max_position_embeddings", None) or MAX_TOKENS
    tokens = recipe.max_tokens
    if tokens is None and said is not None:
        tokens = min(said.max_tokens or found.tokenizer.model_max_length, limit, MAX_TOKENS)
    elif tokens is None:
        tokens = min(SentenceSettings().max_tokens, limit)
    elif tokens > limit:
        raise InputError(f"max_tokens = {tokens}, and the encoder reads {limit}", where=recipe.encoder)
    values: dict[str, Any] = {"max_tokens": tokens, "separator": recipe.separator}
    for name in ("pooling", "query_prompt", "document_prompt"):
        given = getattr(recipe, name)
        if given is not None or said is not None:
            values[name] = getattr(said, name) if given is None else given
    if said is not None:
        values["lower_case"] = said.lower_case
        scaled = said.similarity in ("dot", "euclidean") and not said.normalize
        if (scaled or said.similarity == "manhattan") and not recipe.normalize:
            raise InputError(
                f"compares vectors by {said.similarity}, and an index compares unit vectors by their cosine",
                where=recipe.encoder,
                hint="pass normalize=true to compare them by cosine all the same",
            )
        if not said.include_prompt and (values["query_prompt"] or values["document_prompt"]):
            raise InputError(
                "its module Pooling leaves out the tokens of prompts, which is not supported",
                where=recipe.encoder,
                hint='pass query_prompt="" and document_prompt="" to do without prompts',
            )
    return SentenceSettings.parse(values, where=recipe.encoder)
