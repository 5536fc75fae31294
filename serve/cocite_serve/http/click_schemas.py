"""Requests and responses of ``/v1/click`` and ``/v1/comparison``, as the API's documentation shows them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from cocite_serve.comparison.ledger import Comparison


class Click(BaseModel):
    """A paper of an interleaved answer that its reader has taken.\f

    Example:
        >>> Click(token="pEGq1k", paper="P02-1040").paper
        'P02-1040'
    """

    model_config = ConfigDict(extra="forbid")

    token: Annotated[str, StringConstraints(min_length=1, max_length=64)] = Field(
        description="`interleaved` of the answer."
    )
    paper: Annotated[str, StringConstraints(min_length=1, max_length=1_000)] = Field(
        description="`id` of the paper."
    )


class Clicked(BaseModel):
    """What became of a click.\f

    Example:
        >>> Clicked(counted=True).model_dump()
        {'counted': True}
    """

    counted: bool = Field(
        description="False where the paper was clicked before, or only one release had papers left to give."
    )


class Counts(BaseModel):
    """A number for each of two releases.\f

    Example:
        >>> Counts(served=1, beside=3).beside
        3
    """

    served: int
    beside: int


class ComparisonOut(BaseModel):
    """What clicks on interleaved answers say of two releases.\f

    Example:
        >>> from cocite_serve.comparison.ledger import Pair
        >>> pair = Pair("5f0c", "000001", "7a1d", "000001")
        >>> one = to_schema(Comparison(pair, since="2026-11-23T09:00:00+00:00", wins={"served": 5, "beside": 15}))
        >>> one.beside_model_version, round(one.p, 4), [round(bound, 2) for bound in one.interval]
        ('7a1d', 0.0414, [0.51, 0.91])
    """

    model_version: str = Field(description="Of the served release.")
    index_version: str = Field(description="Of the served release.")
    beside_model_version: str
    beside_index_version: str
    since: str = Field(description="When the first answer of both was made, in ISO 8601.")
    answers: int = Field(description="Answers that had papers of both.")
    clicks: Counts = Field(description="Papers of each release that were taken.")
    wins: Counts = Field(description="Answers of which more papers of that release were taken.")
    ties: int = Field(description="Answers of which as many papers of either were taken, one at least.")
    p: float = Field(
        description="Of the two-sided sign test over the answers that one of them won: how likely wins as unequal are "
        "where both releases are equally good."
    )
    share: float | None = Field(description="Of the wins that are those of the release beside.")
    interval: tuple[float, float] = Field(description="95 % confidence interval of that share (exact).")


class Comparisons(BaseModel):
    """The comparisons that were made since the endpoint was started, the latest first.\f

    Example:
        >>> Comparisons(comparisons=[]).model_dump()
        {'comparisons': []}
    """

    comparisons: list[ComparisonOut]


def to_schema(comparison: Comparison) -> ComparisonOut:
    """The API's form of a comparison, with its significance."""
    pair, test = comparison.pair, comparison.test()
    return ComparisonOut(
        model_version=pair.served_model,
        index_version=pair.served_index,
        beside_model_version=pair.beside_model,
        beside_index_version=pair.beside_index,
        since=comparison.since,
        answers=comparison.answers,
        clicks=Counts(**comparison.clicks),
        wins=Counts(**comparison.wins),
        ties=comparison.ties,
        p=test.p,
        share=test.share,
        interval=(test.low, test.high),
    )
