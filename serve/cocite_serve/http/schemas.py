"""Requests and responses of the HTTP API, as its documentation shows them.

Only shape and meaning stand here; how long a field may be is a setting of the endpoint
(:class:`~cocite_serve.settings.Limits`) and is checked by the gateway, so that the message can name the limit in force.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cocite.pipeline.evidence import MAX_AUTHORS
from cocite_serve.http.option_fields import RecommendOptions
from cocite_serve.http.query_fields import GAP_EXAMPLE, QueryText

ReleaseName = Literal["served", "beside", "interleaved"]


class RecommendRequest(RecommendOptions, QueryText):
    """What recommendations are asked for: a title and abstract, a text with a gap, both, or papers that are liked.\f

    Example:
        >>> request = RecommendRequest(context="Quality is measured by BLEU [CIT].", K=100)
        >>> request.depth, request.candidates
        (100, 'older')
        >>> request = RecommendRequest(title="Neural machine translation", year=2015, top_k=5)
        >>> request.model_dump(exclude_defaults=True)
        {'title': 'Neural machine translation', 'year': 2015, 'top_k': 5}
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"context": GAP_EXAMPLE, "top_k": 5},
                {
                    "title": "Recommending citations from the text of a manuscript",
                    "abstract": "We retrieve candidate papers with sparse and dense signals and rerank them.",
                    "top_k": 10,
                    "year_to": 2018,
                },
            ]
        },
    )

    page: str = Field(
        default="",
        max_length=1_000,
        description="`next` of an answer to the same request: returns the papers behind those. All other fields but "
        "`top_k`, `evidence` and `deadline_ms` have to be as they were.",
    )


class SharedWord(BaseModel):
    """A word that the request and the paper share.\f

    Example:
        >>> SharedWord(word="bleu", weight=5.3).model_dump()
        {'word': 'bleu', 'weight': 5.3}
    """

    word: str
    weight: float = Field(description="How much the word says: higher is rarer and more telling.")


class Neighbour(BaseModel):
    """A paper like the manuscript, that cites the recommended one.\f

    Example:
        >>> Neighbour(id="P02-1040", title="BLEU", year=2002).model_dump(exclude_defaults=True)
        {'id': 'P02-1040', 'title': 'BLEU', 'year': 2002}
    """

    id: str
    title: str
    year: int | None = None
    authors: list[str] = Field(
        default=[],
        max_length=MAX_AUTHORS,
        description=f"The first {MAX_AUTHORS}: where there are as many, the paper may have more.",
    )
    venue: str = ""
    doi: str = ""


class CitingSentence(Neighbour):
    """A sentence like the author's, that cites the recommended paper.\f

    Example:
        >>> citing = CitingSentence(sentence="We report BLEU TARGETCIT.", id="D14-1179", title="GRU", year=2014)
        >>> citing.sentence
        'We report BLEU TARGETCIT.'
    """

    sentence: str
    id: str = Field(
        description="Id of the paper that the sentence stands in; the other fields are of it too."
    )


class EvidenceOut(BaseModel):
    """Why a paper is recommended, in terms an author can check.\f

    Example:
        >>> evidence = EvidenceOut(shared_words=[SharedWord(word="bleu", weight=5.3)])
        >>> evidence.model_dump()
        {'shared_words': [{'word': 'bleu', 'weight': 5.3}], 'cited_by': [], 'sentences': [], 'seeds': []}
    """

    shared_words: list[SharedWord] = []
    cited_by: list[Neighbour] = Field(
        default=[], description="Papers like the manuscript that cite this one."
    )
    sentences: list[CitingSentence] = Field(default=[], description="It is cited in sentences like these.")
    seeds: list[Neighbour] = Field(
        default=[],
        description="Papers of `like` that cite this one, that it cites, or that are cited together with it.",
    )


class PaperOut(BaseModel):
    """A paper of the corpus.\f

    Example:
        >>> PaperOut(id="P02-1040", title="BLEU", year=2002).model_dump(exclude_defaults=True)
        {'id': 'P02-1040', 'title': 'BLEU', 'year': 2002}
    """

    id: str
    title: str
    authors: list[str] = []
    year: int | None = Field(default=None, description="Null when the corpus does not know it.")
    venue: str = ""
    abstract: str = ""
    doi: str = ""
    in_citations: int | None = Field(default=None, description="Papers of the corpus that cite this one.")


class RecommendedPaper(PaperOut):
    """A recommended paper with its scores and evidence.\f

    Example:
        >>> paper = RecommendedPaper(id="P02-1040", title="BLEU", rank=1, score=3.5, stages={"first-stage": 3.5})
        >>> paper.rank, paper.stages
        (1, {'first-stage': 3.5})
    """

    rank: int = Field(description="1 is the best.")
    score: float = Field(description="The last stage's score; comparable within one answer only.")
    confidence: float | None = Field(
        default=None,
        description="Probability, from 0 to 1, that the text should cite it; null where the model holds no calibration "
        "for requests like this one.",
    )
    stages: dict[str, float] = Field(description="Score of each stage or signal that saw the paper.")
    evidence: EvidenceOut | None = None
    in_library: bool | None = Field(
        default=None, description="Whether it is one of `have` of the request; null where that names none."
    )


class Took(BaseModel):
    """Milliseconds spent on a request inside the gateway.\f

    Example:
        >>> Took(retrieve=12.0, rerank=80.5, total=92.5).total
        92.5
    """

    retrieve: float
    rerank: float
    total: float


class Shards(BaseModel):
    """How many shards of the index answered a request.\f

    Example:
        >>> Shards(answered=7, of=8, missing=[3]).missing
        [3]
    """

    answered: int
    of: int
    missing: list[int] = Field(
        default=[], description="Numbers, from 1, of the shards whose papers were not searched."
    )


class Reranked(BaseModel):
    """How many candidates the cross-encoder has read, of those that it was to read.\f

    Example:
        >>> Reranked(read=40, of=200).model_dump()
        {'read': 40, 'of': 200}
    """

    read: int
    of: int


class RecommendResponse(BaseModel):
    """A ranked list of papers.\f

    Example:
        >>> answer = RecommendResponse(
        ...     read_as="title and abstract",
        ...     papers=[RecommendedPaper(id="P02-1040", title="BLEU", rank=1, score=3.5, stages={})],
        ...     model_version="5f0c",
        ...     index_version="000001",
        ...     took_ms=Took(retrieve=12.0, rerank=80.5, total=92.5),
        ... )
        >>> [paper.title for paper in answer.papers]
        ['BLEU']
    """

    read_as: Literal["context", "title and abstract", "seeds"] = Field(
        description="How the request was understood."
    )
    gap: int | None = Field(default=None, description="Which gap this answers, from 0.")
    gaps: int = Field(default=0, description="How many gaps the text holds.")
    context: str = Field(default="", description="The text around the gap that was searched with.")
    papers: list[RecommendedPaper]
    note: str = Field(
        default="",
        description="A sentence where the text is unlike the papers of the corpus, or no paper of the first page is "
        "probable; empty otherwise, and on later pages.",
    )
    unlike_corpus: bool = Field(
        default=False,
        description="Whether the words of the text are much rarer in the corpus than those of its own papers, so that "
        "it may be of another field or language. False where the index does not know.",
    )
    unknown: list[str] = Field(default=[], description="What `exclude` names and the corpus does not have.")
    warning: str | None = Field(
        default=None,
        description="Why the list says little about the text: it has no words, or no paper has anything in common with "
        "it. Null otherwise. The second reason is found with `evidence` alone.",
    )
    shards: Shards | None = Field(
        default=None,
        description="How many shards of the index answered; the papers of a missing one are not in this answer. Null "
        "when the index is not divided into shards.",
    )
    reranked: Reranked | None = Field(
        default=None,
        description="How many candidates the cross-encoder has read; fewer than it was to read where `deadline_ms` did "
        "not allow all. Null when none reads requests of this kind.",
    )
    next: str | None = Field(
        default=None,
        description="Send it as `page` for the papers behind these; null when there are no more.",
    )
    release: ReleaseName = Field(
        default="served",
        description="What answered: the served release (also where a newer one is on trial in its place), the one "
        "`beside` it, or both (`interleaved`). The versions are those of the served one then.",
    )
    interleaved: str | None = Field(
        default=None,
        description="Names an answer with papers of two releases, for `POST /v1/click`; null where it is of one.",
    )
    model_version: str
    index_version: str
    request_id: str = Field(
        default="", description="The request's `X-Request-ID`, or the id that it was given."
    )
    took_ms: Took


class Problem(BaseModel):
    """Why a request was refused: problem details as RFC 9457 has them, and more.\f

    Example:
        >>> problem = Problem(
        ...     title="Unprocessable Content", status=422, detail="top_k: at most 100 is allowed, got 200.",
        ...     instance="/v1/recommend#5f0c", error="top_k: at most 100 is allowed, got 200.", field="top_k",
        ...     reason="invalid", request_id="5f0c",
        ... )
        >>> problem.type, problem.field
        ('about:blank', 'top_k')
    """

    type: str = Field(default="about:blank", description="No more is meant than the status says.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The status of the response.")
    detail: str = Field(description="What was wrong, in one sentence.")
    instance: str = Field(description="The path, and behind `#` the request's id.")
    error: str = Field(description="As `detail`.")
    field: str | None = Field(description="The field of the request at fault, when there is one.")
    reason: str = Field(description="What metrics and logs call it; it tells refusals of one status apart.")
    request_id: str = Field(description="The request's id: the server's log has it.")


class SuggestionQuality(BaseModel):
    """How often the model is right that a sentence needs a citation, in papers that it has not seen.\f

    Example:
        >>> SuggestionQuality(precision=0.47, recall=0.532).precision
        0.47
    """

    model_config = ConfigDict(from_attributes=True)

    precision: float = Field(description="Share of the sentences that it picks which cite.")
    recall: float = Field(description="Share of the sentences that cite which it picks.")


class BatchLine(BaseModel):
    """The answer to one request of a batch.\f

    Example:
        >>> line = BatchLine.model_validate_json('{"index": 3, "status": 200, "answer": null}')
        >>> line.index, line.problem
        (3, None)
    """

    index: int = Field(description="Place of the request in the batch, from 0.")
    status: int = Field(description="The status that the request would be answered alone.")
    answer: RecommendResponse | None = Field(default=None, description="With status 200.")
    problem: Problem | None = Field(default=None, description="With any other status.")
    retry_after: int | None = Field(default=None, description="Seconds after which to try again.")
