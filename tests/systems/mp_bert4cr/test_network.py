"""The two encoders of MP-BERT4CR."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import SHAPE

from cocite.systems.mp_bert4cr.network import MpBert4cr, MpBert4crModelSettings
from cocite.text.documents import Documents
from cocite.text.token_lists import TokenLists

WORDS = 40


def model_of(**settings: object) -> MpBert4cr:
    torch.manual_seed(0)
    return MpBert4cr(MpBert4crModelSettings.parse({**SHAPE, **settings}), WORDS).eval()


def documents(*lengths: list[int], seed: int = 0) -> Documents:
    """Documents of random tokens; for each the lengths of its sentences."""
    rng = np.random.default_rng(seed)
    lists = TokenLists.of([rng.integers(0, WORDS, n).tolist() for sentences in lengths for n in sentences])
    return Documents.of(lists, np.cumsum([0, *map(len, lengths)]))


def test_both_encoders_begin_alike_and_are_trained_apart() -> None:
    model = model_of()
    own, cited = model.manuscript.state_dict(), model.citation.state_dict()
    assert all(torch.equal(weight, cited[name]) for name, weight in own.items())
    assert not {id(weight) for weight in model.manuscript.parameters()} & {
        id(weight) for weight in model.citation.parameters()
    }


def test_manuscripts_come_before_papers_each_by_its_encoder() -> None:
    model = model_of()
    for weight in model.citation.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    manuscripts, papers = documents([3, 4], [2]), documents([5], [6, 2], [1], seed=1)
    with torch.no_grad():
        together = model(manuscripts, papers)
        torch.testing.assert_close(together[:2], model.manuscripts(manuscripts))
        torch.testing.assert_close(together[2:], model.papers(papers))
        torch.testing.assert_close(together[2:], model.citation(papers).documents)
        assert not torch.allclose(model.manuscripts(papers), together[2:], atol=1e-2)
        without = model(manuscripts, papers, layers=False)
    assert without.shape == together.shape


@pytest.mark.parametrize("shared", [True, False])
def test_shared_words_get_the_gradients_of_manuscripts_and_papers(shared: bool) -> None:
    model = model_of(shared_words=shared)
    assert (model.citation.words is model.manuscript.words) == shared
    model(None, documents([3, 4], [2]))[:, 0].sum().backward()
    assert (model.manuscript.words.weight.grad is not None) == shared
    names = [name for name, _ in model.named_parameters() if name.endswith("words.weight")]
    assert names == ["manuscript.words.weight", *([] if shared else ["citation.words.weight"])]


@pytest.mark.parametrize("shared", [True, False])
def test_words_of_both_encoders_are_scaled_once(shared: bool) -> None:
    model, weights = model_of(shared_words=shared), torch.rand(WORDS)
    before = model.manuscript.words.weight.detach().clone()
    model.scale_words(weights)
    for encoder in (model.manuscript, model.citation):
        torch.testing.assert_close(encoder.words.weight.detach(), before * weights[:, None])


def test_words_are_left_out_in_training_alone() -> None:
    plain, model = model_of(), model_of(word_dropout=0.5)
    manuscripts, papers = documents([9, 8], [7]), documents([6, 9], seed=1)
    with torch.no_grad():
        whole = plain(manuscripts, papers)
        assert torch.equal(model(manuscripts, papers), whole)
        assert torch.equal(plain.train()(manuscripts, papers), whole)
        torch.manual_seed(0)
        one, other = model.train()(manuscripts, papers), model(manuscripts, papers)
        torch.manual_seed(0)
        parts = [plain.manuscript(manuscripts.thinned(0.5)), plain.citation(papers.thinned(0.5))]
    assert not torch.allclose(one, other, atol=1e-2)
    assert torch.equal(one, torch.cat([part.documents for part in parts]))


def test_checkpointing_changes_no_gradient() -> None:
    plain, checkpointed = model_of(), model_of()
    checkpointed.gradient_checkpointing_enable()
    batch = documents([3, 4], [2, 5, 1])
    for model in (plain, checkpointed):
        model.train()(batch, batch)[:, 0].sum().backward()
    for (name, one), other in zip(plain.named_parameters(), checkpointed.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, msg=name)
