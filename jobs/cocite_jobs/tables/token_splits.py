"""How the tokens of a pair are split between query and candidate (Nogueira et al., section 5.3, figure 1).

Two questions: how well a reranker reads other splits than the one that it was trained for, and how well one does that
was trained for each. The paper seems to train for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cocite.errors import InputError
from cocite.evaluation.metrics import Measurement
from cocite.evaluation.report import Table, marked_table, name_of_test, note_on_f1
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer

EIGHTHS = (1, 2, 3, 4, 5, 6, 7)
"""Eighths of a pair's tokens that the query gets: of 512, from 64 to 448, as the paper's text names them."""
TRAINED = "trained for it"
"""What is added to the name of a column of rerankers that were each trained for the split of their row."""

Rerank = Callable[[CrossEncoder, str], Measurement]
"""Measures a cross-encoder's order of the candidates; the name is of its progress bar."""


def split_of(total: int, eighths: int) -> tuple[int, int]:
    """Tokens of query and of candidate where the query gets some eighths of them.

    Example:
        >>> split_of(512, 1), split_of(112, 3)
        ((64, 448), (42, 70))
    """
    query = round(eighths * total / 8)
    return query, total - query


def table_of_splits(model: Path, trained: Sequence[Path], rerank: Rerank, note: str) -> Table:
    """One row a split: the same weights in each row, beside rerankers that were trained for their split.

    Args:
        model: model folder, whose cross-encoder reads every split.
        trained: model folders of cross-encoders, each of which reads the split that it was trained for; may be empty.
        rerank: measures a cross-encoder.
        note: on the candidates.

    Raises:
        InputError: two of ``trained`` were trained for one split.
    """
    same = _same_weights(model, rerank)
    half = _name(*split_of(CrossEncoder.load(model).pairs.settings.total, 4))
    note = f"{note}; tokens of query + candidate."
    if not trained:
        return marked_table("token budgets", same, half, note=f"{note} The same weights in each row.")
    own = _each_trained(trained, rerank)
    base = half if half in own else next(iter(own))
    beside = marked_table("", own, base)
    return _joined(
        marked_table("token budgets", same, half),
        beside,
        f"{note} The first columns are of the same weights in each row, the others of a reranker trained for each. "
        f"* better, - worse than {half}"
        + (f" (in the last columns {base})" if base != half else "")
        + f" ({name_of_test([same[half], own[base]])}). {note_on_f1(same[half].means)}".rstrip(),
    )


def _same_weights(model: Path, rerank: Rerank) -> Mapping[str, Measurement]:
    cross_encoder = CrossEncoder.load(model)
    settings = cross_encoder.pairs.settings
    measured = {}
    for eighths in EIGHTHS:
        query, candidate = split_of(settings.total, eighths)
        split = {"query_tokens": query, "candidate_tokens": candidate, "share": False}
        cross_encoder.set_pairs(
            PairTokenizer(cross_encoder.pairs.tokenizer, settings.model_copy(update=split))
        )
        measured[_name(query, candidate)] = rerank(cross_encoder, f"{_name(query, candidate)} tokens")
    return measured


def _each_trained(folders: Sequence[Path], rerank: Rerank) -> Mapping[str, Measurement]:
    measured: dict[str, Measurement] = {}
    for folder in folders:
        cross_encoder = CrossEncoder.load(folder)
        settings: PairSettings = cross_encoder.pairs.settings
        name = _name(settings.query_tokens, settings.candidate_tokens)
        if name in measured:
            raise InputError(f"a second cross-encoder of {name} tokens", where=str(folder), hint="name one")
        measured[name] = rerank(cross_encoder, f"{name} tokens, trained")
    return measured


def _joined(same: Table, own: Table, note: str) -> Table:
    """The rows of both tables by tokens of the query; a cell that one lacks is NaN."""
    cells = [{row[0]: row[1:] for row in table.rows} for table in (same, own)]
    empty: list[Any] = [math.nan] * (len(same.columns) - 1)
    names = sorted({*cells[0], *cells[1]}, key=lambda name: [int(part) for part in name.split(" + ")])
    rows = [[name, *(cell for part in cells for cell in part.get(name, empty))] for name in names]
    columns = [*same.columns, *(f"{column}, {TRAINED}" for column in own.columns[1:])]
    return Table(same.title, columns, rows, note)


def _name(query: int, candidate: int) -> str:
    return f"{query} + {candidate}"
