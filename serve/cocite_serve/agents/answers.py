"""What each tool gives: the structured content of its answer."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from cocite_serve.http.schemas import EvidenceOut, SuggestionQuality

NOTE: str = Field(
    default="",
    description="A sentence where the text is unlike the papers of the corpus, or no paper is probable; empty "
    "otherwise.",
)
UNLIKE_CORPUS: bool = Field(
    default=False,
    description="Whether the text may be of another field or language than the corpus; false where the index does "
    "not know.",
)


class Paper(BaseModel):
    """A paper of the corpus.

    Example:
        >>> Paper(id="P02-1040", title="BLEU", year=2002, in_citations=9).authors
        []
    """

    id: str
    title: str
    authors: list[str] = []
    year: int | None = Field(default=None, description="Null when the corpus does not know it.")
    venue: str = ""
    doi: str = ""
    in_citations: int = Field(description="Papers of the corpus that cite this one.")


class RankedPaper(Paper):
    """A recommended paper and why it is one.

    Example:
        >>> RankedPaper(id="P02-1040", title="BLEU", in_citations=9, rank=1, score=3.5, evidence=EvidenceOut()).rank
        1
    """

    rank: int = Field(description="1 is the best.")
    score: float = Field(description="Comparable within one list only.")
    confidence: float | None = Field(
        default=None,
        description="Probability, from 0 to 1, that it should be cited; null where it is not known.",
    )
    evidence: EvidenceOut
    abstract: str | None = Field(default=None, description="Null unless it was asked for.")


class Answer(BaseModel):
    """What all answers about a manuscript have.

    Example:
        >>> Answer(unknown=["no-such-paper"], model_version="", index_version="000001").unknown
        ['no-such-paper']
    """

    unknown: list[str] = Field(default=[], description="What `exclude` names and the corpus does not have.")
    model_version: str = Field(description="Fingerprint of the model; empty without one.")
    index_version: str


class Recommended(Answer):
    """The answer of ``recommend``.

    Example:
        >>> answer = Recommended(read_as="context", papers=[], model_version="", index_version="000001")
        >>> answer.gaps
        0
    """

    read_as: Literal["context", "title and abstract", "seeds"] = Field(
        description="How the text was understood; `seeds` where papers in `like` were given without one."
    )
    context: str = Field(
        default="", description="The text around the gap that was searched with; the gap reads TARGETCIT."
    )
    gaps: int = Field(default=0, description="How many [CIT] the text holds.")
    note: str = NOTE
    unlike_corpus: bool = UNLIKE_CORPUS
    papers: list[RankedPaper]


class FilledGap(BaseModel):
    """The papers for one gap of a draft.

    Example:
        >>> FilledGap(gap=0, context="measured by BLEU TARGETCIT.", papers=[]).gap
        0
    """

    gap: int = Field(description="Number of the [CIT] in the text, from 0.")
    context: str = Field(description="The text around the gap that was searched with.")
    note: str = NOTE
    unlike_corpus: bool = UNLIKE_CORPUS
    papers: list[RankedPaper]


class SuggestedSentence(BaseModel):
    """A sentence that cites nothing and seems to need a citation, and the papers for it.

    Example:
        >>> SuggestedSentence(sentence="Trees help.", line=3, probability=0.6, context="Trees help.", papers=[]).line
        3
    """

    sentence: str
    line: int = Field(description="Of the text, near which the sentence stands.")
    probability: float = Field(
        description="That a sentence like this one cites, in the papers that the classifier was trained on."
    )
    context: str = Field(description="The text that was searched with.")
    note: str = NOTE
    unlike_corpus: bool = UNLIKE_CORPUS
    papers: list[RankedPaper]


class FilledGaps(Answer):
    """The answer of ``fill_gaps``.

    Example:
        >>> FilledGaps(gaps=[], model_version="", index_version="000001").model_dump()["gaps"]
        []
    """

    gaps: list[FilledGap]
    suggestions: list[SuggestedSentence] = Field(
        default=[],
        description="With `suggest`: sentences that seem to need a citation, in the order of the text.",
    )
    suggestion_quality: SuggestionQuality | None = Field(
        default=None,
        description="How often these are right, to be told to the author; null without `suggest`, or where it is not "
        "known.",
    )


class Explanation(Answer):
    """The answer of ``explain``.

    Example:
        >>> paper = Paper(id="P02-1040", title="BLEU", in_citations=9)
        >>> Explanation(
        ...     paper=paper, rank=None, of=300, evidence=EvidenceOut(), model_version="", index_version="000001"
        ... ).rank is None
        True
    """

    paper: Paper
    rank: int | None = Field(description="Place in the list for this text; null when it is not in it.")
    of: int = Field(description="How many papers that list has.")
    later: bool = Field(
        default=False, description="Whether it is later than the manuscript, and so never recommended to it."
    )
    evidence: EvidenceOut


class CitationKey(BaseModel):
    """The key of a paper in a bibliography.

    Example:
        >>> CitationKey(id="P02-1040", key="papineni2002bleu").key
        'papineni2002bleu'
    """

    id: str
    key: str


class Bibliography(BaseModel):
    r"""The answer of ``get_bibtex``.

    Example:
        >>> Bibliography(bibtex="@misc{a,\n}\n", keys=[CitationKey(id="P02-1040", key="a")]).keys[0].key
        'a'
    """

    bibtex: str
    keys: list[CitationKey] = Field(description="The key of each paper, in the order of the ids.")
    formatted: list[str] = Field(
        default=[], description="With `style`: the reference of each paper, in the order of the ids."
    )
