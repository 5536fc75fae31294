from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.tiny_bert import tiny_bert
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, BertTokenizerFast

from cocite.errors import ConfigError, InputError
from cocite.protocols import Query
from cocite.text.pair_batch import PairBatch
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
from cocite.text.token_lists import TokenLists

WORDS = "we use the parser of see for it a title an abstract long trees grow tall and green".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("pairs") / "bert", WORDS)


@pytest.fixture
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def made(tokenizer: Any, **settings: Any) -> PairTokenizer:
    return PairTokenizer(tokenizer, PairSettings(**settings))


def words(pairs: PairTokenizer, batch: PairBatch, i: int) -> str:
    start, end = batch.offsets[i : i + 2].tolist()
    return " ".join(pairs.tokenizer.convert_ids_to_tokens(batch.ids[start:end].tolist()))


def lists(*counts: int) -> TokenLists:
    """Lists of so many tokens, numbered from 100 on."""
    return TokenLists.of([list(range(100, 100 + count)) for count in counts])


QUERIES = [
    Query("1", "we use the parser of TARGETCIT for it, see OTHERCIT", "a title", "an abstract"),
    Query("2", "", "a long title", "trees"),
]


def test_local_layout_token_by_token(tokenizer: Any) -> None:
    pairs = made(tokenizer)
    batch = pairs.batch(pairs.queries(QUERIES), pairs.papers(["the trees", "it"], ["grow tall", ""]))
    assert words(pairs, batch, 0) == (
        "[CLS] we use the parser of [MASK] for it , see a title . an abstract [SEP] the trees . grow tall [SEP]"
    )
    assert words(pairs, batch, 1) == "[CLS] a long title . trees [SEP] it [SEP]"
    assert batch.types.tolist() == [0] * 17 + [1] * 6 + [0] * 7 + [1] * 2
    assert batch.offsets.tolist() == [0, 23, 32]
    assert batch.longest == 23


def test_the_context_may_come_last_behind_a_gap_token_of_its_own(tokenizer: Any) -> None:
    """Figure 3 of HAtten's paper: the global context, then the local one."""
    pairs = made(tokenizer, context="last", gap="[CIT]")
    batch = pairs.batch(pairs.queries(QUERIES), pairs.papers(["the trees", "it"], ["grow tall", ""]))
    assert words(pairs, batch, 0) == (
        "[CLS] a title . an abstract we use the parser of [CIT] for it , see [SEP] the trees . grow tall [SEP]"
    )
    assert words(pairs, batch, 1) == "[CLS] a long title . trees [SEP] it [SEP]"


def test_a_model_of_an_earlier_version_reads_the_context_first() -> None:
    assert PairSettings.parse({"layout": "local", "share": True, "gap": "mask"}).context == "first"


@pytest.mark.parametrize("share", [True, False])
def test_a_context_that_comes_last_is_never_cut(tokenizer: Any, share: bool) -> None:
    query = Query("1", "we use the parser of TARGETCIT for it", "a title", "an abstract " * 40)
    pairs = made(tokenizer, context="last", query_tokens=15, candidate_tokens=30, share=share)
    batch = pairs.batch(pairs.queries([query] * 2), pairs.papers(["it", "trees " * 60], ["", ""]))
    read = "[CLS] a title . an abstract we use the parser of [MASK] for it [SEP]"
    assert words(pairs, batch, 0) == f"{read} it [SEP]"
    assert words(pairs, batch, 1) == f"{read} {'trees ' * 29}[SEP]"
    first = made(tokenizer, query_tokens=15, candidate_tokens=30, share=share)
    assert words(first, first.batch(first.queries([query]), first.papers(["it"], [""])), 0).startswith(
        "[CLS] we use the parser of [MASK] for it a title . an abstract"
    )


def test_global_layout_reads_no_context(tokenizer: Any) -> None:
    pairs = made(tokenizer, layout="global")
    batch = pairs.batch(pairs.queries(QUERIES[:1]), pairs.papers(["it"], [None]))  # type: ignore[list-item]
    assert words(pairs, batch, 0) == "[CLS] a title . an abstract [SEP] it [SEP]"


@pytest.mark.parametrize("side", ["before", "behind", "both"])
def test_a_long_context_is_cut_around_its_gap(tokenizer: Any, side: str) -> None:
    left = "trees " * (20 if side != "behind" else 2) + "we use"
    right = "for it" + " grow" * (20 if side != "before" else 2)
    pairs = made(tokenizer, context_tokens=9)
    found = pairs.queries([Query("1", f"{left} TARGETCIT {right}")])
    text = " ".join(tokenizer.convert_ids_to_tokens(found[0].tolist()))
    assert (
        text
        == {
            "before": "trees trees we use [MASK] for it grow grow",
            "behind": "trees trees we use [MASK] for it grow grow",
            "both": "trees trees we use [MASK] for it grow grow",
        }[side]
    )


def test_what_one_side_of_the_gap_leaves_the_other_may_take(tokenizer: Any) -> None:
    pairs = made(tokenizer, context_tokens=9)
    found = pairs.queries([Query("1", "trees " * 20 + "TARGETCIT it")])
    assert tokenizer.convert_ids_to_tokens(found[0].tolist()) == ["trees"] * 7 + ["[MASK]", "it"]


def test_a_context_without_a_gap_is_read_from_its_beginning(tokenizer: Any) -> None:
    pairs = made(tokenizer, context_tokens=4)
    found = pairs.queries([Query("1", "we use the parser of it")])
    assert tokenizer.convert_ids_to_tokens(found[0].tolist()) == ["[MASK]", "we", "use", "the"]


def test_a_text_that_spells_a_special_token_is_only_text(tokenizer: Any) -> None:
    pairs = made(tokenizer)
    found = pairs.papers(["[SEP] [MASK] [CLS]"], [""])
    special = {tokenizer.sep_token_id, tokenizer.mask_token_id, tokenizer.cls_token_id}
    assert not special & set(found[0].tolist())


def test_a_gap_of_its_own_becomes_one_token(tokenizer: Any) -> None:
    before = len(tokenizer)
    pairs = made(tokenizer, gap="[CIT]")
    assert pairs.vocabulary_size == before + 1
    found = pairs.queries([Query("1", "we use TARGETCIT")])
    assert tokenizer.convert_ids_to_tokens(found[0].tolist()) == ["we", "use", "[CIT]"]
    assert made(tokenizer, gap="[CIT]").vocabulary_size == before + 1
    assert tokenizer.mask_token == "[MASK]"


def test_the_tokenizers_own_truncation_does_not_meddle(tokenizer: Any) -> None:
    tokenizer("it", truncation=True, max_length=2, padding="max_length")
    pairs = made(tokenizer)
    assert pairs.tokens(["it " * 50]).counts.tolist() == [50]


@pytest.mark.parametrize(
    ("share", "query", "candidate", "kept"),
    [
        (False, 100, 100, (18, 11)),
        (False, 5, 100, (5, 11)),
        (True, 100, 100, (18, 11)),
        (True, 5, 100, (5, 24)),
        (True, 100, 4, (25, 4)),
        (True, 3, 2, (3, 2)),
    ],
)
def test_budgets(tokenizer: Any, share: bool, query: int, candidate: int, kept: tuple[int, int]) -> None:
    pairs = made(tokenizer, query_tokens=20, candidate_tokens=12, share=share)
    batch = pairs.batch(lists(query), lists(candidate))
    assert len(batch.ids) == sum(kept) + 3 <= 32
    assert batch.ids[1 : 1 + kept[0]].tolist() == list(range(100, 100 + kept[0]))
    assert batch.ids[2 + kept[0] : -1].tolist() == list(range(100, 100 + kept[1]))
    assert pairs.lengths(lists(query), lists(candidate)).tolist() == [len(batch.ids)]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=6),
    st.booleans(),
    st.integers(8, 40),
    st.integers(8, 40),
)
def test_cutting_needs_no_more_than_the_sum(
    tokenizer: Any, sizes: list[tuple[int, int]], share: bool, query: int, candidate: int
) -> None:
    pairs = made(tokenizer, query_tokens=query, candidate_tokens=candidate, share=share)
    before = np.array(sizes, np.int64).T
    left, right = pairs.cut(before[0], before[1])
    assert (left <= before[0]).all()
    assert (right <= before[1]).all()
    assert (left + right + 3 <= query + candidate).all()
    # Nothing is cut in vain: a cut side is as long as its budget allows, and with sharing the pair is full.
    assert ((left == before[0]) | (left >= query - 2)).all()
    assert ((right == before[1]) | (right >= candidate - 1)).all()
    if share:
        cut = (left < before[0]) | (right < before[1])
        assert (left + right + 3 == query + candidate)[cut].all()
    assert (right <= pairs.paper_limit).all()


def test_another_tokenizers_frame(tokenizer: Any) -> None:
    """RoBERTa sets two marks between the texts, and tells the sides by no type."""
    marks = [("[CLS]", tokenizer.cls_token_id), ("[SEP]", tokenizer.sep_token_id)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B:0 [SEP]", special_tokens=marks
    )
    pairs = made(tokenizer, query_tokens=8, candidate_tokens=8, share=False)
    batch = pairs.batch(pairs.tokens(["it"]), pairs.tokens(["tall"]))
    assert words(pairs, batch, 0) == "[CLS] it [SEP] [SEP] tall [SEP]"
    assert batch.types.tolist() == [0] * 6
    assert len(pairs.batch(lists(90), lists(90)).ids) == 16
    assert not pairs.marks_sides
    assert made(AutoTokenizer.from_pretrained(tokenizer.name_or_path)).marks_sides


def test_refusals(tokenizer: Any, folder: Path) -> None:
    class Slow:
        is_fast = False

    with pytest.raises(InputError, match="no fast form"):
        PairTokenizer(Slow(), PairSettings())
    without = BertTokenizerFast.from_pretrained(folder)
    without.mask_token = None
    with pytest.raises(ConfigError, match="no mask token"):
        made(without)
    with pytest.raises(ConfigError, match="query_tokens"):
        PairSettings.parse({"query_tokens": 2})
