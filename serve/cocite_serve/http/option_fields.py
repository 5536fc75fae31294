"""The options of a request for recommendations, of one text or of each gap of a draft."""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationInfo,
    field_validator,
    model_validator,
)

from cocite_serve.http.query_fields import Milliseconds, Name, ReleaseChoice, Share, Text, Whole, Year


class RecommendOptions(BaseModel):
    """How many papers, which, and how they are found.\f

    Example:
        >>> RecommendOptions(K=100).depth
        100
    """

    model_config = ConfigDict(extra="forbid")

    top_k: Whole | None = Field(
        default=None, ge=1, description="Papers to return. Default: the server's setting."
    )
    depth: Whole | None = Field(
        default=None,
        ge=1,
        description="Candidates that the second stage reranks. More is slower.",
    )
    K: Whole | None = Field(default=None, ge=1, description="Another name of `depth`; give one of the two.")
    rerank: Whole | None = Field(
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
    like: list[Text] = Field(
        default=[],
        description="Papers whose like is wanted, by ids of the corpus, DOIs, arXiv numbers, or ids of the ACL "
        "Anthology, of Semantic Scholar or of OpenAlex, with or without their addresses: what they cite, what cites "
        "them, what is cited together with them, and what is written like them comes first. They steer the list of a "
        "text, and of each gap of a draft; `/v1/recommend` needs no text with them. They are not returned themselves. "
        "One that the corpus does not have is refused.",
    )
    dislike: list[Text] = Field(
        default=[],
        description="Papers whose like is not wanted, named as in `like`: they are not returned, and papers close to "
        "them come later. Together with a text, or with `like`.",
    )
    exclude: list[Text] = Field(default=[], description="Papers not to recommend, named as in `like`.")
    have: list[Text] = Field(
        default=[],
        description="Papers that the author has: ids of the corpus, DOIs, arXiv numbers, ids of the ACL Anthology, "
        "of Semantic Scholar or of OpenAlex. They are returned as others are; `in_library` of each paper says whether "
        "it is one of them.",
    )
    exclude_authors: list[Text] = Field(default=[], description="Recommend nothing by these authors.")
    evidence: StrictBool = Field(default=True, description="Whether to say why each paper is recommended.")
    retrievers: list[Name] = Field(
        default=[],
        description="Signals that alone find candidates, by the names of the first stage's blend (`whole>text`, "
        "`sentence`), with the blend's weights, or 1 where it has none. Default: those of the blend.",
    )
    weights: dict[Name, Annotated[float, Field(strict=True, ge=0, le=1000)]] = Field(
        default={},
        description="Signal and weight, in place of the blend's; 0 leaves the signal out. A learned fusion orders the "
        "candidates by what it has learned with the blend's own weights.",
    )
    popularity: Share = Field(
        default=0.0,
        description="Share by which the score of a much-cited paper is damped: by all of it for the candidate that is "
        "cited most, by none for one that is not cited, and between them by the logarithm of the citations.",
    )
    diversity: Share = Field(
        default=0.0,
        description="How much a paper's likeness to those before it counts against it: maximal marginal relevance with "
        "lambda = 1 - `diversity`. 0: not at all. The first paper stays the first.",
    )
    deadline_ms: Milliseconds | None = Field(
        default=None,
        description="Milliseconds within which the answer is wanted. Where they do not allow the cross-encoder to read "
        "all of `rerank`, it reads the best of them, and `reranked` of the answer says how many. Where others are the "
        "reason that it could read next to none, the request is refused at once with 429.",
    )

    release: ReleaseChoice | None = Field(
        default=None,
        description="Which release answers: one of `releases` of `GET /v1/version`, or the version of its model or "
        "index; 422 with the names that there are where it is another. Default: as the server divides its traffic. "
        "With `page`: the release of that list.",
    )
    client: str = Field(
        default="",
        max_length=200,
        description="Any name of who asks, such as a random one of a session: where traffic is divided, one name keeps "
        "its release. It is not kept. Default: the name of the API key, else the request's id.",
    )

    @field_validator("K")
    @classmethod
    def _alone(cls, value: int | None, info: ValidationInfo) -> int | None:
        # Of a field and not of the model, so that the refusal has the field's name.
        if value is not None and info.data.get("depth") is not None:
            raise ValueError("is another name of depth; give one of the two")
        return value

    @model_validator(mode="after")
    def _one_depth(self) -> Self:
        if self.K is not None:
            self.depth = self.K
        return self
