"""Makes the tables of a share from a block of lines, for all of its records that break no rule, by columns.

A record is *plain* when no rule has anything to say about it by itself. The tables hold what
:class:`~cocite.corpus.share.ShareBuilder` makes of the same records one by one; the others are left to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.fields import CONTEXT, PAPER
from cocite.corpus.record_block import RAW, RecordBlock
from cocite.corpus.records import PAPERS, SPLITS, TARGET_MARK
from cocite.corpus.rules import Limits
from cocite.corpus.store import id_hashes
from cocite.corpus.text_columns import cleaned, is_plain_id

Columns = dict[str, pa.Array]
MAX_NUMBER = (1 << 63) - 1
"""Of a context without an id."""


@dataclass
class PlainRecords:
    """The plain records of one kind in a block.

    Attributes:
        lines: (n,) the line of each, ascending.
        columns: of the table of their kind, but for the place of a record.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.rules import Limits
        >>> from cocite.corpus.share_columns import BlockHashes, plain_contexts
        >>> text = '{"citing": "b", "cited": ["a"], "context": "as [CIT] says"}'
        >>> _ = Path("one.jsonl").write_text(text + "\\n")
        >>> block = next(open_source("one.jsonl").record_blocks())
        >>> made = plain_contexts(block, Limits(), BlockHashes(block.columns))
        >>> made.lines.tolist(), made.columns["text"].to_pylist()
        ([0], ['as TARGETCIT says'])
    """

    lines: NDArray[np.int64]
    columns: Columns


@dataclass
class PlainPapers(PlainRecords):
    """The plain papers of a block.

    Attributes:
        links: the columns of the table of links, but for the place, of those papers that have any.
        has_links: (n,) which they are.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.rules import Limits
        >>> from cocite.corpus.share_columns import BlockHashes, plain_papers
        >>> lines = ['{"id": "a", "title": "A"}', '{"id": "b", "title": "B", "citations": ["a"]}', '{"id": "c"}']
        >>> _ = Path("three.jsonl").write_text("\\n".join(lines))
        >>> block = next(open_source("three.jsonl").record_blocks())
        >>> made = plain_papers(block, Limits(), BlockHashes(block.columns))
        >>> made.lines.tolist(), made.has_links.tolist(), made.links["cited_ids"].to_pylist()
        ([0, 1], [False, True], [[b'a']])
    """

    links: Columns
    has_links: NDArray[np.bool_]


def plain_papers(block: RecordBlock, limits: Limits, hashes: BlockHashes) -> PlainPapers:
    """The plain papers of a block."""
    raw = block.columns
    rows = _Rows(raw, _of_kind(raw, "title", PAPER))
    columns: Columns = {"id": rows.plain_id("id", limits.id), "title": rows.text("title", limits.title)}
    rows.keep &= _sizes(columns["title"]) > 0
    columns["abstract"] = rows.text("abstract", limits.abstract)
    columns["venue"] = rows.text("venue", limits.venue)
    columns["doi"] = rows.text("doi", limits.name)
    columns["authors"] = rows.texts("authors", limits.name, limits.names)
    columns["keyphrases"] = rows.texts("keyphrases", limits.name, limits.names)
    years = rows.integers("year", 0)
    rows.keep &= (years == 0) | ((years >= limits.first_year) & (years <= limits.last_year))
    columns["year"] = pa.array(np.where(rows.keep, years, 0), pa.int16())
    codes = pc.index_in(rows.filled("split", ""), pa.array(SPLITS))
    rows.keep &= codes.is_valid().to_numpy(zero_copy_only=False)
    columns["split"] = pc.fill_null(codes, 0).cast(pa.int8())
    own = hashes.of("id")[rows.rows]
    columns["hash"] = pa.array(own)
    cited, owner = rows.ids("citations", limits.citations)
    cited_hashes = hashes.of_lists("citations", rows.chosen)
    rows.keep[owner[cited_hashes == own[owner]]] = False
    columns["check"] = pa.array(
        np.fromiter((zlib.crc32(id_.encode()) for id_ in columns["id"].to_pylist()), np.uint32, rows.count)
    )
    keep = pa.array(rows.keep)
    chosen = {name: columns[name].filter(keep) for name in (*PAPERS.names, "hash", "check")}
    sizes = np.bincount(owner, minlength=rows.count)
    has_links = rows.keep & (sizes > 0)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    links = {
        "citing": columns["hash"],
        "citing_id": columns["id"].cast(pa.binary()),
        "cited": pa.ListArray.from_arrays(offsets, pa.array(cited_hashes)),
        "cited_ids": pa.ListArray.from_arrays(offsets, cited.cast(pa.binary())),
    }
    links = {name: column.filter(pa.array(has_links)) for name, column in links.items()}
    return PlainPapers(block.lines[rows.rows[rows.keep]], chosen, links, has_links[rows.keep])


def plain_contexts(block: RecordBlock, limits: Limits, hashes: BlockHashes) -> PlainRecords:
    """The plain contexts of a block; where the source gives no id, the id is empty and the number 0, otherwise -1."""
    raw = block.columns
    rows = _Rows(raw, _of_kind(raw, "context", CONTEXT))
    text, broken = cleaned(pc.replace_substring(rows.raw["context"], "[CIT]", TARGET_MARK), limits.context)
    rows.keep &= ~broken & (_sizes(text) > 0)
    ids = rows.filled("id", "")
    numbered = _sizes(ids) == 0
    citing = rows.filled("citing", "")
    rows.keep &= is_plain_id(citing)
    # An id that is made of a number must fit, too.
    fits = np.where(numbered, _sizes(citing) + len(f"/{MAX_NUMBER}"), _sizes(ids)) <= limits.id
    rows.keep &= fits & (numbered | is_plain_id(ids))
    own = hashes.of("citing")[rows.rows]
    _, owner = rows.ids("cited", limits.group)
    cited_hashes = hashes.of_lists("cited", rows.chosen)
    sizes = np.bincount(owner, minlength=rows.count)
    rows.keep[owner[cited_hashes == own[owner]]] = False
    rows.keep &= sizes > 0
    order = np.lexsort((cited_hashes, owner))
    same = (owner[order[1:]] == owner[order[:-1]]) & (cited_hashes[order[1:]] == cited_hashes[order[:-1]])
    rows.keep[owner[order[1:]][same]] = False
    columns: Columns = {
        "citing": pa.array(own),
        "cited": pa.ListArray.from_arrays(
            pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32()), pa.array(cited_hashes)
        ),
        "id": ids,
        "citing_id": citing,
        "text": text,
        "section": rows.text("section", limits.section),
        "sentence": rows.int32("sentence", -1),
        "group": rows.int32("group", -1),
        "unresolved": rows.int32("unresolved", 0),
        "number": pa.array(np.where(numbered, 0, -1), pa.int64()),
    }
    keep = pa.array(rows.keep)
    chosen = {name: column.filter(keep) for name, column in columns.items()}
    return PlainRecords(block.lines[rows.rows[rows.keep]], chosen)


class BlockHashes:
    """The hashes of all ids of a block, each distinct one hashed once.

    Args:
        raw: the columns of a block.

    Example:
        >>> from cocite.corpus.record_block import RAW
        >>> from cocite.corpus.share_columns import BlockHashes
        >>> from cocite.corpus.store import id_hash
        >>> raw = pa.RecordBatch.from_pylist([{"id": "b", "title": "B", "citations": ["a", "b"]}], schema=RAW)
        >>> hashes = BlockHashes(raw)
        >>> hashes.of("id").tolist() == [id_hash("b")]
        True
        >>> hashes.of_lists("citations", np.array([True])).tolist() == [id_hash("a"), id_hash("b")]
        True
    """

    def __init__(self, raw: pa.RecordBatch) -> None:
        ids = [raw[name] for name in ("id", "citing")]
        lists = [raw[name] for name in ("citations", "cited")]
        pieces = [*ids, *(column.flatten() for column in lists)]
        encoded = pa.chunked_array(pieces, pa.string()).fill_null("").combine_chunks().dictionary_encode()
        hashes = id_hashes(encoded.dictionary.cast(pa.binary()).to_pylist())[encoded.indices.to_numpy()]
        cuts = np.cumsum([len(piece) for piece in pieces])
        self._of = dict(zip(("id", "citing", "citations", "cited"), np.split(hashes, cuts), strict=False))
        self._owner = {
            name: np.repeat(np.arange(len(column)), _list_sizes(column))
            for name, column in zip(("citations", "cited"), lists, strict=True)
        }

    def of(self, name: str) -> NDArray[np.uint64]:
        """(rows,) the hashes of a column of ids; of null that of an empty id."""
        return self._of[name]

    def of_lists(self, name: str, chosen: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """The hashes of the items of some rows of a column of lists."""
        return self._of[name][chosen[self._owner[name]]]


class _Rows:
    """Some rows of a block, and which of them have been plain so far."""

    def __init__(self, raw: pa.RecordBatch, chosen: NDArray[np.bool_]) -> None:
        self.chosen = chosen
        self.rows = np.flatnonzero(chosen)
        self.raw = raw if len(self.rows) == len(chosen) else raw.filter(pa.array(chosen))
        self.count = len(self.rows)
        self.keep = np.ones(self.count, bool)

    def filled(self, name: str, default: str | int) -> pa.Array:
        column = self.raw[name]
        return pc.fill_null(column, default) if column.null_count else column

    def plain_id(self, name: str, limit: int) -> pa.Array:
        ids = self.filled(name, "")
        self.keep &= is_plain_id(ids) & (_sizes(ids) <= limit)
        return ids

    def text(self, name: str, limit: int) -> pa.Array:
        texts, broken = cleaned(self.raw[name], limit)
        self.keep &= ~broken
        return texts

    def texts(self, name: str, limit: int, most: int) -> pa.Array:
        column = self.raw[name]
        flat, sizes = column.flatten(), _list_sizes(column)
        texts, broken = cleaned(flat, limit)
        # An empty text, or null, is left out of the list.
        self.keep[np.repeat(np.arange(self.count), sizes)[broken | (_sizes(texts) == 0)]] = False
        self.keep &= sizes <= most
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, texts)

    def ids(self, name: str, most: int) -> tuple[pa.Array, NDArray[np.int64]]:
        """The ids of all lists, and the row of each."""
        column = self.raw[name]
        flat, sizes = column.flatten(), _list_sizes(column)
        owner = np.repeat(np.arange(self.count), sizes)
        self.keep[owner[~is_plain_id(flat)]] = False
        self.keep &= sizes <= most
        return (pc.fill_null(flat, "") if flat.null_count else flat), owner

    def integers(self, name: str, default: int) -> NDArray[np.int64]:
        return np.asarray(self.filled(name, default).to_numpy())

    def int32(self, name: str, default: int) -> pa.Array:
        values = self.integers(name, default)
        fits = values == values.astype(np.int32)
        self.keep &= fits
        return pa.array(np.where(fits, values, 0), pa.int32())


def _of_kind(raw: pa.RecordBatch, filled: str, fields: Mapping[str, object]) -> NDArray[np.bool_]:
    """The rows in which one field is there, and none that the kind of record does not have."""
    result: NDArray[np.bool_] = raw[filled].is_valid().to_numpy(zero_copy_only=False)
    for name in RAW.names:
        if name not in fields and raw[name].null_count < raw.num_rows:
            result = result & raw[name].is_null().to_numpy(zero_copy_only=False)
    return result


def _sizes(texts: pa.Array) -> NDArray[np.int32]:
    """Bytes of each text; of ids and other ASCII the characters."""
    return np.asarray(pc.binary_length(texts).to_numpy(zero_copy_only=False))


def _list_sizes(lists: pa.Array) -> NDArray[np.int32]:
    sizes = lists.value_lengths()
    return np.asarray((pc.fill_null(sizes, 0) if sizes.null_count else sizes).to_numpy(zero_copy_only=False))
