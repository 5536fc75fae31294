"""Request and answer of ``/v1/links``.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from pydantic import BaseModel, ConfigDict, Field

from cocite_serve.http.query_fields import Text


class LinksRequest(BaseModel):
    """Papers whose links among each other are wanted.\f

    Example:
        >>> LinksRequest(ids=["P02-1040", "W04-1013"]).ids
        ['P02-1040', 'W04-1013']
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"ids": ["papineni2002bleu", "lin2004rouge", "post2018call"]}]},
    )

    ids: list[Text] = Field(min_length=1, description="Ids of papers; one that is given twice counts once.")


class CitationOut(BaseModel):
    """A paper that cites another one.\f

    Example:
        >>> CitationOut(citing="W04-1013", cited="P02-1040").cited
        'P02-1040'
    """

    citing: str
    cited: str


class CocitationOut(BaseModel):
    """Two papers that others cite together.\f

    Example:
        >>> CocitationOut(first="P02-1040", second="W04-1013", papers=12).papers
        12
    """

    first: str = Field(description="The one that comes first in the request.")
    second: str
    papers: int = Field(ge=1, description="Papers of the corpus that cite both.")


class LinksResponse(BaseModel):
    """The links among some papers.\f

    Example:
        >>> answer = LinksResponse(
        ...     citations=[CitationOut(citing="W04-1013", cited="P02-1040")],
        ...     cocitations=[CocitationOut(first="P02-1040", second="W04-1013", papers=12)],
        ...     index_version="000001",
        ... )
        >>> answer.uncounted
        []
    """

    citations: list[CitationOut] = Field(description="In the order of the request.")
    cocitations: list[CocitationOut] = Field(
        description="Each pair once, and none that no paper cites, in the order of the request."
    )
    uncounted: list[str] = Field(
        default=[],
        description="Papers with so many citations that their co-citations were not counted: they are in no pair.",
    )
    unknown: list[str] = Field(default=[], description="Ids that the corpus does not have.")
    index_version: str
