"""Requests and responses of the HTTP API, as its documentation shows them.

Only shape and meaning stand here; how long a field may be is a setting of the endpoint
(:class:`~cocite_serve.settings.Limits`) and is checked by the gateway, so that the message can name the limit in force.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

Year = Annotated[int, Field(ge=1000, le=2999)]
Text = Annotated[str, StringConstraints(strip_whitespace=True)]

GAP_EXAMPLE = (
    "Attention lets every position look at every other one, and replaced recurrence in machine "
    "translation [CIT], while pretrained encoders changed most other tasks."
)


class RecommendRequest(BaseModel):
    """The text that recommendations are asked for: a title and abstract, a text with a gap, or both.\f

    Example:
        >>> request = RecommendRequest(context="Quality is measured by BLEU [CIT].", K=100)
        >>> request.depth, request.candidates
        (100, 'older')
        >>> request = RecommendRequest(title="Neural machine translation", year=2015, top_k=5)
        >>> request.model_dump(exclude_defaults=True)
        {'title': 'Neural machine translation', 'year': 2015, 'top_k': 5}
    """

    model_config = ConfigDict(
        extra="forbid",
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

    title: Text = Field(default="", description="Title of the manuscript.")
    abstract: Text = Field(default="", description="Abstract of the manuscript.")
    context: Text = Field(
        default="",
        description="Text around the missing citation. The gap reads `[CIT]`; it may be left out when the whole "
        "text is about one citation.",
    )
    text: Text = Field(
        default="",
        description="Anything pasted: when it holds `[CIT]` it is read as text with gaps, else as a title "
        "(its first line, when short) and an abstract. Not together with `context`.",
    )
    gap: int = Field(
        default=0,
        ge=0,
        description="Which `[CIT]` to fill when there are several: 0 is the first of the text.",
    )
    year: Year | None = Field(
        default=None,
        description="Year of the manuscript; weighs how old papers are. Later papers are not returned, unless "
        "`candidates` or `year_to` says otherwise.",
    )
    authors: list[Text] = Field(
        default=[], description="Authors of the manuscript, as the corpus writes names."
    )
    venue: Text = Field(default="", description="Venue the manuscript is written for.")
    top_k: int | None = Field(
        default=None, ge=1, description="Papers to return. Default: the server's setting."
    )
    depth: int | None = Field(
        default=None,
        ge=1,
        validation_alias=AliasChoices("depth", "K"),
        description="Candidates that the second stage reranks, also accepted as `K`. More is slower.",
    )
    rerank: int | None = Field(
        default=None,
        ge=0,
        description="The best of those, which the cross-encoder reads, where one is served. 0: none, which is fastest.",
    )
    year_from: Year | None = Field(default=None, description="Only papers of this year or later.")
    year_to: Year | None = Field(
        default=None,
        description="Only papers of this year or earlier, whatever the manuscript's year. With `year_from` or "
        "`year_to`, papers of unknown year are left out.",
    )
    candidates: Literal["older", "all"] = Field(
        default="older",
        description="`older`: where `year` is given, only papers of that year or earlier, and papers of unknown year; "
        "`all`: later papers too. A request without a `year` gets papers of every year.",
    )
    exclude: list[Text] = Field(default=[], description="Ids of papers not to recommend.")
    exclude_authors: list[Text] = Field(default=[], description="Recommend nothing by these authors.")
    evidence: bool = Field(default=True, description="Whether to say why each paper is recommended.")


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
        >>> Neighbour(id="P02-1040", title="BLEU", year=2002).model_dump()
        {'id': 'P02-1040', 'title': 'BLEU', 'year': 2002}
    """

    id: str
    title: str
    year: int | None = None


class CitingSentence(BaseModel):
    """A sentence like the author's, that cites the recommended paper.\f

    Example:
        >>> citing = CitingSentence(sentence="We report BLEU TARGETCIT.", id="D14-1179", title="GRU", year=2014)
        >>> citing.sentence
        'We report BLEU TARGETCIT.'
    """

    sentence: str
    id: str = Field(description="Id of the paper that the sentence stands in.")
    title: str
    year: int | None = None


class EvidenceOut(BaseModel):
    """Why a paper is recommended, in terms an author can check.\f

    Example:
        >>> evidence = EvidenceOut(shared_words=[SharedWord(word="bleu", weight=5.3)])
        >>> evidence.model_dump()
        {'shared_words': [{'word': 'bleu', 'weight': 5.3}], 'cited_by': [], 'sentences': []}
    """

    shared_words: list[SharedWord] = []
    cited_by: list[Neighbour] = Field(
        default=[], description="Papers like the manuscript that cite this one."
    )
    sentences: list[CitingSentence] = Field(default=[], description="It is cited in sentences like these.")


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
    stages: dict[str, float] = Field(description="Score of each stage or signal that saw the paper.")
    evidence: EvidenceOut | None = None


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

    read_as: Literal["context", "title and abstract"] = Field(description="How the request was understood.")
    gap: int | None = Field(default=None, description="Which gap this answers, from 0.")
    gaps: int = Field(default=0, description="How many `[CIT]` the text holds.")
    context: str = Field(default="", description="The text around the gap that was searched with.")
    papers: list[RecommendedPaper]
    unknown: list[str] = Field(default=[], description="Ids in `exclude` that the corpus does not have.")
    shards: Shards | None = Field(
        default=None,
        description="How many shards of the index answered; the papers of a missing one are not in this answer. Null "
        "when the index is not divided into shards.",
    )
    model_version: str
    index_version: str
    took_ms: Took


class RegisteredModel(BaseModel):
    """A version of a model in the registry.\f

    Example:
        >>> RegisteredModel(name="ranker", version=3, alias="champion").model_dump()
        {'name': 'ranker', 'version': 3, 'alias': 'champion'}
    """

    name: str
    version: int
    alias: str | None = Field(
        default=None, description="The alias that the endpoint follows, if it follows one."
    )


Served = Annotated[
    RegisteredModel | None,
    Field(description="The registered model that is served; null when it is a folder."),
]


class Health(BaseModel):
    """The endpoint can answer: both stages are loaded.\f

    Example:
        >>> Health(papers=423).model_dump()
        {'status': 'ok', 'papers': 423, 'registered': None}
    """

    status: Literal["ok"] = "ok"
    papers: int = Field(description="Papers in the index.")
    registered: Served = None


class Version(BaseModel):
    """The versions that are being served.\f

    Example:
        >>> version = Version(
        ...     cocite="0.1.0", model_version="5f0c", index_version="000001", papers=423, top_k=20, depth=300, rerank=30
        ... )
        >>> version.index_version, version.year_to
        ('000001', None)
    """

    cocite: str
    model_version: str = Field(description="Fingerprint of the model folder.")
    index_version: str = Field(description="Id of the index snapshot.")
    registered: Served = None
    papers: int
    year_from: int | None = Field(default=None, description="Year of the oldest paper.")
    year_to: int | None = Field(default=None, description="Year of the newest paper.")
    top_k: int = Field(description="Papers in an answer when the request does not say.")
    depth: int = Field(description="Candidates reranked when the request does not say.")
    rerank: int = Field(description="Candidates that a cross-encoder reads when the request does not say.")


class Problem(BaseModel):
    """Why a request was refused, in one sentence.\f

    Example:
        >>> Problem(error="top_k: at most 100 is allowed, got 200.", field="top_k").field
        'top_k'
    """

    error: str
    field: str | None = Field(
        default=None, description="The field of the request at fault, when there is one."
    )
