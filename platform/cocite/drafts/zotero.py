"""The papers of a Zotero that runs on this machine, by its local API.

pyzotero, which speaks this API, requires a bibtexparser below 2, so the few paths that are needed are asked by httpx.

Source: https://www.zotero.org/support/dev/web_api/v3/basics and its page *Local API*. Versions of Zotero that know no
``limit`` answer with everything at once. Citation keys: https://retorque.re/zotero-better-bibtex/ says where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.importers.values import FieldError, bare_doi, mapping, objects, text
from cocite.corpus.records import ARXIV_DOI, PaperRecord
from cocite.drafts.better_bibtex_rpc import is_key, plugin_keys
from cocite.drafts.zotero_client import PREFIX, answer_of, zotero_client
from cocite.errors import InputError, NotFoundError, nearest

if TYPE_CHECKING:
    import httpx

GROUPS = "groups/"
"""What names a group library instead of the user's own."""
PAGE = 100
"""Items of an answer, the most that the API gives."""
MAX_ITEMS = 100_000
"""Objects that are read of a library."""
_NO_PAPER = {"attachment", "note", "annotation"}
_VENUES = ("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "repository", "publisher")
_YEAR = re.compile(r"\b\d{4}\b", re.ASCII)
_DOI = re.compile(r"(?im)^doi:\s*(\S+)")
_CITATION_KEY = re.compile(r"(?im)^citation[ _]?key:[ \t]*([^\s,{}]+)[ \t]*$")
"""In the field *Extra*, where Better BibTeX wrote keys that are pinned before Zotero had a field for them."""
_SWITCH = "Allow other applications on this computer to communicate with Zotero"


class _Place(NamedTuple):
    """Where the items of a library or a collection are.

    Attributes:
        items: path below the API.
        group: name of the group whose library has them; "" is the user's own.
    """

    items: str
    group: str


def zotero_papers(name: str = "") -> Iterator[PaperRecord | None]:
    """The papers of the user's library or of a group's, or of one collection without those within it.

    Args:
        name: name or key of a collection; "" is the whole library. ``groups/GROUP`` is the library of a group by its
            name or number, and ``groups/GROUP/COLLECTION`` a collection there.

    Yields:
        a paper whose id is the item's key; None for an item that cannot be read. Notes and attachments are none.

    Raises:
        InputError: Zotero does not run or its local API is switched off, an answer is none of the API, or several
            groups or collections have the name.
        NotFoundError: there is no such group or collection.
    """
    with zotero_client() as client:
        for item in _items(client, _place(client, name)):
            yield _paper(item)


def zotero_bibliography(name: str = "") -> Iterator[PaperRecord]:
    """The papers of a library whose ids are the keys by which the user cites them; items without such a key are none.

    Better BibTeX is asked for the keys of items that show none.

    Raises:
        InputError: as of :func:`zotero_papers`, Better BibTeX gives a strange answer, or no item has a citation key.
        NotFoundError: there is no such group or collection.
    """
    with zotero_client() as client:
        place = _place(client, name)
        # Records have no abstracts, so the number of items bounds the memory.
        read = [(_citation_key(item), paper) for item in _items(client, place) if (paper := _paper(item))]
        hidden = plugin_keys(client, [paper.id for key, paper in read if not key], place.group)
    found = False
    for shown, paper in read:
        if key := shown or hidden.get(paper.id, ""):
            found = True
            yield replace(paper, id=key)
    if not found:
        raise InputError(
            "no item has a citation key",
            where=PREFIX + name,
            hint="Zotero 8 has them, and Better BibTeX where it is installed; or export a .bib and give that",
        )


def _place(client: httpx.Client, name: str) -> _Place:
    """Where the items of the library or collection are that a name means."""
    library, group, collection, where = "users/0/", "", name, PREFIX
    if name.startswith(GROUPS):
        asked, _, collection = name.removeprefix(GROUPS).partition("/")
        number, group = _chosen(client, "users/0/groups", "id", asked, PREFIX + GROUPS)
        library, where = f"groups/{number}/", f"{PREFIX}{GROUPS}{asked}/"
    within = ""
    if collection:
        within = f"collections/{_chosen(client, f'{library}collections', 'key', collection, where)[0]}/"
    return _Place(f"{library}{within}items/top", group)


def _items(client: httpx.Client, place: _Place) -> Iterator[dict[str, Any]]:
    """The items of a place but for notes and attachments."""
    for item in _pages(client, place.items):
        data = item.get("data")
        if not isinstance(data, dict) or data.get("itemType") not in _NO_PAPER:
            yield item


def _chosen(client: httpx.Client, path: str, field: str, name: str, where: str) -> tuple[str, str]:
    """What identifies the object of a path that a name means, and its name.

    A name means an object by its key or number, or else by its name in any case.
    """
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
    return keys[0], names[keys[0]]


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
    asked: dict[str, str | int] = {"format": "json", "limit": PAGE, "start": start}
    asked |= {"sort": "dateAdded", "direction": "asc"}
    status, body = answer_of(client, f"api/{path}", params=asked)
    if status == 403:
        raise InputError(
            "its local API is switched off",
            where="Zotero",
            hint=f"switch on '{_SWITCH}' in its settings, under Advanced",
        )
    if status != 200:
        raise _strange(f"status {status} for {path}")
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
    if is_key(own):
        return own
    return written[1] if written else ""


def _name(creator: dict[str, Any]) -> str:
    """An author's name; empty for another role, such as an editor's."""
    if creator.get("creatorType", "author") != "author":
        return ""
    parts = (text(creator, "firstName"), text(creator, "lastName"), text(creator, "name"))
    return " ".join(" ".join(parts).split())
