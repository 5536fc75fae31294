"""Which models run packed and which padded; either way a text has the vector that it has by itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import numpy as np
import pytest
import torch
from helpers.small_berts import small_bert
from numpy.typing import NDArray
from transformers import (
    DistilBertConfig,
    DistilBertModel,
    LlamaConfig,
    LlamaModel,
    MPNetConfig,
    MPNetModel,
)

from cocite.errors import ConfigError
from cocite.nn.cpu_kernels import Speed
from cocite.nn.variables import PRECISION
from cocite.systems.sentence_encoder import forward as forwards
from cocite.systems.sentence_encoder.forward import PackedForward, PaddedForward, fastest_dtype, forward_of
from cocite.systems.sentence_encoder.pooling import Pooling, pool
from cocite.text.token_lists import TokenLists

CPU = torch.device("cpu")
PACKED: dict[str, Callable[[], Any]] = {
    "bert": small_bert,
    "roberta": lambda: small_bert("roberta"),
    "electra": lambda: small_bert("electra"),
}
SIZE = {"vocab_size": 80, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
INNER = {"intermediate_size": 64}
PADDED: dict[str, Callable[[], Any]] = {
    "mpnet": lambda: MPNetModel(MPNetConfig(**SIZE, **INNER, max_position_embeddings=64)),
    "distilbert": lambda: DistilBertModel(
        DistilBertConfig(vocab_size=80, dim=32, n_layers=2, n_heads=4, hidden_dim=64)
    ),
    "a decoder": lambda: LlamaModel(LlamaConfig(**SIZE, **INNER)),
    "a decoder of BERT's layers": lambda: small_bert("bert", is_decoder=True),
}


@pytest.fixture(scope="module")
def texts() -> TokenLists:
    rng = np.random.default_rng(0)
    return TokenLists.of([rng.integers(5, 80, length).tolist() for length in [30, 1, 7, 50, 7, 2, 44, 16]])


@torch.no_grad()
def alone(model: Any, texts: TokenLists, pooling: Pooling) -> NDArray[np.float32]:
    """(n, d) the vectors of texts by the model's own forward, one text at a time."""
    vectors = []
    for i in range(len(texts)):
        states = model(input_ids=torch.from_numpy(texts[i].astype(np.int64))[None]).last_hidden_state[0]
        vectors.append(pool(states, torch.tensor([0, len(states)]), pooling))
    return torch.cat(vectors).numpy()


def model_of(make: Callable[[], Any]) -> Any:
    torch.manual_seed(1)
    return make().eval()


@pytest.mark.parametrize("pooling", get_args(Pooling))
@pytest.mark.parametrize("name", [*PACKED, *PADDED])
def test_every_architecture_gives_each_text_its_own_vector(
    name: str, pooling: Any, texts: TokenLists, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of((PACKED | PADDED)[name])
    wanted = alone(model, texts, pooling)
    forward = forward_of(model, pooling, device=CPU, dtype=torch.float32)
    assert isinstance(forward, PackedForward if name in PACKED else PaddedForward)
    for budget in (1, 40, 10_000):
        monkeypatch.setattr(forwards, "CPU_TOKENS", budget)
        monkeypatch.setattr(forwards, "TOKENS", budget)
        np.testing.assert_allclose(forward.vectors(texts), wanted, rtol=0, atol=1e-5)


def test_what_the_packed_bert_does_not_express_runs_padded(texts: TokenLists) -> None:
    def kind(dtype: torch.dtype, device: torch.device = CPU) -> type:
        return type(forward_of(small_bert(), "mean", device=device, dtype=dtype))

    assert [kind(dtype) for dtype in (torch.float32, torch.bfloat16)] == [PackedForward] * 2
    assert kind(torch.float16) is PaddedForward
    assert kind(torch.float32, torch.device("meta")) is PaddedForward


@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_bf16_is_near(name: str, texts: TokenLists) -> None:
    model = model_of((PACKED | PADDED)[name])
    wanted = alone(model, texts, "mean")
    found = forward_of(model, "mean", device=CPU, dtype=torch.bfloat16).vectors(texts)
    assert ((found * wanted).sum(1) > 0.995).all()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_int8_is_near_and_does_not_depend_on_the_batch(pooling: Any, texts: TokenLists) -> None:
    model = model_of(small_bert)
    wanted = alone(model, texts, pooling)
    forward = forward_of(model, pooling, device=CPU, dtype=torch.int8)
    found = forward.vectors(texts)
    assert ((found * wanted).sum(1) > 0.995).all()
    for i in range(len(texts)):
        np.testing.assert_allclose(forward.vectors(texts.take(np.array([i]))), found[[i]], rtol=0, atol=2e-3)


@pytest.mark.parametrize(("name", "device"), [("distilbert", "cpu"), ("bert", "meta")])
def test_int8_is_of_berts_family_on_a_cpu(name: str, device: str) -> None:
    model = model_of((PACKED | PADDED)[name])
    with pytest.raises(ConfigError, match=f"not of a {name} on a {device}"):
        forward_of(model, "mean", device=torch.device(device), dtype=torch.int8)


@pytest.mark.parametrize("int8", [400.0, 0.0])
def test_int8_is_chosen_where_it_pays(int8: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        forwards, "measure", lambda *_: Speed(plain=100.0, packed=110.0, bf16=70.0, int8=int8)
    )
    monkeypatch.delenv(PRECISION)
    monkeypatch.setattr(forwards, "inference_dtype", lambda _: torch.bfloat16)
    assert fastest_dtype(small_bert(), CPU) == (torch.int8 if int8 else torch.bfloat16)
    assert fastest_dtype(PADDED["distilbert"](), CPU) == torch.bfloat16
    assert fastest_dtype(small_bert(), torch.device("meta")) == torch.bfloat16


def test_a_named_precision_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        forwards, "measure", lambda *_: Speed(plain=100.0, packed=110.0, bf16=70.0, int8=400.0)
    )
    monkeypatch.setenv(PRECISION, "float32")
    assert fastest_dtype(small_bert(), CPU) == torch.float32


@pytest.mark.parametrize("threads", [1, 3])
def test_callers_in_several_threads_get_their_own_texts(
    threads: int, texts: TokenLists, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwards, "CPU_TOKENS", 20)
    model = model_of(small_bert)
    wanted = alone(model, texts, "mean")
    forward = PackedForward(model, "mean", dtype=torch.float32, threads=threads)
    rng = np.random.default_rng(1)
    orders = [rng.permutation(len(texts)) for _ in range(12)]
    with ThreadPoolExecutor(4) as callers:
        for order, found in zip(
            orders, callers.map(lambda order: forward.vectors(texts.take(order)), orders), strict=True
        ):
            np.testing.assert_allclose(found, wanted[order], rtol=0, atol=1e-5)


def test_a_short_query_has_one_core_and_a_long_one_torchs_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(small_bert)
    short, long = TokenLists.of([[7] * 12]), TokenLists.of([[7] * 30, [8] * 30])
    wanted = alone(model, short, "mean"), alone(model, long, "mean")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        forward = PackedForward(model, "mean", dtype=torch.float32, threads=2)
        monkeypatch.setattr(forwards, "SHORT", 40)
        threads: list[int] = []
        own = forward._vectors

        def counted(texts: TokenLists) -> NDArray[np.float32]:
            threads.append(torch.get_num_threads())
            return own(texts)

        monkeypatch.setattr(forward, "_vectors", counted)
        found = [forward.vectors(texts) for texts in (short, long)]
    finally:
        torch.set_num_threads(before)
    assert threads == [1, 2]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_no_texts_have_no_vectors(name: str) -> None:
    model = model_of((PACKED | PADDED)[name])
    forward = forward_of(model, "mean", device=CPU, dtype=torch.float32)
    assert forward.vectors(TokenLists.of([])).shape == (0, 32)
