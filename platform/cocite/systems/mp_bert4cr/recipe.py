"""All settings of an MP-BERT4CR training."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from cocite.bounds import (
    EpochsOrNone,
    Factor,
    Location,
    PositiveShare,
    Power,
    SmallCount,
    TextLengthOrNone,
    Total,
)
from cocite.config import Settings
from cocite.sampling.noise import POWER, Count
from cocite.systems.mp_bert4cr.citations import CitationSettings
from cocite.systems.mp_bert4cr.cocitations import Source
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.losses import FormName
from cocite.systems.mp_bert4cr.network import MpBert4crModelSettings
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings
from cocite.systems.mp_bert4cr.sentence_vectors import SentenceVectorSettings
from cocite.systems.mp_bert4cr.token_vectors import InitialTokenVectorSettings, TokenVectorSettings
from cocite.systems.mp_bert4cr.token_weights import TokenWeightSettings
from cocite.training.engine.settings import TrainingSettings, WorkerSettings

NONE = "none"
"""The value of ``pretrained`` for no pretrained weights."""


class PositiveSettings(Settings):
    """Further positives of a target (section 4.1.3).

    Example:
        >>> PositiveSettings(count=5, source="both").power
        0.75
    """

    count: SmallCount = 3
    """n."""
    power: Power = POWER
    """Power of the co-citation frequencies (Eq. 1)."""
    source: Source = "history"
    """The set they are drawn from; see :class:`~cocite.systems.mp_bert4cr.cocitations.CocitationSampler`."""
    single: bool = False
    """Whether a context that cites one paper has further positives too."""


class NegativeSettings(Settings):
    """Papers that a context does not cite (section 4.1.4).

    Example:
        >>> NegativeSettings(shared=True, count=0).correction
        0.0
        >>> NegativeSettings.parse({"count": 0})
        Traceback (most recent call last):
        cocite.errors.ConfigError: count is 0 and shared is false: there would be no negatives
    """

    count: SmallCount = 4
    """m, drawn for each example."""
    power: Power = POWER
    """Power of the citation counts (Eq. 2)."""
    counted: Count = "papers"
    """What Eq. 2 counts: ``occurrences`` of a paper as a citation, as in the paper, or ``papers`` that cite it."""
    spare_manuscript: bool = True
    """Whether all that the manuscript cites is spared, and not only what the context cites and the positives drawn. In
    the paper a citation elsewhere in the manuscript may be a negative."""
    shared: bool = False
    """Whether all papers of a step are negatives of each of its contexts, except those that the context or its paper
    cites, and its positives. In the paper each context has only its own."""
    correction: Power = 0.0
    """Power of how often a paper is a target, by which a shared negative's weight is divided. Much-cited papers are
    often negatives of other contexts, which lowers their scores: at 0 fully, at 1 not at all."""

    @model_validator(mode="after")
    def _some(self) -> NegativeSettings:
        if not (self.count or self.shared):
            raise ValueError("count is 0 and shared is false: there would be no negatives")
        if self.correction and not self.shared:
            raise ValueError("correction is for shared negatives")
        return self


class MpBert4crObjectiveSettings(Settings):
    """The loss.

    Example:
        >>> MpBert4crObjectiveSettings(loss="mpt-src", form="hinge").margin
        1.0
    """

    loss: Literal["triplet", "mpt-tgt", "mpt-src", "mpt-src-tgt"] = "mpt-src-tgt"
    """``triplet``: Eq. 3, which ignores further positives; the others: Eq. 4, 5 and 6. With ``positives.count: 0``
    all but the form is the same in Eq. 3, 5 and 6."""
    form: FormName = "published"
    """``hinge``: the mean of hinges, as Eq. 3 has it; ``log-sum-exp``: as Eq. 4 to 6 have it; ``published``: the
    equation's own. Form and ``positives.count`` are set apart, so that the effect of each is measured alone."""
    margin: Factor = 1.0
    """epsilon of hinges."""


class MpBert4crRecipe(Settings):
    """All settings of an MP-BERT4CR training.

    Example:
        >>> recipe = MpBert4crRecipe.parse({"objective": {"loss": "triplet"}, "model": {"hidden": 192, "heads": 4}})
        >>> recipe.positives.count, recipe.drawn_positives  # the triplet loss needs no further positives
        (3, 0)
    """

    kind: Literal["mp-bert4cr"] = "mp-bert4cr"
    pretrained: Location = NONE
    """Initial weights of both encoders: the name of an artifact of the model folder, or a path; ``none``: random."""
    pretrained_branches: PositiveShare = 1.0
    """Factor of the pretrained layers' output at the beginning; below 1 the positions are reset too: documents then
    begin near the means of their words, whose cosines are meaningful (``model.norm: pre``)."""
    words: TokenVectorSettings = TokenVectorSettings()
    """Initial word vectors. Pretrained weights have vectors of their own; ``idf`` applies to those too."""
    bag_epochs: EpochsOrNone = 0
    """Epochs at the beginning in which all layers are left out, and only words and the weights of positions are
    trained: several times as fast. For models that begin as a mean of word vectors (``model.norm: pre``).
    """
    texts: SentenceTextSettings = SentenceTextSettings()
    contexts: DynamicContextSettings = DynamicContextSettings()
    """Sentences that are read of a manuscript and of a paper."""
    dev_contexts: Total = 1000
    """Most contexts of the dev papers that are dev queries, drawn evenly."""
    dev_body: TextLengthOrNone | None = None
    """Most sentences of a paper's body that are read for the dev metric, which needs the vectors of all papers. Unset:
    as many as in training and in use (``contexts.body``)."""
    model: MpBert4crModelSettings = MpBert4crModelSettings()
    positives: PositiveSettings = PositiveSettings()
    negatives: NegativeSettings = NegativeSettings()
    objective: MpBert4crObjectiveSettings = MpBert4crObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()

    @property
    def drawn_positives(self) -> int:
        """Further positives that an example draws: 0 where its loss ignores them."""
        return 0 if self.objective.loss == "triplet" else self.positives.count

    @property
    def citations(self) -> CitationSettings:
        """What determines the examples, and what is drawn for them."""
        return CitationSettings(
            texts=self.texts,
            contexts=self.contexts,
            dev_contexts=self.dev_contexts,
            positive_power=self.positives.power,
            negative_power=self.negatives.power,
            counted=self.negatives.counted,
            drawn=self.drawn_positives + self.negatives.count,
        )

    @property
    def token_vectors(self) -> InitialTokenVectorSettings | None:
        """What determines the initial vectors of word pieces; None where they are random or pretrained."""
        return (
            InitialTokenVectorSettings.of(self.texts, self.words, self.model.hidden)
            if self.pretrained == NONE
            else None
        )

    @property
    def token_weights(self) -> TokenWeightSettings | None:
        """What determines the weights of word pieces; None where they have none."""
        return TokenWeightSettings(texts=self.texts) if self.words.idf else None

    @property
    def sentence_vectors(self) -> SentenceVectorSettings | None:
        """What determines the vectors of sentences by a frozen trunk; None where none are read."""
        if not self.texts.trunk.is_there or self.model.reads == "words":
            return None
        return SentenceVectorSettings.of(self.texts, self.contexts, self.dev_contexts)

    @model_validator(mode="after")
    def _fitting(self) -> MpBert4crRecipe:
        if self.model.reads == "trunk" and not self.texts.trunk.is_there:
            raise ValueError("model.reads is trunk, and there is none (texts.trunk.encoder)")
        if self.contexts.near and self.sentence_vectors is not None:
            raise ValueError("contexts.near is for models that read no trunk: set model.reads to words")
        if self.texts.sentence_tokens > self.model.sentence_tokens:
            raise ValueError(
                f"texts.sentence_tokens is {self.texts.sentence_tokens}, and the model reads "
                f"{self.model.sentence_tokens} (model.sentence_tokens)"
            )
        if self.bag_epochs and self.model.norm != "pre":
            raise ValueError("bag_epochs is for a model with norm: pre: set it to 0")
        if self.pretrained_branches < 1 and self.model.norm != "pre":
            raise ValueError("pretrained_branches is for a model with norm: pre: set it to 1")
        c = self.contexts
        most = max(bool(c.near) + c.manuscript_abstract + c.earlier + 2 * c.around + 1, c.abstract + c.body)
        if most > self.model.sentences:
            raise ValueError(
                f"contexts asks for documents of {most} sentences, and the model reads {self.model.sentences} "
                "(model.sentences)"
            )
        return self
