"""Puts query and candidate into one sequence of tokens, which a cross-encoder reads.

Two layouts:

- ``local`` (HAtten + SciBERT, section 4.2):
  ``[CLS] context, citing title and abstract [SEP] title and abstract [SEP]``. By default the context comes first,
  unlike in the paper's figure 3, because tokens that do not fit are cut from the end and the context matters most; with
  ``context: last`` the citing abstract is cut so that the context behind it is whole. The gap is one token; marks of
  other citations are left out.
- ``global`` (Nogueira et al., section 3): ``[CLS] title and abstract [SEP] title and abstract [SEP]``.
"""

from __future__ import annotations

import hashlib
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
    """How a query and a candidate share the tokens that a model can read (Nogueira et al., figure 1).

    Example:
        >>> PairSettings(layout="global", query_tokens=100, candidate_tokens=200).total
        300
    """

    layout: Literal["local", "global"] = "local"
    """``local``: context, then title and abstract of the citing paper. ``global``: title and abstract alone."""
    query_tokens: int = Field(256, ge=8, le=32_768)
    """Tokens of a query, with the special tokens before and behind it."""
    candidate_tokens: int = Field(256, ge=8, le=32_768)
    """Tokens of a candidate, with the special token behind it."""
    share: bool = True
    """Whether a side may use the tokens that the other side leaves, up to the sum of both."""
    context: Literal["first", "last"] = "first"
    """Whether the context stands before title and abstract of the citing paper, or behind them, as in HAtten's paper.
    ``last``: the query then keeps to ``query_tokens``, whatever ``share`` says, and its abstract is cut."""
    context_tokens: int = Field(192, ge=3, le=32_768)
    """Tokens of the context, taken around its gap."""
    gap: Name = MASK
    """The token of the gap: ``mask`` is the tokenizer's mask token; another text is added as a token if it is none."""

    @property
    def total(self) -> int:
        """Most tokens of a pair."""
        return self.query_tokens + self.candidate_tokens


@dataclass(frozen=True)
class _Frame:
    """The special tokens around the two sides of a pair, and the token types of the sides."""

    before: NDArray[np.int32]
    between: NDArray[np.int32]
    behind: NDArray[np.int32]
    between_types: NDArray[np.int64]
    query_type: int
    candidate_type: int

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Frame:
        """Find them out from how the tokenizer encodes a pair of one-letter texts."""
        pair = tokenizer.encode("a", "b", add_special_tokens=True)
        ids, types = np.array(pair.ids, np.int32), np.array(pair.type_ids, np.int64)
        side = np.array([-1 if sequence is None else sequence for sequence in pair.sequence_ids])
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
    """Tokenises queries and papers, and packs pairs of them.

    Safe to share among threads. Rust code tokenises texts in batches; a text that spells a special token (``[SEP]``) is
    read as ordinary characters.

    Args:
        tokenizer: a fast Hugging Face tokenizer; a new gap token is added to it.
        settings: layout and budgets.

    Raises:
        InputError: the tokenizer has no fast form, or does not put the query before the candidate.
        ConfigError: the budgets leave a side no token, or ``gap: mask`` without a mask token.

    Example:
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["parsing trees attention as in"] * 2, size=200)
        >>> pairs = PairTokenizer(tokenizer, PairSettings())
        >>> queries = pairs.queries([Query("q", context="attention as in [CIT]", title="Trees")])
        >>> batch = pairs.batch(queries, pairs.papers(["Parsing"], [""]))
        >>> tokenizer.decode(batch.ids)
        '[CLS] attention as in [MASK] trees [SEP] parsing [SEP]'
    """

    def __init__(self, tokenizer: Any, settings: PairSettings) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                f"the tokenizer {type(tokenizer).__name__} has no fast form",
                hint="a tokenizer.json is needed beside the model",
            )
        self.tokenizer, self.settings = tokenizer, settings
        self.gap = self._gap_token()
        # A copy, because truncation and padding are state of a tokenizer, which this one has to be without.
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
    def has_first_token(self) -> bool:
        """Whether each pair begins with a special token, whose state a model's head can read."""
        return len(self._frame.before) > 0

    @property
    def marks_sides(self) -> bool:
        """Whether a pair's query and candidate have different token types."""
        return self._frame.query_type != self._frame.candidate_type

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens, an added gap included: rows that the model's word embeddings need."""
        return len(self.tokenizer)

    @property
    def fingerprint(self) -> str:
        """Of vocabulary and rules: texts are cut into the same tokens by tokenizers of the same fingerprint."""
        return hashlib.sha256(self._rust.to_str().encode()).hexdigest()[:16]

    @property
    def pad(self) -> int:
        """The token of padding; models mask it, so a tokenizer without one may use any."""
        return int(self.tokenizer.pad_token_id or 0)

    @property
    def paper_limit(self) -> int:
        """Most tokens of a paper that a pair can hold."""
        return self._candidate_room + (self._query_room if self.settings.share else 0)

    def tokens(self, texts: Sequence[str]) -> TokenLists:
        """The tokens of some texts, uncut, without special ones."""
        encodings = self._rust.encode_batch_fast(list(texts), add_special_tokens=False)
        return TokenLists.of([encoding.ids for encoding in encodings])

    def papers(self, titles: Sequence[str], abstracts: Sequence[str]) -> TokenLists:
        """Title and abstract of each paper, cut at :attr:`paper_limit`."""
        return self.tokens([paper_text(*texts) for texts in zip(titles, abstracts, strict=True)]).head(
            self.paper_limit
        )

    def queries(self, queries: Sequence[Query]) -> TokenLists:
        """The query's side of its pairs, without special tokens; only a context that is too long is cut.

        Of a query without a context, title and abstract are read in both layouts.
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
        # Each side of the gap gets half of the tokens, and those that the other side leaves.
        room = self.settings.context_tokens - 1
        left = np.minimum(before.counts, np.maximum(room - behind.counts, (room + 1) // 2))
        context = [before.tail(left), gap, behind.head(room - left)]
        if self.settings.context == "first":
            return TokenLists.joined([*context, citing])
        # What is cut later is cut from the end, where the context stands: so the abstract is cut here.
        taken = np.sum([part.counts for part in context], axis=0)
        kept = np.minimum(citing.counts, np.maximum(self._query_room - taken, 0))
        return TokenLists.joined([citing.head(kept), *context])

    def cut(
        self, query: NDArray[np.int64], candidate: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokens that each pair keeps of its two sides.

        Args:
            query, candidate: (b,) tokens of each side before, without special ones.

        Returns:
            (b,) each: tokens after. Only what exceeds a side's budget is cut; with ``share`` a side may use the tokens
            that the other leaves.
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
        position = offsets[:-1]

        position = _write(ids, position, frame.before)
        ids[spans(position, left)] = queries.ids[spans(queries.starts, left)]
        position = position + left
        _write(types, position, frame.between_types)
        position = _write(ids, position, frame.between)
        rest = offsets[1:] - position
        types[spans(position, rest)] = frame.candidate_type
        ids[spans(position, right)] = candidates.ids[spans(candidates.starts, right)]
        _write(ids, position + right, frame.behind)
        return PairBatch(
            torch.from_numpy(ids),
            torch.from_numpy(types),
            torch.from_numpy(offsets),
            int(lengths.max(initial=0)),
        )


def _write(
    target: NDArray[np.int64], position: NDArray[np.int64], values: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Write the same few values at each position (b,); returns the positions behind them."""
    target[position[:, None] + np.arange(len(values))] = values
    return position + len(values)
