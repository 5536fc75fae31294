"""MP-BERT4CR as a kind of training: its recipe, and the task that a recipe makes."""

from __future__ import annotations

from pathlib import Path

import torch

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, NotFoundError
from cocite.systems.mp_bert4cr import sentence_texts
from cocite.systems.mp_bert4cr.network import MpBert4cr
from cocite.systems.mp_bert4cr.pretraining.network import load_pretrained
from cocite.systems.mp_bert4cr.recipe import NONE, MpBert4crRecipe
from cocite.systems.mp_bert4cr.task import MpBert4crTask, SharedNegativesTask
from cocite.systems.mp_bert4cr.token_vectors import inverse_document_frequency, token_vectors
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.periods import Periods

__all__ = ["MpBert4crRecipe", "build"]


def build(recipe: MpBert4crRecipe, corpus: Corpus, model_folder: Path) -> MpBert4crTask:
    """The task of a recipe, on the sentences of the model folder.

    Raises:
        NotFoundError: the model folder holds no sentences, or there are no such pretrained weights.
        ConfigError: the pretrained weights are of another shape or vocabulary.
        InputError: there is nothing to train or to tune on.
    """
    texts = sentences_of(corpus, model_folder)
    periods = Periods.of(corpus, recipe.texts.period, all_dev=True)
    kind = SharedNegativesTask if recipe.negatives.shared else MpBert4crTask
    task = kind(recipe, periods, texts)
    if recipe.pretrained != NONE:
        begin(task.model, recipe, model_folder, texts)
    elif recipe.words.source == "corpus":
        vectors = token_vectors(recipe.words, periods.history, texts, recipe.model.hidden, Path(model_folder))
        task.model.start_words(torch.from_numpy(vectors))
    if recipe.words.idf:
        task.model.weigh(torch.from_numpy(inverse_document_frequency(texts)))
    for words in (task.model.manuscript.words, task.model.citation.words):
        words.weight.requires_grad_(recipe.words.trained)
    return task


def sentences_of(corpus: Corpus, model_folder: Path) -> SentenceTexts:
    """The sentences that a model folder keeps of a corpus.

    Raises:
        NotFoundError: it keeps none.
    """
    folder = Path(model_folder) / sentence_texts.KIND
    if not folder.is_dir():
        raise NotFoundError(
            "holds no sentences to train on",
            where=str(model_folder),
            hint="train with `cocite train`, which makes them",
        )
    return sentence_texts.load(folder, corpus)


def begin(model: MpBert4cr, recipe: MpBert4crRecipe, model_folder: Path, texts: SentenceTexts) -> None:
    """Give both encoders pretrained weights.

    Args:
        model: the encoders.
        recipe: names the weights: by an artifact of the model folder, or a path.
        model_folder: where they are looked for first.
        texts: what is trained on.

    Raises:
        NotFoundError: it is neither.
        ConfigError: its shape or vocabulary is another one than is trained here.
    """
    pretrained = recipe.pretrained
    named = Path(model_folder) / pretrained
    folder = named if named.is_dir() else Path(pretrained)
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
    free = {"dropout", "attention_dropout"}
    for name in type(theirs).model_fields:
        if name not in free and getattr(ours, name) != getattr(theirs, name):
            raise ConfigError(
                f"model.{name} is {getattr(ours, name)}, and {getattr(theirs, name)} in the pretrained weights",
                where=str(folder),
                hint=f"set model.{name} to the same in both recipes",
            )
    model.begin_with(encoder, branches=recipe.pretrained_branches)
