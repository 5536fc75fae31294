"""What each tool takes, with its limits: the JSON schemas that agents read are made of these classes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from cocite.config import Settings
from cocite_serve.http.query_fields import KEY_FORMS, STYLE_NAMES, TAKEN_KEYS, CiteKey, KeyForm, StyleName
from cocite_serve.settings import Limits

LIMITS = Limits()
MAX_PAPERS = 50
"""Papers of one answer: an agent reads all of them."""
MAX_PAPERS_OF_GAP = 10
"""Papers for each gap of a draft."""
MAX_GAPS = 20
"""Gaps of one draft that are filled at a time; each is a query of its own."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=512)]
"""An id of a paper, as an import takes it."""
Title = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LIMITS.title_chars)]
Abstract = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LIMITS.abstract_chars)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LIMITS.text_chars)]
Year = Annotated[int, Field(ge=1000, le=2999)]
EXCLUDE = "Papers not to recommend: ids of the corpus, DOIs, ids of arXiv, ACL, Semantic Scholar or OpenAlex."
"""What the fields ``exclude`` hold."""
Excluded = Annotated[list[Id], Field(max_length=LIMITS.exclude)]
Seeds = Annotated[list[Id], Field(max_length=LIMITS.seeds)]


class ManuscriptArguments(Settings):
    """What is known of a manuscript.

    Example:
        >>> ManuscriptArguments.parse({"title": " On BLEU ", "year": 2015}, where="recommend").title
        'On BLEU'
        >>> ManuscriptArguments.parse({"titel": "On BLEU"}, where="recommend")
        Traceback (most recent call last):
        cocite.errors.ConfigError: recommend: unknown key 'titel' (did you mean 'title'?)
    """

    text: Text = Field(
        default="",
        description="Text of the manuscript, each missing citation marked [CIT]. Without a [CIT] it is read as a title "
        "(its first line, when short) and an abstract.",
    )
    title: Title = Field(default="", description="Title of the manuscript.")
    abstract: Abstract = Field(default="", description="Abstract of the manuscript.")
    year: Year | None = Field(
        default=None, description="Year of the manuscript: later papers are not recommended to it."
    )


class SteeredArguments(ManuscriptArguments):
    """What is known of a manuscript, and the papers that steer its lists.

    Example:
        >>> SteeredArguments(title="On BLEU", like=["P02-1040"]).dislike
        []
    """

    like: Seeds = Field(
        default=[],
        description="Papers whose like is wanted, by ids of the index, DOIs, arXiv numbers, or ids of the ACL "
        "Anthology or of Semantic Scholar: papers linked with them or like them come first. They are not recommended "
        "themselves.",
    )
    dislike: Seeds = Field(
        default=[],
        description="Papers whose like is not wanted, named as in like: they are not recommended, and papers close to "
        "them come later.",
    )


class RecommendArguments(SteeredArguments):
    """What the tool ``recommend`` takes; with papers in ``like`` it needs no text.

    Example:
        >>> RecommendArguments(text="Quality is measured by BLEU [CIT].").top_k
        10
    """

    gap: int = Field(
        default=0, ge=0, le=LIMITS.text_chars, description="Which [CIT] of the text to fill; 0 is the first."
    )
    top_k: int = Field(default=10, ge=1, le=MAX_PAPERS, description="Papers to return.")
    year_from: Year | None = Field(default=None, description="Only papers of this year or later.")
    year_to: Year | None = Field(default=None, description="Only papers of this year or earlier.")
    exclude: Excluded = Field(default=[], description=EXCLUDE)
    abstracts: bool = Field(default=False, description="Whether to return the papers' abstracts.")


class FillGapsArguments(SteeredArguments):
    """What the tool ``fill_gaps`` takes.

    Example:
        >>> FillGapsArguments(text="Attention [CIT] is measured by BLEU [CIT].").top_k
        3
    """

    text: Text = Field(
        min_length=1,
        description=f"The draft, with one to {MAX_GAPS} missing citations marked [CIT]; with `suggest` it needs none.",
    )
    suggest: int = Field(
        default=0,
        ge=0,
        le=MAX_GAPS,
        description="Sentences that cite nothing and seem to need a citation, at most, each with papers. Only a model "
        "with a classifier of such sentences has them.",
    )
    top_k: int = Field(default=3, ge=1, le=MAX_PAPERS_OF_GAP, description="Papers for each gap.")
    exclude: Excluded = Field(default=[], description=EXCLUDE)


class ExplainArguments(ManuscriptArguments):
    """What the tool ``explain`` takes.

    Example:
        >>> ExplainArguments(id="papineni2002bleu", title="On the quality of translations").gap
        0
    """

    id: Id = Field(description="Id of the paper, as `recommend` gives it.")
    gap: int = Field(
        default=0, ge=0, le=LIMITS.text_chars, description="Which [CIT] of the text; 0 is the first."
    )


class BibtexArguments(Settings):
    """What the tool ``get_bibtex`` takes.

    Example:
        >>> BibtexArguments.parse({"ids": []}, where="get_bibtex")
        Traceback (most recent call last):
        cocite.errors.ConfigError: get_bibtex: ids: list should have at least 1 item after validation, not 0, got []
    """

    ids: Annotated[list[Id], Field(min_length=1, max_length=LIMITS.papers)] = Field(
        description="Ids of papers, as `recommend` gives them."
    )
    cite_keys: KeyForm = Field(default="cocite", description=f"Form of keys: {KEY_FORMS}")
    taken: Annotated[list[CiteKey], Field(max_length=LIMITS.exclude)] = Field(
        default=[], description=TAKEN_KEYS
    )
    style: StyleName | None = Field(
        default=None,
        description=f"Style in which each reference is given as text, too: {STYLE_NAMES} Default: none.",
    )
