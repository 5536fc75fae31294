from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert
from transformers import AutoTokenizer

from cocite.corpus.store import Corpus
from cocite.systems.cross_encoder.paper_tokens import PaperTokens
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
from cocite.text.token_lists import TokenLists


class CountingTokenizer(PairTokenizer):
    """Counts the papers that it tokenises."""

    def __init__(self, folder: Path) -> None:
        super().__init__(AutoTokenizer.from_pretrained(folder), PairSettings(candidate_tokens=40))
        self.papers_made = 0

    def papers(self, titles: Sequence[str], abstracts: Sequence[str]) -> TokenLists:
        self.papers_made += len(titles)
        return super().papers(titles, abstracts)


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(120, seed=3)


@pytest.fixture
def pairs(tmp_path: Path) -> CountingTokenizer:
    return CountingTokenizer(tiny_bert(tmp_path / "bert", []))


def wanted(pairs: PairTokenizer, corpus: Corpus, row: int) -> list[int]:
    paper = corpus.paper(row)
    found: list[int] = pairs.papers([paper.title], [paper.abstract])[0].tolist()
    return found


def test_each_paper_is_tokenised_once(pairs: CountingTokenizer, corpus: Corpus) -> None:
    table = PaperTokens(pairs, corpus)
    rows = np.array([7, 3, 7, 100], np.int32)
    first = table.lists(rows)
    again = table.lists(np.array([3, 100, 5], np.int32))
    assert pairs.papers_made == 4
    assert [first[i].tolist() for i in range(4)] == [wanted(pairs, corpus, row) for row in rows]
    assert again[2].tolist() == wanted(pairs, corpus, 5)
    assert first.counts.max() <= pairs.paper_limit


def test_a_full_cache_is_cleared_and_filled_again(pairs: CountingTokenizer, corpus: Corpus) -> None:
    table = PaperTokens(pairs, corpus, capacity=1500)
    held = table.lists(np.arange(4))
    for start in range(0, 120, 4):
        rows = np.arange(start, start + 4)
        found = table.lists(rows)
        assert found[0].tolist() == wanted(pairs, corpus, start)
    assert held[0].tolist() == wanted(pairs, corpus, 0)  # an earlier result does not change


def test_threads_share_it(pairs: CountingTokenizer, corpus: Corpus) -> None:
    table = PaperTokens(pairs, corpus)
    orders = [np.random.default_rng(seed).permutation(120) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(table.lists, orders))
    assert pairs.papers_made == 120
    one = {row: found[0][i].tolist() for i, row in enumerate(orders[0].tolist())}
    for order, lists in zip(orders, found, strict=True):
        assert all(lists[i].tolist() == one[row] for i, row in enumerate(order.tolist()))
