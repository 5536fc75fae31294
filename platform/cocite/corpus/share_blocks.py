"""Puts blocks of lines into a share: plain records by columns, the others one by one, in the order of the lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.hits import Hit
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.rules import Limits
from cocite.corpus.share_columns import BlockHashes, plain_contexts, plain_papers

ReadLine = Callable[[int, int, int], tuple[int, int]]
"""Takes the records of a line one by one, from the line, the place of the first in the share, and the number of the
next context without an id; returns how many records there were, and how many contexts without an id."""


class BlockTables:
    """The plain records of the blocks of a share.

    Args:
        schemas: of the tables of a share, by name.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.rules import Limits
        >>> from cocite.corpus.share import TABLES
        >>> from cocite.corpus.share_blocks import BlockTables
        >>> _ = Path("two.jsonl").write_text('{"id": "a", "title": "A"}\\nno JSON\\n')
        >>> tables = BlockTables(TABLES)
        >>> block = next(open_source("two.jsonl").record_blocks())
        >>> tables.add(block, Limits(), file=0, records=0, read_line=lambda line, place, number: (1, 0))
        (2, 0)
        >>> empty = {name: pa.RecordBatch.from_pylist([], schema=schema) for name, schema in TABLES.items()}
        >>> tables.merged(empty, [])["papers"]["id"].to_pylist()
        ['a']
    """

    def __init__(self, schemas: Mapping[str, pa.Schema]) -> None:
        self._schemas = schemas
        self._pieces: dict[str, list[pa.RecordBatch]] = {"papers": [], "links": [], "contexts": []}
        self._papers = 0

    def add(
        self,
        block: RecordBlock,
        limits: Limits,
        *,
        file: int,
        records: int,
        read_line: ReadLine,
    ) -> tuple[int, int]:
        """Put the plain records of a block in, and have the others read.

        Args:
            block: the lines; its number is moved on.
            limits: what a field may hold.
            file: position of the block's file among those of the share.
            records: of the share before the block.
            read_line: see :data:`ReadLine`.

        Returns:
            The numbers of records of the block, and of links of its plain papers.
        """
        hashes = BlockHashes(block.columns)
        papers, contexts = plain_papers(block, limits, hashes), plain_contexts(block, limits, hashes)
        plain = np.union1d(papers.lines, contexts.lines)
        is_numbered = contexts.columns["number"].to_numpy() >= 0
        numbered = contexts.lines[is_numbered]
        others = np.union1d(np.setdiff1d(block.lines, plain), block.others)
        # Records, and contexts without an id, of the first so many of the other lines.
        made, numbers = [0], [0]
        before, before_numbers = np.searchsorted(plain, others), np.searchsorted(numbered, others)
        try:
            for line, place, number in zip(
                others.tolist(),
                (before + records).tolist(),
                (before_numbers + block.number).tolist(),
                strict=True,
            ):
                count, unnamed = read_line(line, place + made[-1], number + numbers[-1])
                made.append(made[-1] + count)
                numbers.append(numbers[-1] + unnamed)
        finally:
            # A strict import ends within the block: what stands before the record that ended it counts.
            def earlier(counts: list[int], lines: NDArray[np.int64]) -> NDArray[np.int64]:
                return np.array(counts)[np.minimum(np.searchsorted(others, lines), len(counts) - 1)]

            columns = contexts.columns
            number = np.full(len(contexts.lines), -1)
            number[is_numbered] = block.number + np.arange(len(numbered)) + earlier(numbers, numbered)
            made_ids = pc.binary_join_element_wise(
                columns.pop("citing_id"), pc.cast(pa.array(number), pa.string()), "/"
            )
            columns["id"] = pc.if_else(pa.array(is_numbered), made_ids, columns["id"])
            columns["number"] = pa.array(number)
            row_of = np.flatnonzero(papers.has_links)
            lines_of = {
                "papers": papers.lines,
                "links": papers.lines[row_of],
                "contexts": contexts.lines,
            }
            papers.links["owner"] = pa.array(row_of + self._papers, pa.int32())
            columns_of = {"papers": papers.columns, "links": papers.links, "contexts": columns}
            for name, lines in lines_of.items():
                place = records + np.searchsorted(plain, lines) + earlier(made, lines)
                placed = columns_of[name] | {
                    "sequence": pa.array(place, pa.int32()),
                    "file": pa.array(np.full(len(lines), file), pa.int32()),
                    "line": pa.array(lines + block.first_line, pa.int64()),
                }
                schema = self._schemas[name]
                self._pieces[name].append(
                    pa.RecordBatch.from_arrays([placed[column] for column in schema.names], schema=schema)
                )
            self._papers += len(papers.lines)
            block.number += len(numbered) + numbers[-1]
        links = int(pc.sum(pc.list_value_length(papers.links["cited"])).as_py() or 0)
        return len(plain) + made[-1], links

    def merged(self, tables: Mapping[str, pa.RecordBatch], hits: Sequence[Hit]) -> dict[str, pa.RecordBatch]:
        """The tables of a share: the plain records among those that were taken one by one, in their order.

        Args:
            tables: of the records that were taken one by one.
            hits: of the same; the rows of their papers are changed to those among all papers.
        """
        result = dict(tables)
        ones = tables["papers"].num_rows
        orders = {}
        for name, pieces in self._pieces.items():
            if name == "links":
                pieces = [_with_column(piece, "owner", piece["owner"].to_numpy() + ones) for piece in pieces]
            batch = _concatenated([tables[name], *pieces], self._schemas[name])
            sequence = batch["sequence"].to_numpy()
            orders[name] = order = np.argsort(sequence, kind="stable")
            result[name] = batch if (np.diff(sequence) >= 0).all() else batch.take(pa.array(order))
        row = np.empty(len(orders["papers"]), np.int32)
        row[orders["papers"]] = np.arange(len(row))
        owner = result["links"]["owner"].to_numpy()
        if len(owner):
            owner = np.where(owner >= 0, row[owner] if len(row) else owner, -1)
            result["links"] = _with_column(result["links"], "owner", owner)
        for hit in hits:
            if hit.owner >= 0:
                hit.owner = int(row[hit.owner])
        return result


def _concatenated(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    filled = [batch for batch in batches if batch.num_rows]
    if len(filled) == 1:
        return filled[0]
    table = pa.Table.from_batches(filled, schema).combine_chunks()
    return next(iter(table.to_batches()), pa.RecordBatch.from_pylist([], schema=schema))


def _with_column(table: pa.RecordBatch, name: str, values: NDArray[np.int32]) -> pa.RecordBatch:
    field = table.schema.field(name)
    return table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))
