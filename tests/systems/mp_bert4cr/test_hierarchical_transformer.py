"""The hierarchical transformer: packed as padded, alone as in company, from a mean of words on."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from helpers.padded_hierarchical import padded

from cocite.errors import ConfigError
from cocite.systems.mp_bert4cr import hierarchical_transformer
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalEncoder, HierarchicalSettings
from cocite.text.documents import Documents
from cocite.text.token_lists import TokenLists

WORDS = 60
SMALL = {"sentence_layers": 2, "document_layers": 2, "hidden": 24, "heads": 3, "inner": 40, "dropout": 0.0}


def made(**settings: object) -> HierarchicalEncoder:
    torch.manual_seed(0)
    model = HierarchicalEncoder(HierarchicalSettings.parse({**SMALL, **settings}), WORDS)
    for parameter in model.parameters():  # nothing at the special value it starts from
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model.eval()


def documents(sentences: list[list[int]], seed: int = 0) -> Documents:
    """Documents of random tokens; for each the lengths of its sentences."""
    rng = np.random.default_rng(seed)
    lists = TokenLists.of([rng.integers(0, WORDS, n).tolist() for lengths in sentences for n in lengths])
    return Documents.of(lists, np.cumsum([0, *map(len, sentences)]))


def many(count: int, seed: int = 1) -> Documents:
    rng = np.random.default_rng(seed)
    return documents([rng.integers(1, 30, rng.integers(1, 9)).tolist() for _ in range(count)], seed)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("pooling", ["mean", "eos"])
def test_packed_is_padded(norm: str, pooling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchical_transformer, "CHUNK", 300)
    model, batch = made(norm=norm, pooling=pooling), many(25)
    with torch.no_grad():
        found, expected = model(batch), padded(model, batch)
    assert len(batch.ids) > 900
    torch.testing.assert_close(found.sentences, expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.documents, expected[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_are_those_of_the_padded_one(norm: str) -> None:
    batch = many(12)
    slope = torch.randn(12, 24, generator=torch.Generator().manual_seed(1))
    model = made(norm=norm).double()
    other = copy.deepcopy(model)
    torch.autograd.backward((model(batch).documents * slope).sum())

    names = [name for name, _ in other.named_parameters() if "layers" not in name]
    weights = dict(other.named_parameters())
    # The padded layers are copies, so gradients are compared at what comes before and after them.
    loss = (padded_in_double(other, batch) * slope).sum()
    slopes = torch.autograd.grad(loss, [weights[name] for name in names])
    mine = dict(model.named_parameters())
    for name, expected in zip(names, slopes, strict=True):
        torch.testing.assert_close(mine[name].grad, expected, rtol=1e-6, atol=1e-8, msg=name)
    for name, weight in mine.items():
        if "layers" in name:
            check_slope(model, batch, slope, name, weight)


def padded_in_double(model: HierarchicalEncoder, batch: Documents) -> torch.Tensor:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return padded(model, batch)[1]
    finally:
        torch.set_default_dtype(before)


def check_slope(
    model: HierarchicalEncoder, batch: Documents, slope: torch.Tensor, name: str, weight: torch.Tensor
) -> None:
    """A weight's gradient along one direction, by a finite difference."""
    along = torch.randn(weight.shape, generator=torch.Generator().manual_seed(2), dtype=weight.dtype)
    kept, step, values = weight.data.clone(), 1e-7, []
    with torch.no_grad():
        for sign in (1, -1):
            weight.data = kept + sign * step * along
            values.append(float((model(batch).documents * slope).sum()))
        weight.data = kept
    assert weight.grad is not None
    expected = (values[0] - values[1]) / (2 * step)
    assert float((weight.grad * along).sum()) == pytest.approx(expected, rel=1e-5, abs=1e-5), name


def test_a_sentence_does_not_know_its_batch() -> None:
    model, batch = made(sentence_layers=2, document_layers=0), many(30)
    with torch.no_grad():
        model.sentences.places.weight.zero_()  # nor its place in the document
        together = model(batch).sentences
        for number in (0, 7, len(together) - 1):
            start, end = batch.sentences[number : number + 2].tolist()
            alone = documents([[1]])
            alone = Documents(batch.ids[start:end], torch.tensor([0, end - start]), alone.documents)
            torch.testing.assert_close(model(alone).sentences[0], together[number], rtol=1e-4, atol=1e-5)


def test_a_document_does_not_know_its_batch() -> None:
    model, batch = made(), many(20)
    with torch.no_grad():
        together = model(batch).documents
        first = batch.documents[7:9].tolist()
        tokens = batch.sentences[first[0] : first[1] + 1]
        alone = Documents(
            batch.ids[tokens[0] : tokens[-1]], tokens - tokens[0], torch.tensor([0, first[1] - first[0]])
        )
        torch.testing.assert_close(model(alone).documents[0], together[7], rtol=1e-4, atol=1e-5)


def test_a_small_model_begins_as_a_mean_of_word_vectors() -> None:
    torch.manual_seed(0)
    model = HierarchicalEncoder(HierarchicalSettings.parse({**SMALL, "norm": "pre"}), WORDS).eval()
    batch = documents([[3, 5], [4]])
    found = model(batch)
    words = model.words.weight[batch.ids]
    means = torch.stack([part.mean(0) for part in words.split([3, 5, 4])])
    torch.testing.assert_close(found.sentences, means)
    sums = torch.stack([means[0] + means[1], means[2]])
    torch.testing.assert_close(found.documents, torch.nn.functional.layer_norm(sums, (24,)))


def test_places_can_have_weights_in_the_sum() -> None:
    model = HierarchicalEncoder(HierarchicalSettings.parse({**SMALL, "weighted": True}), WORDS).eval()
    plain = HierarchicalEncoder(HierarchicalSettings.parse(SMALL), WORDS).eval()
    plain.load_state_dict({name: w for name, w in model.state_dict().items() if name != "weights"})
    batch = many(9)
    with torch.no_grad():
        begun = model(batch)
        torch.testing.assert_close(begun.documents, plain(batch).documents)
        assert model.weights is not None
        model.weights.normal_(std=0.1, generator=torch.Generator().manual_seed(0))
        places = torch.cat([torch.arange(int(n)) for n in batch.document_lengths])
        counted = begun.sentences * (hierarchical_transformer.STEEPNESS * model.weights).exp()[places, None]
        owner = torch.arange(9).repeat_interleave(batch.document_lengths)
        wanted = model.norm(torch.zeros(9, 24).index_add_(0, owner, counted))
        torch.testing.assert_close(model(batch).documents, wanted, rtol=1e-4, atol=1e-5)


def test_half_precision_is_near() -> None:
    model, batch = made(norm="pre"), many(20)
    with torch.no_grad():
        exact = model(batch).documents
        with torch.autocast("cpu", torch.bfloat16):
            near = model(batch)
    assert near.documents.dtype == near.sentences.dtype == torch.float32
    cosine = torch.nn.functional.cosine_similarity(exact, near.documents)
    assert cosine.min() > 0.999


def test_dropout_of_attention_keeps_the_mean() -> None:
    model, batch = made(attention_dropout=0.3, document_layers=0, sentence_layers=1), many(6)
    with torch.no_grad():
        exact = model(batch).sentences
        model.train()
        torch.manual_seed(0)
        drawn = torch.stack([model(batch).sentences for _ in range(200)])
    assert not torch.equal(drawn[0], drawn[1])
    assert float((drawn.mean(0) - exact).norm() / exact.norm()) < 0.1


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ConfigError, match="5 heads do not divide a width of 24"):
        HierarchicalSettings.parse({**SMALL, "heads": 5})
