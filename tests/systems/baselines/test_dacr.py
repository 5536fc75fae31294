"""DACR's network against plain products, and its inputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.errors import ConfigError
from cocite.protocols import Query
from cocite.systems.baselines.dacr import (
    Dacr,
    DacrBaseline,
    DacrSettings,
    Inputs,
    _structural,
    train_dacr,
)
from cocite.systems.baselines.sections import KINDS
from cocite.systems.baselines.texts import CitingTexts

WORDS, PAPERS, WIDTH = 9, 5, 4


def network(*, trained: bool) -> Dacr:
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    words, papers = (rng.normal(size=(n, WIDTH)).astype(np.float32) for n in (WORDS, PAPERS))
    model = Dacr(words, papers, heads=2)
    if trained:
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.5)
    return model.double().eval()


def inputs(words: list[list[int]], papers: list[list[int]], sections: list[int]) -> Inputs:
    return Inputs(torch.tensor(words), torch.tensor(papers, dtype=torch.int64), torch.tensor(sections))


def by_hand(model: Dacr, words: list[int], papers: list[int], section: int) -> torch.Tensor:
    """The vector of one input without padding, in plain products (multi-head attention of two heads)."""
    read = torch.stack(
        [model.words.weight[word] for word in words] + [model.citing.weight[paper] for paper in papers]
    )
    read = read + model.sections.weight[section]
    attention = model.related
    q, k, v = (read @ attention.in_proj_weight.T + attention.in_proj_bias).chunk(3, dim=1)
    heads = []
    for part in (slice(0, 2), slice(2, 4)):
        shares = (q[:, part] @ k[:, part].T / 2**0.5).softmax(1)
        heads.append(shares @ v[:, part])
    related = read + attention.out_proj(torch.cat(heads, dim=1))
    share = (torch.tanh(related @ model.keys.weight.T + model.keys.bias) @ model.weights.weight[0]).softmax(0)
    return share @ related


@torch.no_grad()
def test_the_vector_is_that_of_plain_products_whatever_is_padded() -> None:
    model = network(trained=True)
    batch = inputs([[1, 4, -1], [2, -1, -1], [7, 0, 3]], [[3, -1], [-1, -1], [0, 2]], [1, 0, 4])
    vectors = model(batch)
    expected = [
        by_hand(model, [1, 4], [3], 1),
        by_hand(model, [2], [], 0),
        by_hand(model, [7, 0, 3], [0, 2], 4),
    ]
    torch.testing.assert_close(vectors, torch.stack(expected))


@torch.no_grad()
def test_before_training_the_vector_is_the_mean_of_what_is_read() -> None:
    model = network(trained=False)
    vector = model(inputs([[1, 4]], [[3, -1]], [2]))[0]
    mean = (model.words.weight[1] + model.words.weight[4] + model.citing.weight[3]) / 3
    torch.testing.assert_close(vector, mean)


@torch.no_grad()
def test_an_input_of_padding_alone_is_zero() -> None:
    vectors = network(trained=True)(inputs([[-1, -1], [1, -1]], [[-1], [-1]], [0, 0]))
    assert not vectors[0].any()
    assert vectors[1].any()


def test_structural_contexts_are_what_the_paper_cites_elsewhere(texts: CitingTexts) -> None:
    context = np.arange(len(texts.contexts))
    rows = _structural(texts, context, 5, np.random.default_rng(0))
    cites = texts.history.cites
    drawn = rows >= 0
    owner = np.broadcast_to(texts.citing[context][:, None], rows.shape)
    assert cites.contains(owner[drawn].astype(np.int64), rows[drawn]).all()
    assert not texts.cited.contains(np.broadcast_to(context[:, None], rows.shape)[drawn], rows[drawn]).any()
    assert 0.3 < (~drawn.any(axis=1)).mean() < 0.9, "about half of the contexts, and those with nothing else"


def test_training_moves_all_weights_and_reports_its_pairs(texts: CitingTexts) -> None:
    rng = np.random.default_rng(1)
    start = tuple(rng.normal(size=(n, 8)).astype(np.float32) for n in (texts.reader.size, len(texts.papers)))
    settings, advanced = DacrSettings(heads=2, words=10, epochs=1, batch=64, noise=20), []
    model = train_dacr(texts, start, settings, advance=advanced.append)  # type: ignore[arg-type]
    assert sum(advanced) == len(texts.cited.indices)
    assert all(weight.any() for weight in model.state_dict().values())
    again = train_dacr(texts, start, settings)  # type: ignore[arg-type]
    for name, weight in again.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]), name
    baseline = DacrBaseline("DACR", texts.history.corpus, texts.reader, model, words=10)
    assert not baseline.encode([Query("q", context="zyx unheardof [CIT]")]).any()


def test_there_is_a_vector_for_each_kind_of_section() -> None:
    assert network(trained=False).sections.weight.shape == (len(KINDS), WIDTH)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="heads"):
        DacrSettings.parse({"heads": 0})
