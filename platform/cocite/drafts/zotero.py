"""The papers of a Zotero that runs on this machine, by its local API.

Nothing but the loopback interface is asked, and no proxy. pyzotero, which speaks this API, requires a bibtexparser
below 2, so the few paths that are needed are asked by httpx.

Source: https://www.zotero.org/support/dev/web_api/v3/basics and its page *Local API*. Versions of Zotero that know no
``limit`` answer with everything at once. Citation keys: https://retorque.re/zotero-better-bibtex/ says where they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.importers.values import FieldError, bare_doi, mapping, objects, text
from cocite.corpus.records import ARXIV_DOI, PaperRecord
from cocite.errors import InputError, NotFoundError, nearest

if TYPE_CHECKING:
    import httpx

PREFIX = "zotero:"
"""What names a library of Zotero instead of a file."""
GROUPS = "groups/"
"""What names a group library instead of the user's own."""
PORT = 23119
"""Of the local API, unless the environment names another by ``COCITE_ZOTERO_PORT``."""
PAGE = 100
"""Items of an answer, the most that the API gives."""
MAX_ANSWER = 64 << 20
"""Bytes of an answer, of a Zotero that answers with everything at once."""
MAX_ITEMS = 100_000
"""Objects that are read of a library."""
TIMEOUT = 60
"""Seconds without a byte of an answer."""
_NO_PAPER = {"attachment", "note", "annotation"}
_VENUES = ("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "repository", "publisher")
_YEAR = re.compile(r"\b\d{4}\b", re.ASCII)
_DOI = re.compile(r"(?im)^doi:\s*(\S+)")
_CITATION_KEY = re.compile(r"(?im)^citation[ _]?key:[ \t]*([^\s,{}]+)[ \t]*$")
"""In the field *Extra*, where Better BibTeX wrote keys that are pinned before Zotero had a field for them."""
_SWITCH = "Allow other applications on this computer to communicate with Zotero"


def zotero_papers(name: str = "") -> Iterator[PaperRecord | None]:
    """The papers of the user's library or of a group's, or of one collection without those within it.

    Yields:
        a paper whose id is the item's key; None for an item that cannot be read. Notes and attachments are none.
    """
    for item in _items(name):
        yield _paper(item)


def zotero_bibliography(name: str = "") -> Iterator[PaperRecord]:
    """The papers of a library whose ids are the keys by which the user cites them; items without such a key are none.

    Raises:
        InputError: as of :func:`_items`, or no item has a citation key.
    """
    found = False
    for item in _items(name):
        key, paper = _citation_key(item), _paper(item)
        if key and paper is not None:
            found = True
            yield replace(paper, id=key)
    if not found:
        raise InputError(
            "no item has a citation key",
            where=PREFIX + name,
            hint="Zotero 8 has them, and Better BibTeX where they are pinned; or export a .bib and give that",
        )


def _items(name: str) -> Iterator[dict[str, Any]]:
    """The items of a library or a collection but for notes and attachments.

    Args:
        name: name or key of a collection; "" is the whole library. ``groups/GROUP`` is the library of a group by its
            name or number, and ``groups/GROUP/COLLECTION`` a collection there.

    Raises:
        InputError: Zotero does not run or its local API is switched off, an answer is none of the API, or several
            groups or collections have the name.
        NotFoundError: there is no such group or collection.
    """
    import httpx

    # Zotero refuses other names than localhost and 127.0.0.1.
    with httpx.Client(
        base_url=f"http://127.0.0.1:{_port()}/api/",
        headers={"Zotero-API-Version": "3", "Accept-Encoding": "identity"},
        timeout=TIMEOUT,
        trust_env=False,
    ) as client:
        library, collection, where = "users/0/", name, PREFIX
        if name.startswith(GROUPS):
            group, _, collection = name.removeprefix(GROUPS).partition("/")
            library = f"groups/{_chosen(client, 'users/0/groups', 'id', group, PREFIX + GROUPS)}/"
            where = f"{PREFIX}{GROUPS}{group}/"
        collections = f"{library}collections"
        within = (
            f"collections/{_chosen(client, collections, 'key', collection, where)}/" if collection else ""
        )
        for item in _pages(client, f"{library}{within}items/top"):
            data = item.get("data")
            if not isinstance(data, dict) or data.get("itemType") not in _NO_PAPER:
                yield item


def _port() -> int:
    raw = os.environ.get("COCITE_ZOTERO_PORT") or str(PORT)
    if not (raw.isascii() and raw.isdigit() and len(raw) < 6 and 0 < int(raw) < 1 << 16):
        raise InputError(f"must be a port, not {raw!r}", where="COCITE_ZOTERO_PORT")
    return int(raw)


def _chosen(client: httpx.Client, path: str, field: str, name: str, where: str) -> str:
    """What identifies the object of a path that a name means, by its key or number or else by its name in any case."""
    try:
        names = {
            _key(item, field): text(mapping(item, "data"), "name") for item in _pages(client, path, field)
        }
    except FieldError as error:
        raise _strange(str(error)) from error
    noun = path.rpartition("/")[2]
    keys = [key for key in names if key == name]
    keys = keys or [key for key, other in names.items() if other.casefold() == name.casefold()]
    if not keys:
        hint = nearest(name, filter(None, names.values()))
        raise NotFoundError(f"no {noun.removesuffix('s')} {name!r}", where=where + name, hint=hint)
    if len(keys) > 1:
        hint = f"name one by its key: {' or '.join(where + key for key in sorted(keys)[:10])}"
        raise InputError(f"{len(keys)} {noun} are called {name!r}", where=where + name, hint=hint)
    return keys[0]


def _key(item: dict[str, Any], name: str) -> str:
    """What identifies an object: the key of an item or collection, the number of a group."""
    key = item.get(name)
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not re.fullmatch(r"[A-Z0-9]{1,20}", key):
        raise _strange(f"an object has no {name}")
    return key


def _pages(client: httpx.Client, path: str, name: str = "key") -> Iterator[dict[str, Any]]:
    """The objects of all pages, each once, as the field that identifies them says."""
    seen: set[str] = set()
    start = 0
    while True:
        page = _answer(client, path, start)
        new = 0
        for item in page:
            key = _key(item, name)
            if key not in seen:
                seen.add(key)
                if len(seen) > MAX_ITEMS:
                    raise InputError(
                        f"more than {MAX_ITEMS:,} {path.rpartition('/')[2]}",
                        where="Zotero",
                        hint=f"name a collection, as {PREFIX}NAME",
                    )
                new += 1
                yield item
        start += len(page)
        # A page of another length is the last one, or comes from a Zotero that knows no pages and gave everything;
        # that one gives the same objects again where they are as many as a page has.
        if len(page) != PAGE or not new:
            return


def _answer(client: httpx.Client, path: str, start: int) -> list[dict[str, Any]]:
    """The objects of one answer."""
    import httpx

    asked: dict[str, str | int] = {"format": "json", "limit": PAGE, "start": start}
    asked |= {"sort": "dateAdded", "direction": "asc"}
    body = bytearray()
    try:
        with client.stream("GET", path, params=asked) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER:
                    raise InputError(
                        f"an answer has more than {MAX_ANSWER >> 20} MiB",
                        where="Zotero",
                        hint=f"name a collection, as {PREFIX}NAME",
                    )
    except httpx.ConnectError as error:
        raise InputError(
            f"nothing answers at port {client.base_url.port} of this machine",
            where="Zotero",
            hint="start Zotero 7 or later; COCITE_ZOTERO_PORT names another port",
        ) from error
    except httpx.HTTPError as error:
        raise InputError(
            f"the answer broke off: {error or type(error).__name__}", where="Zotero", hint="try again"
        ) from error
    if response.status_code == 403:
        raise InputError(
            "its local API is switched off",
            where="Zotero",
            hint=f"switch on '{_SWITCH}' in its settings, under Advanced",
        )
    if response.status_code != 200:
        raise _strange(f"status {response.status_code} for {path}")
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _strange("no JSON") from error
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise _strange("no list of objects")
    return values


def _strange(what: str) -> InputError:
    return InputError(
        f"the answer is none of Zotero's local API: {what}",
        where="Zotero",
        hint="Zotero 7 or later has it; or export the library as CSL-JSON and give the file",
    )


def _paper(item: dict[str, Any]) -> PaperRecord | None:
    """The paper of an item; None where a field is of another type, or neither title nor DOI is there."""
    try:
        data = mapping(item, "data")
        title = " ".join(text(data, "title", "caseName", "nameOfAct", "subject").split())
        extra = text(data, "extra")
        written = _DOI.search(extra)
        doi = bare_doi(text(data, "DOI") or (written[1] if written else ""))
        if not doi:
            lines = (line for line in extra.splitlines() if "arxiv" in line.lower())
            number = next(
                filter(None, map(arxiv_number, (text(data, "archiveID"), *lines, text(data, "url")))), ""
            )
            doi = ARXIV_DOI + number if number else ""
        year = _YEAR.search(text(data, "date"))
        paper = PaperRecord(
            text(item, "key"),
            title,
            year=int(year.group()) if year else 0,
            venue=next(filter(None, (text(data, name) for name in _VENUES)), ""),
            authors=tuple(filter(None, map(_name, objects(data, "creators")))),
            doi=doi,
        )
    except FieldError:
        return None
    return paper if title or doi else None


def _citation_key(item: dict[str, Any]) -> str:
    """The key by which the user cites an item: Zotero's own field, else that of Better BibTeX in *Extra*; "": none."""
    data = item.get("data")
    try:
        own = text(data, "citationKey").strip() if isinstance(data, dict) else ""
        written = _CITATION_KEY.search(text(data, "extra")) if isinstance(data, dict) else None
    except FieldError:
        return ""
    if own and not re.search(r"[\s,{}]", own):
        return own
    return written[1] if written else ""


def _name(creator: dict[str, Any]) -> str:
    """An author's name; empty for another role, such as an editor's."""
    if creator.get("creatorType", "author") != "author":
        return ""
    parts = (text(creator, "firstName"), text(creator, "lastName"), text(creator, "name"))
    return " ".join(" ".join(parts).split())
