"""The sentences of a draft that cite nothing and most need a citation, as gaps that papers are found for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cocite.drafts.advice import Adviser, GapAdvice
from cocite.drafts.draft import Draft, Gap, Place, Sentence
from cocite.errors import NotFoundError
from cocite.pipeline.options import Options
from cocite.systems.citing_sentences.classifier import KIND, CitingSentenceClassifier
from cocite.systems.citing_sentences.features import sentences_of
from cocite.text.gap_context import context_of_gap
from cocite.text.gaps import blank_marks

_AROUND = 4
"""Sentences each side that a context is cut from."""
_END = re.compile(r"[.!?:;]['\"”’)\]]*$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A sentence that seems to need a citation.

    Attributes:
        gap: stands at the end of the sentence, which has no mark; its place is the whole sentence.
        probability: that a sentence like this one cites, in the papers that the classifier was trained on.

    Example:
        >>> gap = Gap(Place("", 1, 0, 0), "after", (), -1, "Trees help.", "Trees help TARGETCIT.")
        >>> Suggestion(gap, 0.62).gap.sentence
        'Trees help.'
    """

    gap: Gap
    probability: float


@dataclass(frozen=True, slots=True)
class SuggestedPapers:
    """A sentence that seems to need a citation, and the papers for it, best first.

    Example:
        >>> gap = Gap(Place("", 1, 0, 0), "after", (), -1, "Trees help.", "Trees help TARGETCIT.")
        >>> SuggestedPapers(GapAdvice(1, gap, ()), 0.62).probability
        0.62
        >>> SuggestedPapers(GapAdvice(1, gap, ()), 0.62).heading
        'Suggestion 1, line 1, probability 0.62'
    """

    advice: GapAdvice
    probability: float

    @property
    def heading(self) -> str:
        """The line above it in a report."""
        return f"Suggestion {self.advice.number}, {self.advice.gap.place}, probability {self.probability:.2f}"


def has_classifier(model: Path | None) -> bool:
    """Whether a model folder knows which sentences need a citation."""
    return model is not None and (model / KIND).is_dir()


def load_classifier(model: Path | None) -> CitingSentenceClassifier:
    """The classifier of a model folder.

    Raises:
        NotFoundError: there is none.
        CociteError: it is damaged.
    """
    if model is None or not has_classifier(model):
        where = "--suggest" if model is None else str(model)
        raise NotFoundError(
            "there is no model that knows which sentences need a citation",
            where=where,
            hint=f"cocite train {KIND} --corpus CORPUS --to MODEL, then recommend with --model MODEL",
        )
    return CitingSentenceClassifier.load(model / KIND)


def suggestions(draft: Draft, classifier: CitingSentenceClassifier, most: int) -> list[Suggestion]:
    """The sentences that most need a citation, in the order of the text; none of them cites or has a gap.

    Only sentences at or above the classifier's threshold are suggested. The abstract is left out: it seldom cites.

    Args:
        draft: the draft.
        classifier: of sentences that need a citation.
        most: sentences at most, those of the highest probability.
    """
    sentences = [sentence for sentence in draft.sentences if not sentence.is_abstract]
    headings = ["" if one.section < 0 else draft.sections[one.section].title for one in sentences]
    found = sentences_of([one.text for one in sentences], headings)
    probabilities = classifier.probabilities([found])
    open_ = np.array([not one.cites for one in found], bool)
    fit = np.flatnonzero(open_ & (probabilities >= classifier.settings.threshold))
    chosen = np.sort(fit[np.argsort(-probabilities[fit], kind="stable")][:most])
    numbers = [found[at].number for at in chosen.tolist()]
    return [
        Suggestion(_gap(draft, sentences, number), float(probabilities[at]))
        for at, number in zip(chosen.tolist(), numbers, strict=True)
    ]


def papers_of(
    adviser: Adviser, suggested: Sequence[Suggestion], options: Options
) -> Iterator[SuggestedPapers]:
    """The papers for each suggestion, ranked as those for a gap are."""
    draft = replace(adviser.draft, gaps=tuple(one.gap for one in suggested))
    # All but the gaps stays: what the draft cites, its year, its authors, and what is liked and disliked.
    other = Adviser(
        adviser.recommender,
        draft,
        adviser.bibliography,
        year=adviser.year,
        authors=adviser.authors,
        like=adviser.like,
        dislike=adviser.dislike,
    )
    for one, advice in zip(suggested, other.gaps(options), strict=True):
        yield SuggestedPapers(advice, one.probability)


def _gap(draft: Draft, sentences: Sequence[Sentence], at: int) -> Gap:
    """A gap at the end of a sentence, before the mark that ends it."""
    own = sentences[at]
    within = [number for number in range(at - _AROUND, at + _AROUND + 1) if 0 <= number < len(sentences)]
    near = [number for number in within if sentences[number].section == own.section]
    before = " ".join(sentences[number].text for number in near if number < at)
    behind = " ".join(sentences[number].text for number in near if number > at)
    end = _END.search(own.text)
    cut = end.start() if end else len(own.text)
    context = context_of_gap(
        blank_marks(f"{before} {own.text[:cut]}"), blank_marks(f"{own.text[cut:]} {behind}")
    )
    place = own.place or Place(draft.file, own.line, 0, 0)
    return Gap(place, "after", (), own.section, own.text, context)
