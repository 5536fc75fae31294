from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.text.documents import Documents, bounds
from cocite.text.token_lists import TokenLists
from cocite.training.engine.loader import to_device

SENTENCES = [[5, 6, 2], [2], [7, 2], [8, 9, 9, 2]]


def test_sentences_stand_one_behind_the_other() -> None:
    found = Documents.of(TokenLists.of(SENTENCES), np.array([0, 1, 4]))
    assert len(found) == 2
    assert found.ids.tolist() == [5, 6, 2, 2, 7, 2, 8, 9, 9, 2]
    assert found.sentences.tolist() == [0, 3, 4, 6, 10]
    assert found.lengths.tolist() == [3, 1, 2, 4]
    assert found.document_lengths.tolist() == [1, 3]
    assert {found.ids.dtype, found.sentences.dtype, found.documents.dtype} == {torch.int64}


@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
def test_lists_may_lie_anywhere_and_be_stored_small(dtype: type[np.integer]) -> None:
    lists = TokenLists.of(SENTENCES)
    stored = TokenLists(lists.ids.astype(dtype), lists.starts, lists.counts.astype(np.int32)).take(
        np.array([3, 0, 0])
    )
    found = Documents.of(stored, np.array([0, 2, 3]))
    assert found.ids.tolist() == [8, 9, 9, 2, 5, 6, 2, 5, 6, 2]
    assert found.sentences.tolist() == [0, 4, 7, 10]


def test_documents_are_joined_and_moved() -> None:
    one = Documents.of(TokenLists.of(SENTENCES[:1]), np.array([0, 1]))
    two = Documents.of(TokenLists.of(SENTENCES[1:]), np.array([0, 0, 3]))
    both = Documents.joined([one, two])
    whole = Documents.of(TokenLists.of(SENTENCES), np.array([0, 1, 1, 4]))
    for name in ("ids", "sentences", "documents"):
        assert torch.equal(getattr(both, name), getattr(whole, name))
    assert Documents.joined([one]) is one
    moved = to_device({"papers": whole}, torch.device("cpu"))["papers"]
    assert torch.equal(moved.to("cpu").ids, whole.ids)


def test_a_share_of_the_tokens_is_left_out_and_no_sentence_is_emptied() -> None:
    count = 4000
    vectors = torch.arange(count)[:, None]
    whole = Documents.of(TokenLists.of([[5, 6, 7, 8, 2]] * count), np.arange(0, count + 1, 2))
    whole = Documents(whole.ids, whole.sentences, whole.documents, vectors)
    torch.manual_seed(0)
    found, again = whole.thinned(0.3), whole.thinned(0.3)
    assert torch.equal(found.documents, whole.documents)
    assert found.vectors is vectors
    assert (found.ids[found.sentences[1:] - 1] == 2).all()
    # Of 4000 words each, the share that is kept has a standard deviation of .007.
    kept = [float((found.ids == word).sum()) / count for word in (5, 6, 7, 8, 2)]
    assert kept == pytest.approx([0.7, 0.7, 0.7, 0.7, 1.0], abs=0.03)
    assert set(found.lengths.tolist()) == {1, 2, 3, 4, 5}
    assert (found.ids[found.sentences[:-1]].diff() != 0).any()
    assert not torch.equal(found.sentences, again.sentences)


def test_bounds() -> None:
    assert bounds(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert bounds(np.array([], np.int64)).tolist() == [0]


def test_documents_are_cut_into_parts_and_joined_again() -> None:
    sentences = TokenLists.of([[5, 6, 2], [7, 2], [8, 2], [9, 4, 2]])
    documents = Documents.of(sentences, np.array([0, 2, 3, 4]))
    with_vectors = Documents(documents.ids, documents.sentences, documents.documents, torch.eye(4))
    assert documents.tokens.tolist() == [5, 2, 3]
    for cut in range(1, 3):
        back = Documents.joined([with_vectors.part(slice(0, cut)), with_vectors.part(slice(cut, 3))])
        for name in ("ids", "sentences", "documents", "vectors"):
            assert torch.equal(getattr(back, name), getattr(with_vectors, name))
