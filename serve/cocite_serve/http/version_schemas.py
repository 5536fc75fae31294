"""What the endpoint says of itself: health, versions, and what it does not serve."""

from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field


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


class RefusedRelease(BaseModel):
    """A newer model or index that is not served.\f

    Example:
        >>> RefusedRelease(what="index 000002", why="a file is damaged", when="2026-11-23T09:00:00+00:00").why
        'a file is damaged'
    """

    what: str = Field(description="The model over the index.")
    why: str = Field(description="One sentence.")
    when: str = Field(description="When it was refused, in ISO 8601.")

    @classmethod
    def now(cls, what: str, error: Exception) -> Self:
        """The refusal of this moment, for the reason that an error gives."""
        return cls(what=what, why=str(error), when=datetime.now(UTC).isoformat(timespec="seconds"))


class BesideRelease(BaseModel):
    """A second release that is loaded beside the served one.\f

    Example:
        >>> BesideRelease(model_version="7a1d", index_version="000001", traffic="split", share=0.5).share
        0.5
    """

    model_version: str
    index_version: str
    registered: RegisteredModel | None = None
    traffic: Literal["none", "shadow", "split", "interleave"] = Field(
        description="What it is asked, besides requests that name it: nothing; a share of the requests, whose answers "
        "by it are compared and dropped; all requests of a share of the clients; a share of the requests, whose "
        "answers have papers of both releases."
    )
    share: float = Field(description="Of the requests or clients, from 0 to 1.")


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
    refused: list[RefusedRelease] = Field(
        default=[], description="Newer releases that are not served; empty when the newest one is."
    )
    beside: BesideRelease | None = Field(
        default=None, description="The second release that is loaded; null where there is none."
    )
    releases: list[str] = Field(
        default=["served"],
        description="What the field `release` of a request may name: `served`, `beside` where a second release is "
        "loaded, and aliases and versions of registered models. Versions of models and indexes are names, too.",
    )
    papers: int
    year_from: int | None = Field(default=None, description="Year of the oldest paper.")
    year_to: int | None = Field(default=None, description="Year of the newest paper.")
    top_k: int = Field(description="Papers in an answer when the request does not say.")
    depth: int = Field(description="Candidates reranked when the request does not say.")
    rerank: int = Field(description="Candidates that a cross-encoder reads when the request does not say.")
    suggests: bool = Field(
        default=False,
        description="Whether the served model knows which sentences need a citation, so that `suggest` of `/v1/draft` "
        "and `/v1/draft/text` may be above 0.",
    )
