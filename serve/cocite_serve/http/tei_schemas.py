"""Requests and responses of Hugging Face's text-embeddings-inference, as its OpenAPI document has them.

What its requests have beyond these fields is let through and not read, as its own server does.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictBool, StrictInt

Texts = Annotated[list[str], Field(json_schema_extra={"minItems": 1})]
"""The bound is told to clients, and not validated: an empty list gets that server's own error."""
Direction = Annotated[
    Literal["Right", "right", "Left", "left"],
    Field(description="Texts that are too long are cut at their end: Left is refused."),
]
TeiErrorType = Literal["Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer", "Empty"]


class TeiRerankRequest(BaseModel):
    """A query, and texts to rank by their relevance to it.\f

    Example:
        >>> TeiRerankRequest(query="What is Deep Learning?", texts=["Deep Learning is ..."]).raw_scores
        False
    """

    query: str = Field(json_schema_extra={"pattern": r"[^\s\x1c-\x1f\x85]"})
    texts: Texts
    raw_scores: StrictBool = Field(
        default=False, description="Logits, instead of relevances between 0 and 1."
    )
    return_text: StrictBool = False
    truncate: StrictBool | None = Field(
        default=None, description="False: refuse what is too long, rather than cut it."
    )
    truncation_direction: Direction = "Right"


class TeiRank(BaseModel):
    """The relevance of a text.\f

    Example:
        >>> TeiRank(index=0, score=0.9).model_dump(exclude_none=True)
        {'index': 0, 'score': 0.9}
    """

    index: int
    text: str | None = None
    score: float


class TeiEmbedRequest(BaseModel):
    """A text, or several, whose vectors are wanted.\f

    Example:
        >>> TeiEmbedRequest(inputs="What is Deep Learning?").normalize
        True
    """

    inputs: str | Texts
    normalize: StrictBool = Field(
        default=True,
        description="The encoders' own vectors are of unit length, so false changes what `dimensions` cuts alone.",
    )
    truncate: StrictBool | None = Field(
        default=None, description="False: refuse what is too long, rather than cut it."
    )
    truncation_direction: Direction = "Right"
    prompt_name: str | None = Field(
        default=None,
        description="`query` (the default) or `document`: as which texts are read. The encoder has its own prompts, "
        "and no other names of them.",
    )
    dimensions: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None, description="How many numbers of each vector are wanted: its first ones."
    )


class TeiInfo(BaseModel):
    """What is served.\f

    Example:
        >>> TeiInfo(
        ...     model_id="ranker", model_sha="5f0c", model_dtype="fp32", model_type={"embedding": {"pooling": "mean"}},
        ...     max_concurrent_requests=1024, max_input_length=512, max_batch_tokens=1024, max_client_batch_size=200,
        ...     version="0.1.0",
        ... ).auto_truncate
        True
    """

    model_id: str
    model_sha: str | None
    model_dtype: str
    model_type: dict[str, dict[str, object]]
    max_concurrent_requests: int
    max_input_length: int
    max_batch_tokens: int
    max_batch_requests: int | None = None
    max_client_batch_size: int
    auto_truncate: bool = True
    tokenization_workers: int = 1
    version: str
    sha: str | None = None
    docker_label: str | None = None


class TeiError(BaseModel):
    """Why a request was refused.\f

    Example:
        >>> TeiError(error="Model is overloaded", error_type="Overloaded").error_type
        'Overloaded'
    """

    error: str
    error_type: TeiErrorType


Vectors = Annotated[list[list[float]], Field(description="One vector for each text.")]
