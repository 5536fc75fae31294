"""Tokens of next pages. The server keeps nothing: a token says where the page begins, and of what.

A token is not signed, for there is nothing to gain by making one: what it says is checked against the request and the
versions that are served, and its bounds against the limits of every request.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.protocols import Query


class Page(BaseModel):
    """Where a page begins.

    Attributes:
        model: its version.
        index: its version.
        request: digest of the query and the options.
        offset: papers before it.
        read: candidates that the cross-encoder has read for the first page, which its deadline may have limited; None:
            it reads none of this kind.

    Example:
        >>> page = Page(model="5f0c", index="000001", request="9b1d", offset=20, read=None)
        >>> Page.parse(page.token()) == page
        True
        >>> Page.parse("another")
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: page: this is no `next` of an answer
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str
    index: str
    request: str
    offset: int = Field(ge=1, le=100_000)
    read: int | None = Field(ge=0, le=100_000)

    def token(self) -> str:
        """As it is sent."""
        return base64.urlsafe_b64encode(self.model_dump_json().encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, token: str) -> Page:
        """The page of a token.

        Raises:
            InputError: it is none.
        """
        try:
            return cls.model_validate_json(
                base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
            )
        except (binascii.Error, ValidationError, ValueError) as error:
            raise InputError("this is no `next` of an answer", where="page") from error

    def check(self, model: str, index: str, request: str, depth: int) -> None:
        """Refuse a page of another request, or of versions that are not served any more.

        Raises:
            InputError: the request is another one.
            HTTPException: 410, the versions are not served any more.
        """
        if (self.model, self.index) != (model, index):
            raise HTTPException(
                410,
                f"The page is of model {self.model or 'none'} and index {self.index}, which are not served any more; "
                "ask again without `page`.",
            )
        if self.request != request or self.offset >= depth:
            raise InputError(
                "it belongs to another request; all fields but top_k, evidence and deadline_ms have to be as they were",
                where="page",
            )


def digest(query: Query, options: Options) -> str:
    """What pages of one list have in common: the query, and the options but for those of a page.

    Example:
        >>> query = Query("q", title="Parsing")
        >>> digest(query, Options(top_k=5)) == digest(query, Options(top_k=9, offset=5))
        True
        >>> digest(query, Options()) == digest(query, Options(depth=20))
        False
    """
    common = replace(options, top_k=1, offset=0, evidence=True)
    return hashlib.sha256(repr((query, common)).encode()).hexdigest()[:24]
