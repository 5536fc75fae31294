"""The kinds of recipes that can be trained, and for each the functions that train it.

Classes and functions are named by strings, ``module:name``, and imported when they are used: a command that trains a
fusion need not wait until torch is imported.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from cocite.config import Settings


def load_object(reference: str) -> Any:
    """Import a class or a function by its name.

    Args:
        reference: ``module:name``.

    Example:
        >>> load_object("pathlib:PurePosixPath")("model", "nnselect")
        PurePosixPath('model/nnselect')
    """
    module, name = reference.split(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class PreparedInput:
    """An artifact that a kind is trained on besides the corpus, made before any worker starts.

    Attributes:
        section: of the recipe, or property of it, which holds the artifact's settings; None where none is needed.
        artifact: its name in the model folder.
        maker: ``module:function`` that makes it: ``(settings, corpus, folder, *, stage, advance)``.
        made_of: artifacts that lie beside the folder when it is made: earlier inputs of the kind.
        in_parts: ``module:function`` that makes it by tasks of Ray, where its settings name an ``index``, which the
            tasks share: it also takes ``source``, ``root`` and ``workers``
            (:func:`cocite_jobs.steps.mining.mine.mine_in_parts`).
        divided_if: ``module:function`` that says whether they can, where encoders of the model folder make it:
            ``(settings, a folder with the encoders' manifests)``.

    Example:
        >>> [needed.artifact for needed in KINDS["hatten"].inputs]
        ['hatten-texts', 'word-vectors']
    """

    section: str
    artifact: str
    maker: str
    made_of: tuple[str, ...] = ()
    in_parts: str | None = None
    divided_if: str | None = None


@dataclass(frozen=True)
class RecipeKind:
    """One kind of recipe: its settings, and either the task that the training engine trains, or a trainer of its own.

    Attributes:
        recipe: ``module:Class`` of its settings. The recipe of a kind with a ``task`` has the sections ``training`` and
            ``workers`` (:mod:`cocite.training.engine.settings`).
        task: ``module:function`` that builds the task for the training engine: ``(recipe, corpus, model folder)``. The
            engine trains it on Ray's workers, or in this process.
        trainer: ``module:function`` that trains in this process, without the engine: an
            :class:`~cocite_jobs.training.types.InProcessTrainer`.
        inputs: what must be made before workers start, in this order.
        trained_on: artifacts that must be in the model folder before a training starts.
        after: ``module:function`` that the driver calls when a ``task`` has been trained, before the artifact is
            published: ``(recipe, corpus, model folder, artifact folder, stage)``. It returns the entries to add to
            ``meta`` of the artifact's manifest.
        metrics: names of its dev metrics; empty where they depend on the recipe.
        searches: whether its ``trainer`` searches the recipe's ``index``, and takes a ``place``, a
            :class:`~cocite_jobs.retrieval.opened_index.SearchPlace`, so that ``--on ray`` searches shards by actors.

    Raises:
        ValueError: it has both a ``task`` and a ``trainer``, or neither.

    Example:
        >>> KINDS["hatten"].uses_engine, KINDS["fusion"].uses_engine
        (True, False)
        >>> KINDS["fusion"].recipe_class().__name__
        'FusionRecipe'
    """

    recipe: str
    task: str | None = None
    trainer: str | None = None
    inputs: tuple[PreparedInput, ...] = ()
    trained_on: tuple[str, ...] = ()
    after: str | None = None
    metrics: tuple[str, ...] = ()
    searches: bool = False

    def __post_init__(self) -> None:
        if (self.task is None) == (self.trainer is None):
            raise ValueError(f"{self.recipe}: a kind has either a task or a trainer")

    @property
    def uses_engine(self) -> bool:
        """Whether the training engine trains it, on workers or in this process."""
        return self.task is not None

    def recipe_class(self) -> type[Settings]:
        """The class of its settings."""
        return load_object(self.recipe)  # type: ignore[no-any-return]


_CITEOMATIC = ("P@20", "R@20", "F1@20", "MRR", "recall")
_MASKED = ("accuracy", "dev loss")
_WORDS = (PreparedInput("words", "paper-words", "cocite.systems.citeomatic.paper_words:prepare"),)
_SENTENCES = (
    PreparedInput("texts", "sentence-texts", "cocite.systems.mp_bert4cr.sentence_texts:prepare"),
    PreparedInput(
        "token_vectors",
        "token-vectors",
        "cocite.systems.mp_bert4cr.token_vectors:prepare",
        made_of=("sentence-texts",),
    ),
    PreparedInput(
        "token_weights",
        "token-weights",
        "cocite.systems.mp_bert4cr.token_weights:prepare",
        made_of=("sentence-texts",),
    ),
    PreparedInput(
        "sentence_vectors",
        "sentence-vectors",
        "cocite.systems.mp_bert4cr.sentence_vectors:prepare",
        made_of=("sentence-texts",),
    ),
)
KINDS: dict[str, RecipeKind] = {
    "nnselect": RecipeKind(
        "cocite.systems.citeomatic.nnselect.recipe:NNSelectRecipe",
        task="cocite.systems.citeomatic.nnselect.task:build",
        inputs=_WORDS,
        metrics=_CITEOMATIC,
    ),
    "nnrank": RecipeKind(
        "cocite.systems.citeomatic.nnrank.recipe:NNRankRecipe",
        task="cocite.systems.citeomatic.nnrank.task:build",
        inputs=_WORDS,
        trained_on=("nnselect",),
        after="cocite.pipeline.nnrank_comparison:nnrank_record",
        metrics=_CITEOMATIC,
    ),
    "sentence": RecipeKind(
        "cocite.systems.sentence_encoder.recipe:SentenceRecipe",
        trainer="cocite_jobs.training.sentence:train_sentence",
    ),
    "fusion": RecipeKind(
        "cocite.systems.learned_fusion.recipe:FusionRecipe",
        trainer="cocite_jobs.training.fusion:train_fusion",
        searches=True,
    ),
    "final": RecipeKind(
        "cocite.systems.learned_fusion.recipe:FinalRecipe",
        trainer="cocite_jobs.training.fusion:train_final",
        searches=True,
    ),
    "confidence": RecipeKind(
        "cocite.systems.confidence.recipe:ConfidenceRecipe",
        trainer="cocite_jobs.training.confidence:train_confidence",
    ),
    "citing-sentences": RecipeKind(
        "cocite.systems.citing_sentences.recipe:CitingSentencesRecipe",
        trainer="cocite_jobs.training.citing_sentences:train_citing_sentences",
    ),
    "hatten": RecipeKind(
        "cocite.systems.hatten.recipe:HattenRecipe",
        task="cocite.systems.hatten.task:build",
        inputs=(
            PreparedInput("texts", "hatten-texts", "cocite.systems.hatten.texts:prepare"),
            PreparedInput(
                "word_vectors",
                "word-vectors",
                "cocite.systems.hatten.initial_vectors:prepare",
                made_of=("hatten-texts",),
            ),
        ),
        metrics=("MRR", "R@10", "R@100", "R@1000"),
    ),
    "cross-encoder": RecipeKind(
        "cocite.systems.cross_encoder.recipe:CrossEncoderRecipe",
        task="cocite.systems.cross_encoder.task:build",
        inputs=(
            PreparedInput(
                "candidates",
                "candidates",
                "cocite.pipeline.candidate_files:prepare",
                in_parts="cocite_jobs.steps.mining.mine:mine_in_parts",
                divided_if="cocite_jobs.steps.mining.mine:are_vectors_there",
            ),
            PreparedInput(
                "tokens",
                "pair-tokens",
                "cocite.systems.cross_encoder.pair_tokens:prepare",
                made_of=("candidates",),
            ),
        ),
        metrics=("F1@20", "MRR", "R@10", "retriever F1@20", "retriever MRR", "retriever R@10"),
    ),
    "bi-encoder": RecipeKind(
        "cocite.systems.bi_encoder.recipe:BiEncoderRecipe",
        task="cocite.systems.bi_encoder.task:build",
        inputs=(PreparedInput("tokens", "citation-tokens", "cocite.systems.bi_encoder.citations:prepare"),),
        metrics=("MRR", "R@10", "R@100"),
    ),
    "masked-lm": RecipeKind(
        "cocite.systems.masked_lm.recipe:MaskedLanguageModelRecipe",
        task="cocite.systems.masked_lm.task:build",
        inputs=(PreparedInput("texts", "pretraining-texts", "cocite.systems.masked_lm.texts:prepare"),),
        metrics=_MASKED,
    ),
    "mp-bert4cr-pretraining": RecipeKind(
        "cocite.systems.mp_bert4cr.pretraining.recipe:HierarchicalPretrainingRecipe",
        task="cocite.systems.mp_bert4cr.pretraining.task:build",
        inputs=_SENTENCES,
        metrics=_MASKED,
    ),
    "mp-bert4cr": RecipeKind(
        "cocite.systems.mp_bert4cr.recipe:MpBert4crRecipe",
        task="cocite.systems.mp_bert4cr.task:build",
        inputs=(
            *_SENTENCES,
            PreparedInput(
                "citations",
                "citations",
                "cocite.systems.mp_bert4cr.citations:prepare",
                made_of=("sentence-texts",),
            ),
        ),
        metrics=("R@10", "MAP@10", "R@10 of several"),
    ),
}
"""Kind -> how it is trained. A kind's name is also the name of the artifact in the model folder."""
