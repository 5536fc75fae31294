"""Query and candidate as one sequence of tokens: what a cross-encoder reads.

Two layouts:

- ``local`` (HAtten + SciBERT, section 4.2):
  ``[CLS] context, citing title and abstract [SEP] title and abstract [SEP]``. The context stands first, unlike in the
  paper's figure 3: what does not fit is cut from the end, and the context says most. The gap is one token; marks of
  other citations are left out.
- ``global`` (Nogueira et al., section 3): ``[CLS] title and abstract [SEP] title and abstract [SEP]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer

from cocite.bounds import Name
from cocite.config import Settings
from cocite.errors import ConfigError, InputError
from cocite.protocols import Query
from cocite.text.gaps import split_at_gap
from cocite.text.pair_batch import PairBatch
from cocite.text.paper_text import paper_text
from cocite.text.token_lists import TokenLists, spans

MASK = "mask"


class PairSettings(Settings):
    """How a query and a candidate share the tokens that a model can read (Nogueira et al., figure 1)."""

    layout: Literal["local", "global"] = "local"
    """``local``: context, then title and abstract of the citing paper. ``global``: title and abstract alone."""
    query_tokens: int = Field(256, ge=8, le=32_768)
    """Tokens of a query, the marks before and behind it counted."""
    candidate_tokens: int = Field(256, ge=8, le=32_768)
    """Tokens of a candidate, the mark behind it counted."""
    share: bool = True
    """What one side does not need goes to the other, up to the sum; else each side has its own and no more."""
    context_tokens: int = Field(192, ge=3, le=32_768)
    """Tokens of the context, taken around its gap."""
    gap: Name = MASK
    """The token of the gap: ``mask``, the tokenizer's own mask token, or a text that is one token or becomes one."""

    @property
    def total(self) -> int:
        """Tokens of a pair at most."""
        return self.query_tokens + self.candidate_tokens


@dataclass(frozen=True)
class _Frame:
    """The special tokens of a pair, as the tokenizer sets them, and the token types of its two sides."""

    before: NDArray[np.int32]
    between: NDArray[np.int32]
    behind: NDArray[np.int32]
    between_types: NDArray[np.int64]
    query_type: int
    candidate_type: int

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Frame:
        pair = tokenizer.encode("a", "b", add_special_tokens=True)
        ids, types = np.array(pair.ids, np.int32), np.array(pair.type_ids, np.int64)
        side = np.array([-1 if of is None else of for of in pair.sequence_ids])
        query, candidate = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
        if not len(query) or not len(candidate) or query[0] > candidate[0]:
            raise InputError("the tokenizer does not put two texts into one sequence, one behind the other")
        inner = slice(int(query[-1]) + 1, int(candidate[0]))
        return cls(
            before=ids[: query[0]],
            between=ids[inner],
            behind=ids[candidate[-1] + 1 :],
            between_types=types[inner],
            query_type=int(types[query[0]]),
            candidate_type=int(types[candidate[0]]),
        )


class PairTokenizer:
    """Makes tokens of queries and papers, and pairs of them.

    Safe to share among threads. Texts are tokenised in batches, in Rust; a text that spells a special token
    (``[SEP]``) is read as ordinary characters.

    Args:
        tokenizer: a fast Hugging Face tokenizer; a new gap token is added to it.
        settings: layout and budgets.

    Raises:
        InputError: the tokenizer has no fast form, or frames pairs in a way that is not understood.
        ConfigError: the budgets leave a side no token, or ``gap: mask`` without a mask token.
    """

    def __init__(self, tokenizer: Any, settings: PairSettings) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                f"the tokenizer {type(tokenizer).__name__} has no fast form",
                hint="a tokenizer.json is needed beside the model",
            )
        self.tokenizer, self.settings = tokenizer, settings
        self.gap = self._gap_token()
        # A copy of its own: truncation and padding that came with the tokenizer are state, and would meddle.
        self._rust = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._rust.no_truncation()
        self._rust.no_padding()
        self._rust.encode_special_tokens = True
        self._frame = _Frame.of(self._rust)
        self._query_room = settings.query_tokens - len(self._frame.before) - len(self._frame.between)
        self._candidate_room = settings.candidate_tokens - len(self._frame.behind)
        if min(self._query_room, self._candidate_room) < 1:
            raise ConfigError("query_tokens and candidate_tokens leave no room beside the special tokens")

    def _gap_token(self) -> int:
        name = self.settings.gap
        if name == MASK:
            if self.tokenizer.mask_token_id is None:
                raise ConfigError(
                    "gap: the tokenizer has no mask token", hint="name a token, such as '[CIT]'"
                )
            return int(self.tokenizer.mask_token_id)
        if self.tokenizer.get_vocab().get(name) is None:
            self.tokenizer.add_special_tokens(
                {"additional_special_tokens": [name]}, replace_extra_special_tokens=False
            )
        return int(self.tokenizer.convert_tokens_to_ids(name))

    @property
    def leads(self) -> bool:
        """Whether a special token stands before each pair, to be read by a model's head."""
        return len(self._frame.before) > 0

    @property
    def tells_sides(self) -> bool:
        """Whether token types tell a pair's query from its candidate."""
        return self._frame.query_type != self._frame.candidate_type

    @property
    def vocabulary_size(self) -> int:
        """Rows that the model's word embeddings need: all tokens, an added gap included."""
        return len(self.tokenizer)

    @property
    def pad(self) -> int:
        """The token that padding is filled with; it is masked, so any will do where the tokenizer has none."""
        return int(self.tokenizer.pad_token_id or 0)

    @property
    def paper_limit(self) -> int:
        """Tokens of a paper that a pair can hold at most: no more need be kept."""
        return self._candidate_room + (self._query_room if self.settings.share else 0)

    def tokens(self, texts: Sequence[str]) -> TokenLists:
        """The tokens of some texts, uncut, without special ones."""
        found = self._rust.encode_batch_fast(list(texts), add_special_tokens=False)
        return TokenLists.of([encoding.ids for encoding in found])

    def papers(self, titles: Sequence[str], abstracts: Sequence[str]) -> TokenLists:
        """Title and abstract of each paper, cut at :attr:`paper_limit`."""
        return self.tokens([paper_text(*texts) for texts in zip(titles, abstracts, strict=True)]).head(
            self.paper_limit
        )

    def queries(self, queries: Sequence[Query]) -> TokenLists:
        """The query's side of its pairs, without special tokens: uncut, but for a context that is too long.

        A query without a context is read by its title and abstract in both layouts.
        """
        citing = self.tokens([paper_text(query.title, query.abstract) for query in queries])
        if self.settings.layout == "global":
            return citing
        sides = [split_at_gap(query.context) for query in queries]
        before, behind = self.tokens([left for left, _ in sides]), self.tokens([right for _, right in sides])
        gap = TokenLists(
            np.array([self.gap], np.int32),
            np.zeros(len(queries), np.int64),
            np.array([query.is_local for query in queries], np.int64),
        )
        # Each side of the gap may have half of the room, and what the other side leaves.
        room = self.settings.context_tokens - 1
        left = np.minimum(before.counts, np.maximum(room - behind.counts, (room + 1) // 2))
        return TokenLists.joined([before.tail(left), gap, behind.head(room - left), citing])

    def cut(
        self, query: NDArray[np.int64], candidate: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokens that each pair keeps of its two sides.

        Args:
            query, candidate: (b,) tokens of each side before, without special ones.

        Returns:
            (b,) each: tokens after. Only what exceeds a side's budget is cut; what a side does not need goes to the
            other when ``share`` is set.
        """
        if not self.settings.share:
            return np.minimum(query, self._query_room), np.minimum(candidate, self._candidate_room)
        spare_query = np.maximum(self._query_room - query, 0)
        spare_candidate = np.maximum(self._candidate_room - candidate, 0)
        return (
            np.minimum(query, self._query_room + spare_candidate),
            np.minimum(candidate, self._candidate_room + spare_query),
        )

    def lengths(self, queries: TokenLists, candidates: TokenLists) -> NDArray[np.int64]:
        """(b,) tokens of each pair of :meth:`batch`, special ones included."""
        left, right = self.cut(queries.counts, candidates.counts)
        frame = self._frame
        return left + right + (len(frame.before) + len(frame.between) + len(frame.behind))

    def batch(self, queries: TokenLists, candidates: TokenLists) -> PairBatch:
        """The pairs (query i, candidate i), packed; on the CPU.

        Args:
            queries, candidates: b lists each, from :meth:`queries` and :meth:`papers`; take a list several times
                (:meth:`TokenLists.take`) to pair it several times: that copies no token.
        """
        frame = self._frame
        left, right = self.cut(queries.counts, candidates.counts)
        lengths = left + right + (len(frame.before) + len(frame.between) + len(frame.behind))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.empty(offsets[-1], np.int64)
        types = np.full(offsets[-1], frame.query_type, np.int64)
        place = offsets[:-1]

        place = _set(ids, place, frame.before)
        ids[spans(place, left)] = queries.ids[spans(queries.starts, left)]
        place = place + left
        _set(types, place, frame.between_types)
        place = _set(ids, place, frame.between)
        rest = offsets[1:] - place
        types[spans(place, rest)] = frame.candidate_type
        ids[spans(place, right)] = candidates.ids[spans(candidates.starts, right)]
        _set(ids, place + right, frame.behind)
        return PairBatch(
            torch.from_numpy(ids),
            torch.from_numpy(types),
            torch.from_numpy(offsets),
            int(lengths.max(initial=0)),
        )


def _set(
    target: NDArray[np.int64], place: NDArray[np.int64], values: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Write the same few values at each place; returns the places behind them."""
    target[place[:, None] + np.arange(len(values))] = values
    return place + len(values)
