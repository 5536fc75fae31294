"""The initial weights of MP-BERT4CR: those of a pretrained encoder, and word vectors trained on the corpus."""

from __future__ import annotations

from pathlib import Path

import torch

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, NotFoundError
from cocite.systems.mp_bert4cr.network import MpBert4cr
from cocite.systems.mp_bert4cr.pretraining.network import load_pretrained
from cocite.systems.mp_bert4cr.recipe import NONE, MpBert4crRecipe
from cocite.systems.mp_bert4cr.sentence_vectors import standardise
from cocite.systems.mp_bert4cr.token_vectors import token_vectors
from cocite.systems.mp_bert4cr.token_weights import token_weights
from cocite.text.sentence_texts import SentenceTexts


def initialise(
    model: MpBert4cr, recipe: MpBert4crRecipe, model_folder: Path, corpus: Corpus, texts: SentenceTexts
) -> None:
    """Set the weights that a recipe names, in place; without any, the model keeps those of its seed.

    Args:
        model: both encoders.
        recipe: names the pretrained weights and the word vectors.
        model_folder: has the pretrained weights, the word vectors and the weights of words.
        corpus: that is trained on.
        texts: of the corpus.

    Raises:
        NotFoundError: there are no such pretrained weights, word vectors or weights of words.
        ConfigError: the pretrained weights are of another shape or vocabulary.
        InputError: word vectors or weights of words are of another corpus or other settings.
    """
    if recipe.pretrained != NONE:
        _copy_pretrained(model, recipe, model_folder, texts)
    elif recipe.token_vectors is not None:
        vectors = token_vectors(model_folder, corpus, recipe.token_vectors, len(texts.tokenizer))
        model.mix_in_words(torch.tensor(vectors))
    if recipe.token_weights is not None:
        weights = token_weights(model_folder, corpus, recipe.token_weights, len(texts.tokenizer))
        model.scale_words(torch.tensor(weights))
    for encoder in (model.manuscript, model.citation):
        standardise(encoder, texts)
        # A parameter without a gradient would be waited for by workers that exchange gradients.
        encoder.words.weight.requires_grad_(recipe.words.trained and model.settings.reads != "trunk")


def _copy_pretrained(
    model: MpBert4cr, recipe: MpBert4crRecipe, model_folder: Path, texts: SentenceTexts
) -> None:
    """Copy pretrained weights into both encoders.

    ``recipe.pretrained`` is the name of an artifact of the model folder or, where there is none, a path.
    """
    pretrained = recipe.pretrained
    artifact = Path(model_folder) / pretrained
    folder = artifact if artifact.is_dir() else Path(pretrained)
    if not folder.is_dir():
        raise NotFoundError(
            f"there are no pretrained weights {pretrained!r} in the model folder, nor a folder of that path",
            where="pretrained",
            hint="train them first (cocite train mp-bert4cr-pretraining), or set pretrained=none",
        )
    encoder, tokenizer = load_pretrained(folder)
    if tokenizer.get_vocab() != texts.tokenizer.get_vocab():
        raise ConfigError(
            "the pretrained weights are of another vocabulary than the sentences to train on",
            where=str(folder),
            hint="give both recipes the same `texts`, and pretrain again",
        )
    ours, theirs = model.settings, encoder.settings
    free = {"dropout", "attention_dropout"}  # they change no weight's shape
    for name in type(theirs).model_fields:
        if name not in free and getattr(ours, name) != getattr(theirs, name):
            raise ConfigError(
                f"model.{name} is {getattr(ours, name)}, and {getattr(theirs, name)} in the pretrained weights",
                where=str(folder),
                hint=f"set model.{name} to the same in both recipes",
            )
    model.copy_weights(encoder, branches=recipe.pretrained_branches)
