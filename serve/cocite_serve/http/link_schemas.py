"""Request and answer of ``/v1/links``.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from cocite_serve.http.query_fields import Text

Together = Annotated[int, Field(ge=1)]


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


class LinksResponse(BaseModel):
    """The links among some papers.\f

    Example:
        >>> answer = LinksResponse(
        ...     citations=[("W04-1013", "P02-1040")],
        ...     cocitations=[("P02-1040", "W04-1013", 12)],
        ...     index_version="000001",
        ... )
        >>> answer.uncounted
        []
    """

    citations: list[tuple[str, str]] = Field(
        description="The paper that cites, and the one that is cited, in the order of the request."
    )
    cocitations: list[tuple[str, str, Together]] = Field(
        description="Two papers, and how many papers of the corpus cite both. Each pair stands once, and one that no "
        "paper cites does not stand here."
    )
    uncounted: list[str] = Field(
        default=[],
        description="Papers with so many citations that their co-citations were not counted: they are in no pair.",
    )
    unknown: list[str] = Field(default=[], description="Ids that the corpus does not have.")
    index_version: str
