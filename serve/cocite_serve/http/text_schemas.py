"""Requests and responses of reranking and embedding, as the API's documentation shows them.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from cocite_serve.http.query_fields import GAP_EXAMPLE, Milliseconds, Name, QueryText, ReleaseChoice, Text

Id = Annotated[str, Field(min_length=1)]
_RELEASE = "Whose model and index are asked, as in `/v1/recommend`. Default: the served release's."


class RerankRequest(QueryText):
    """A query, and papers or texts whose relevance to it is wanted.\f

    Example:
        >>> RerankRequest(context="Quality is measured by BLEU [CIT].", ids=["papineni2002bleu"]).ids
        ['papineni2002bleu']
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"context": GAP_EXAMPLE, "ids": ["devlin2019bert", "vaswani2017attention"]},
            ]
        }
    )

    ids: list[Id] = Field(default=[], description="Ids of papers of the index. Not together with `texts`.")
    texts: list[Text] = Field(
        default=[],
        description="Texts of any papers: title and abstract. Only a cross-encoder that reads requests of this kind "
        "can score them.",
    )
    release: ReleaseChoice | None = Field(default=None, description=_RELEASE)
    raw_scores: StrictBool = Field(
        default=False, description="The cross-encoder's logits, instead of relevances between 0 and 1."
    )
    truncate: StrictBool = Field(
        default=True, description="Whether a text that is too long for the model is cut. Else it is refused."
    )
    deadline_ms: Milliseconds | None = Field(
        default=None, description="Milliseconds within which the answer is wanted."
    )


class Scored(BaseModel):
    """The relevance of a paper or text.\f

    Example:
        >>> Scored(index=1, id="devlin2019bert", score=0.93).model_dump(exclude_defaults=True)
        {'index': 1, 'id': 'devlin2019bert', 'score': 0.93}
    """

    index: int = Field(description="Its place in the request, from 0.")
    id: str | None = Field(default=None, description="Of a paper; null for a text.")
    score: float
    stages: dict[str, float] = Field(
        default={},
        description="Of a paper: the score of each stage that saw it, as `/v1/recommend` has them.",
    )


class RerankResponse(BaseModel):
    """Papers or texts, the most relevant first.\f

    Example:
        >>> answer = RerankResponse(
        ...     results=[Scored(index=0, score=0.9)], scored_by="cross-encoder", model_version="5f0c",
        ...     index_version="000001",
        ... )
        >>> answer.results[0].index
        0
    """

    results: list[Scored]
    scored_by: str = Field(
        description="`cross-encoder`, or the stage that orders papers where none reads such requests: `fusion`, "
        "`nnrank`, `first-stage`."
    )
    model_version: str
    index_version: str


class EmbedText(BaseModel):
    """A text to embed, by its parts.\f

    Example:
        >>> EmbedText(title="Neural machine translation").abstract
        ''
    """

    model_config = ConfigDict(extra="forbid")

    title: Text = ""
    abstract: Text = ""
    context: Text = Field(default="", description="Text around a missing citation, which reads `[CIT]`.")


class EmbedRequest(BaseModel):
    """Texts, or papers of the index, whose vectors are wanted.\f

    Example:
        >>> EmbedRequest(texts=["Neural machine translation", {"title": "BLEU", "abstract": "A metric."}]).read_as
        'query'
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"texts": ["Neural machine translation"]}, {"ids": ["devlin2019bert"]}],
        },
    )

    encoder: Name | None = Field(
        default=None,
        description="Name of an encoder of the model whose vectors the index holds; default: `sentence` where it is "
        "one of them, else the first.",
    )
    texts: list[Text | EmbedText] = Field(
        default=[], description="Texts. A plain one is a title, or a context where it holds `[CIT]`."
    )
    ids: list[Id] = Field(
        default=[], description="Ids of papers, whose vectors the index has. Not together with `texts`."
    )
    release: ReleaseChoice | None = Field(default=None, description=_RELEASE)
    read_as: Literal["query", "paper"] = Field(
        default="query",
        description="`paper`: encode the texts as papers are encoded, which differs for encoders with prompts.",
    )
    truncate: StrictBool = Field(
        default=True,
        description="Whether a text that is too long for the encoder is cut. Else it is refused.",
    )
    deadline_ms: Milliseconds | None = Field(
        default=None, description="Milliseconds within which the answer is wanted."
    )


class EmbedResponse(BaseModel):
    """Vectors, in the order of the texts or ids.\f

    Example:
        >>> EmbedResponse(
        ...     encoder="sentence", dimension=2, vectors=[[0.6, 0.8]], model_version="5f0c", index_version="000001"
        ... ).vectors
        [[0.6, 0.8]]
    """

    encoder: str
    dimension: int
    vectors: list[list[float]] = Field(description="Of unit length; all 0 for a text without a word.")
    model_version: str
    index_version: str
