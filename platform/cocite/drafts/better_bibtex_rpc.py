"""Citation keys as Better BibTeX has them, asked of the plug-in in the Zotero that runs on this machine.

Source: https://retorque.re/zotero-better-bibtex/exporting/json-rpc/, methods ``item.citationkey`` and ``user.groups``.
They tell keys that are not pinned, too, which Zotero before version 8 does not show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cocite.drafts.zotero_client import answer_of
from cocite.errors import InputError

if TYPE_CHECKING:
    import httpx

PATH = "better-bibtex/json-rpc"
"""Of the plug-in, at Zotero's port."""
BATCH = 1000
"""Items of a question."""
MAX_KEY = 500
"""Characters of a citation key."""
_WHERE = "Better BibTeX"
_NO_KEY = re.compile(r"[\s,{}]")
"""What no key of LaTeX has."""
_UPDATE = "update the plug-in, or export the library as .bib and give the file"


def is_key(text: object) -> bool:
    """Whether a text can be a citation key.

    Example:
        >>> is_key("lee2019parsing"), is_key("two words"), is_key(None)
        (True, False, False)
    """
    return isinstance(text, str) and 0 < len(text) <= MAX_KEY and not _NO_KEY.search(text)


def plugin_keys(client: httpx.Client, items: Sequence[str], group: str = "") -> dict[str, str]:
    """The citation keys of some items; empty where Zotero has no Better BibTeX.

    Args:
        client: of :func:`~cocite.drafts.zotero_client.zotero_client`.
        items: their keys in Zotero, which are in one library.
        group: name of the group whose library that is; "" is the user's own.

    Returns:
        key of an item -> its citation key, without items that have none.

    Raises:
        InputError: nothing answers, the answer is an error or none of the plug-in, or several libraries have the name.
    """
    found: dict[str, str] = {}
    before = ""
    if group and items:
        number = _library(client, group)
        if number is None:
            return {}
        before = f"{number}:"
    for first in range(0, len(items), BATCH):
        asked = [f"{before}{item}" for item in items[first : first + BATCH]]
        keys = _result(client, "item.citationkey", asked)
        if keys is None:
            return {}
        if not isinstance(keys, dict):
            raise _strange("no keys")
        # A key is taken over for what was asked for alone.
        found |= {item.removeprefix(before): keys[item] for item in asked if is_key(keys.get(item))}
    return found


def _library(client: httpx.Client, name: str) -> int | None:
    """The number of a group's library in this Zotero, which is another one than the group's; None: no plug-in."""
    libraries = _result(client, "user.groups")
    if libraries is None:
        return None
    if not isinstance(libraries, list) or not all(isinstance(one, dict) for one in libraries):
        raise _strange("no list of libraries")
    numbers = [one.get("id") for one in libraries if one.get("name") == name]
    if len(numbers) != 1:
        what = "no library is" if not numbers else f"{len(numbers)} libraries are"
        raise InputError(
            f"{what} called {name!r}",
            where=_WHERE,
            hint="it knows groups by their names alone: give the group another name, or pin its keys",
        )
    if not isinstance(numbers[0], int) or isinstance(numbers[0], bool):
        raise _strange("a library without a number")
    return numbers[0]


def _result(client: httpx.Client, method: str, *params: object) -> Any:
    """What a method answers; None where Zotero does not have the plug-in."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    status, body = answer_of(client, PATH, asked=asked, where=_WHERE)
    if status == 404:
        return None
    if status != 200:
        raise _strange(f"status {status}")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _strange("no JSON") from error
    if not isinstance(answer, dict):
        raise _strange("no object")
    if (refusal := answer.get("error")) is not None:
        said = refusal.get("message") if isinstance(refusal, dict) else refusal
        raise InputError(
            f"it cannot say the citation keys: {' '.join(str(said).split())[:200]}",
            where=_WHERE,
            hint=_UPDATE,
        )
    if answer.get("result") is None:
        raise _strange("no result")
    return answer["result"]


def _strange(what: str) -> InputError:
    return InputError(f"the answer is none of its JSON-RPC: {what}", where=_WHERE, hint=_UPDATE)
