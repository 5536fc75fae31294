from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.tiny_bert import tiny_bert
from numpy.typing import NDArray
from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

from cocite.errors import ConfigError
from cocite.nn.cpu_kernels import Speed
from cocite.nn.variables import PRECISION
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.text.pair_tokenizer import PairSettings
from cocite.text.token_lists import TokenLists

COUNT = 60


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    torch.manual_seed(2)
    folder = tiny_bert(tmp_path_factory.mktemp("scorer") / "bert", [])
    model = CrossEncoder.from_pretrained(folder, PairSettings(query_tokens=40, candidate_tokens=40)).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.15)
    return model


@pytest.fixture(scope="module")
def sides(model: CrossEncoder) -> tuple[TokenLists, TokenLists]:
    rng = np.random.default_rng(0)
    query, candidate = (
        TokenLists.of([rng.integers(5, 60, rng.integers(1, 60)).tolist() for _ in range(COUNT)])
        for _ in range(2)
    )
    return query, candidate


@pytest.fixture(scope="module")
def padded(model: CrossEncoder, sides: tuple[TokenLists, TokenLists]) -> NDArray[np.float32]:
    """All pairs in one batch, padded, in fp32."""
    with torch.no_grad():
        found: NDArray[np.float32] = model.logits(model.first_padded(model.pairs.batch(*sides))).numpy()
    return found


@pytest.mark.parametrize("tokens", [1, 200, 100_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_fp32_scores_and_ranks_as_the_padded_trunk(
    model: CrossEncoder,
    sides: tuple[TokenLists, TokenLists],
    padded: NDArray[np.float32],
    tokens: int,
    threads: int,
) -> None:
    scorer = PairScorer(model, precision="fp32", threads=threads, device="cpu", tokens=tokens)
    found = scorer.logits(*sides)
    assert found == pytest.approx(padded, abs=1e-4)
    assert np.argsort(-found).tolist() == np.argsort(-padded).tolist()


def test_bf16_is_near(
    model: CrossEncoder, sides: tuple[TokenLists, TokenLists], padded: NDArray[np.float32]
) -> None:
    found = PairScorer(model, precision="bf16", threads=1, device="cpu").logits(*sides)
    assert np.abs(found - padded).max() < 0.25 * padded.std()  # of weights that are noise, the worst case


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_score_does_not_depend_on_the_other_pairs(
    model: CrossEncoder, sides: tuple[TokenLists, TokenLists], precision: str
) -> None:
    scorer = PairScorer(model, precision=precision, threads=2, device="cpu", tokens=300)  # type: ignore[arg-type]
    whole = scorer.logits(*sides)
    order = np.random.default_rng(1).permutation(COUNT)
    mixed = scorer.logits(sides[0].take(order), sides[1].take(order))
    tolerance = 1e-5 if precision == "fp32" else 0.02 * float(whole.std())
    assert mixed == pytest.approx(whole[order], abs=tolerance)
    for i in (0, 17):
        one = np.array([i])
        alone = scorer.logits(sides[0].take(one), sides[1].take(one))
        assert alone == pytest.approx(whole[one], abs=tolerance)
    assert scorer.logits(sides[0].take(one[:0]), sides[1].take(one[:0])).shape == (0,)


def test_many_callers_at_once(model: CrossEncoder, sides: tuple[TokenLists, TokenLists]) -> None:
    scorer = PairScorer(model, precision="fp32", threads=2, device="cpu", tokens=200)
    wanted = scorer.logits(*sides)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: scorer.logits(*sides), range(12)):
            assert np.array_equal(found, wanted)


def test_torchs_own_threads_are_left_as_they_were(model: CrossEncoder) -> None:
    before = torch.get_num_threads()
    PairScorer(model, precision="fp32", threads=3, device="cpu")
    assert torch.get_num_threads() == before


def test_another_family_is_scored_padded(
    tmp_path: Path, model: CrossEncoder, sides: tuple[TokenLists, TokenLists]
) -> None:
    torch.manual_seed(0)
    tokenizer = model.pairs.tokenizer
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, n_layers=1, n_heads=2, hidden_dim=64, max_position_embeddings=80
    )
    DistilBertModel(config).save_pretrained(tmp_path / "distil")
    AutoTokenizer.from_pretrained(tokenizer.name_or_path).save_pretrained(tmp_path / "distil")
    other = CrossEncoder.from_pretrained(tmp_path / "distil", model.pairs.settings).eval()
    for parameter in other.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.15)
    with torch.no_grad():
        wanted = other(other.pairs.batch(*sides)).numpy()
    scorer = PairScorer(other, precision="fp32", threads=2, device="cpu", tokens=300)
    computed: list[int] = []
    hook = other.backbone.register_forward_pre_hook(
        lambda _, args, given: computed.append(given["input_ids"].numel()), with_kwargs=True
    )
    assert scorer.logits(*sides) == pytest.approx(wanted, abs=1e-4)
    hook.remove()
    lengths = other.pairs.lengths(*sides)
    assert scorer.padding(lengths) == pytest.approx(sum(computed) / lengths.sum())
    assert scorer.padding(lengths) > 1 == scorer.padding(lengths[:1])
    assert PairScorer(model, precision="fp32", threads=1, device="cpu").padding(lengths) == 1
    rounded = PairScorer(other, precision="bf16", threads=1, device="cpu").logits(*sides)
    assert np.abs(rounded - wanted).max() < 0.2 * wanted.std()


def test_the_precision_is_what_the_probe_found(model: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PRECISION)
    for bf16, wanted in ((100.0, "bf16"), (55.0, "fp32"), (0.0, "fp32")):
        monkeypatch.setattr(
            "cocite.systems.cross_encoder.pair_scorer.measure",
            lambda *_, bf16=bf16: Speed(plain=10, packed=50, bf16=bf16),
        )
        assert PairScorer(model, threads=1, device="cpu").precision == wanted
        for name, named in (("float32", "fp32"), ("bfloat16", "bf16"), ("auto", wanted)):
            monkeypatch.setenv(PRECISION, name)
            assert PairScorer(model, threads=1, device="cpu").precision == named


def test_no_threads(model: CrossEncoder) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        PairScorer(model, threads=-1, device="cpu")
