"""Titles of DOIs that a corpus lacks, asked of Crossref; nothing is asked unless the user says so.

The DOIs are all that is sent. What answers is bounded in bytes and time, and is compared with what was asked.

Source: https://api.crossref.org, and https://www.crossref.org/documentation/retrieve-metadata/rest-api/.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cocite import __version__
from cocite.corpus.importers.csl import issued_year
from cocite.corpus.importers.jats import plain_text
from cocite.corpus.importers.values import FieldError, bare_doi, mapping, objects, text, texts
from cocite.corpus.records import ARXIV_DOI, PaperRecord
from cocite.errors import InputError

if TYPE_CHECKING:
    import httpx

ADDRESS = "https://api.crossref.org"
"""Of the API, unless the environment names another, such as a mirror, by ``COCITE_CROSSREF_URL``."""
MAX_DOIS = 500
"""DOIs that are asked for."""
BATCH = 25
"""DOIs of one request, whose address has a few thousand characters then."""
MAX_ANSWER = 4 << 20
"""Bytes of an answer; a work's title, year and DOI take some hundred."""
TIMEOUT = 20
"""Seconds without a byte of an answer."""
_MAX_DOI = 200


def crossref_papers(dois: Sequence[str]) -> dict[str, PaperRecord]:
    """The works of some DOIs, with title and year, by their DOIs in lower case; unknown ones are left out.

    Args:
        dois: those of arXiv, and such with a comma, are not asked for.

    Raises:
        InputError: there are too many DOIs, or Crossref gives no answer that can be read.
    """
    import httpx

    lower = {doi.lower() for doi in dois if len(doi) <= _MAX_DOI}
    # A comma divides the conditions of a request, and arXiv registers its DOIs elsewhere.
    wanted = sorted(doi for doi in lower if "," not in doi and not doi.startswith(ARXIV_DOI.lower()))
    if len(wanted) > MAX_DOIS:
        raise InputError(
            f"{len(wanted):,} DOIs are to be asked for, more than {MAX_DOIS}",
            where="--lookup",
            hint="give fewer",
        )
    found: dict[str, PaperRecord] = {}
    address = os.environ.get("COCITE_CROSSREF_URL") or ADDRESS
    with httpx.Client(
        headers={"User-Agent": f"cocite/{__version__}"}, timeout=TIMEOUT, follow_redirects=False
    ) as client:
        for first in range(0, len(wanted), BATCH):
            batch = wanted[first : first + BATCH]
            for paper in _works(_answer(client, address, batch)):
                if paper.doi in batch:
                    found[paper.doi] = paper
    return found


def _answer(client: httpx.Client, address: str, dois: Sequence[str]) -> bytes:
    import httpx

    conditions = ",".join(f"doi:{doi}" for doi in dois)
    asked: dict[str, str | int] = {"filter": conditions, "rows": BATCH, "select": "DOI,title,issued"}
    body = bytearray()
    try:
        with client.stream("GET", f"{address.rstrip('/')}/works", params=asked) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER:
                    raise _failed(f"an answer has more than {MAX_ANSWER >> 20} MiB")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _failed(f"no answer: {error or type(error).__name__}") from error
    if response.status_code != 200:
        raise _failed(f"status {response.status_code}")
    return bytes(body)


def _works(body: bytes) -> list[PaperRecord]:
    """The works of an answer; one that cannot be read is left out."""
    try:
        value = json.loads(body)
        items = objects(mapping(value, "message"), "items")
    except (ValueError, RecursionError, AttributeError) as error:
        raise _failed("the answer is none of its API") from error
    return [paper for item in items if (paper := _paper(item)) is not None]


def _paper(item: dict[str, Any]) -> PaperRecord | None:
    try:
        title = plain_text(next(iter(texts(item, "title")), ""))
        doi = bare_doi(text(item, "DOI")).lower()
        return PaperRecord(doi, title, year=issued_year(mapping(item, "issued")), doi=doi)
    except FieldError:
        return None


def _failed(reason: str) -> InputError:
    return InputError(reason, where="Crossref", hint="try again later, or leave --lookup out")
