"""HAtten against the equations written out, and the same however it is packed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.torch_layers import torch_layer
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from cocite.artifacts import seal
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.protocols import Encoder, Query
from cocite.systems.hatten.encoder import HattenEncoder, load_hatten_encoder, save_hatten
from cocite.systems.hatten.network import (
    Documents,
    Hatten,
    HattenModelSettings,
    MultiHeadPooling,
    TransformerLayer,
    pack,
    sinusoids,
)
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import Paragraphs
from cocite.text.queries import manuscript_queries

SMALL = {"dimension": 12, "heads": 3, "feed_forward": 20, "positions": 64}


def made(words: int = 50, **settings: object) -> Hatten:
    torch.manual_seed(0)
    model = Hatten(words, HattenModelSettings.parse({**SMALL, **settings}))
    for parameter in model.parameters():  # nothing at the special value it starts from
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.eval()


def texts(lengths: list[int], words: int = 50) -> Paragraphs:
    rng = np.random.default_rng(3)
    tokens = rng.integers(3, words, sum(lengths)).astype(np.int32)
    return Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), tokens)


def documents(
    model: Hatten, paragraphs: Paragraphs, parts: list[list[int]], queries: list[bool]
) -> Documents:
    return pack(paragraphs, np.array(parts), np.array(queries), model.settings, bucket=40)


# -- the equations --------------------------------------------------------------------------------------------


def pooled(pooling: MultiHeadPooling, x: np.ndarray) -> np.ndarray:
    """Eq. 1 and 2 for one sequence (L, d), head by head, in float64."""
    weights = {name: value.detach().double().numpy() for name, value in pooling.state_dict().items()}
    width = x.shape[1] // pooling.heads
    heads = []
    for j in range(pooling.heads):
        rows = slice(j * width, (j + 1) * width)
        values = x @ weights["value.weight"][rows].T + weights["value.bias"][rows]
        scores = x @ weights["score.weight"][j] + weights["score.bias"][j]
        shares = np.exp(scores) / np.exp(scores).sum()
        heads.append((shares[:, None] * values).sum(0))
    joined = np.maximum(np.concatenate(heads), 0)
    return joined @ weights["output.weight"].T + weights["output.bias"]


def test_pooling_is_that_of_equations_1_and_2() -> None:
    torch.manual_seed(1)
    pooling = MultiHeadPooling(12, 3).double()
    x = torch.randn(4, 7, 12, dtype=torch.float64)
    mask = torch.arange(7) < torch.tensor([7, 5, 1, 3])[:, None]
    found = pooling(x, mask).detach().numpy()
    for i, length in enumerate((7, 5, 1, 3)):
        assert found[i] == pytest.approx(pooled(pooling, x[i, :length].numpy()), abs=1e-12)


def test_pooling_has_the_gradients_of_finite_differences() -> None:
    torch.manual_seed(1)
    pooling = MultiHeadPooling(6, 2).double()
    x = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True, False, True, True]])
    assert torch.autograd.gradcheck(lambda x: pooling(x, mask), (x,))


def test_a_transformer_layer_is_the_one_of_torch() -> None:
    torch.manual_seed(2)
    ours = TransformerLayer(12, 3, 20, 0.0).eval()
    for part in (ours.project, ours.output, ours.widen, ours.narrow):
        torch.nn.init.normal_(part.bias)
    for norm in (ours.attention_norm, ours.forward_norm):
        torch.nn.init.normal_(norm.bias)
    theirs = torch_layer(ours, 12, 3, 20).eval()
    x = torch.randn(4, 6, 12)
    mask = torch.arange(6) < torch.tensor([6, 1, 4, 3])[:, None]
    expected = theirs(x, src_key_padding_mask=~mask)
    assert torch.allclose(ours(x, mask)[mask], expected[mask], atol=1e-6)


def test_positions_are_the_sinusoids_of_vaswani() -> None:
    found = sinusoids(5, 6).numpy()
    for place in range(5):
        for i in range(3):
            angle = place / 10_000 ** (2 * i / 6)
            assert found[place, 2 * i : 2 * i + 2] == pytest.approx([np.sin(angle), np.cos(angle)], abs=1e-6)


# -- packing --------------------------------------------------------------------------------------------------

PARTS = [[0, 1, 2], [0, 1, -1], [3, 4, -1], [5, -1, 6], [0, 1, 7], [5, -1, -1], [8, 4, -1]]
LENGTHS = [3, 17, 9, 4, 0, 6, 11, 2, 5]
QUERIES = [True, False, False, True, True, True, False]


@pytest.mark.parametrize(
    "settings", [{}, {"bag": False}, {"attention": False}, {"roles": False, "gap_positions": False}]
)
def test_a_document_has_the_same_vector_alone_and_in_any_batch(settings: dict[str, bool]) -> None:
    model, paragraphs = made(**settings), texts(LENGTHS)
    together = model(documents(model, paragraphs, PARTS, QUERIES))
    assert torch.allclose(together.norm(dim=1), torch.ones(len(PARTS)))
    for i, (part, query) in enumerate(zip(PARTS, QUERIES, strict=True)):
        assert torch.allclose(model(documents(model, paragraphs, [part], [query]))[0], together[i], atol=1e-5)
    some = [4, 2, 3]
    again = model(documents(model, paragraphs, [PARTS[i] for i in some], [QUERIES[i] for i in some]))
    assert torch.allclose(again, together[some], atol=1e-5)


def test_a_paragraph_is_packed_once_and_hardly_padded() -> None:
    model, paragraphs = made(), texts([10] * 30 + [4] * 30)
    parts = [[i, 30 + i, -1] for i in range(30)] * 4
    packed = documents(model, paragraphs, parts, [False] * 120)
    assert len(packed.lengths) == 60
    assert len(packed.tokens) == 30 * 14
    assert len(packed.cells) <= 1.05 * 30 * 14
    assert sum(rows for rows, _ in packed.shapes) == 60


def test_order_role_and_the_gaps_place_count_where_they_should() -> None:
    model = made()
    paragraphs = Paragraphs(
        np.array([0, 4, 8, 12]), np.array([9, 1, 7, 8, 9, 7, 1, 8, 9, 7, 1, 8], np.int32)
    )  # the same words with the gap (1) at two places; as context and as title
    found = model(documents(model, paragraphs, [[0, -1, -1], [1, -1, -1]], [False, False]))
    assert not torch.allclose(found[0], found[1], atol=1e-4)
    roles = model(documents(model, paragraphs, [[0, -1, -1], [0, -1, -1]], [False, True]))
    assert not torch.allclose(roles[0], roles[1], atol=1e-4)
    packed = documents(model, paragraphs, [[1, -1, 0], [2, -1, 1]], [True, True])
    of_context = packed.positions[packed.in_context]
    assert sorted(of_context.tolist()) == sorted([31, 32, 33, 34, 30, 31, 32, 33])


def test_the_model_has_the_gradients_of_finite_differences() -> None:
    model = made(words=9, dimension=4, heads=2, feed_forward=5).double()
    packed = documents(model, texts([2, 3, 2], 9), [[0, 1, 2], [0, 1, -1]], [True, False])
    names = ["words.weight", "word_weight.weight", "place_weight", "type_weight", "gate", "types.weight"]
    values = [dict(model.named_parameters())[name].detach().clone().requires_grad_() for name in names]

    def run(*values: Tensor) -> Tensor:
        module = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (packed,))
        return torch.as_tensor(module).sum(0)

    assert torch.autograd.gradcheck(run, values)


def test_attention_comes_in_through_its_gate() -> None:
    model, paragraphs = made(), texts(LENGTHS)
    packed = documents(model, paragraphs, PARTS, QUERIES)
    bags = model(packed, attend=False)
    assert not torch.allclose(model(packed), bags, atol=1e-3)
    model.gate.data.zero_()
    assert torch.equal(model(packed), bags)
    model.train()(packed)[:, 0].sum().backward()
    assert model.gate.grad is not None
    assert model.gate.grad != 0


def test_dropped_words_leave_each_paragraph_one() -> None:
    model = made(word_dropout=0.99).train()
    torch.manual_seed(5)
    found = model(documents(model, texts(LENGTHS), PARTS, QUERIES))
    assert torch.isfinite(found).all()
    assert not torch.equal(found, model(documents(model, texts(LENGTHS), PARTS, QUERIES)))


def test_no_flop_goes_to_padding_or_repeats() -> None:
    """Twelve times the same documents cost what one of each does, but for the document level."""
    model, paragraphs = made(bag=False), texts([20] * 8)

    def flops(times: int) -> int:
        packed = documents(model, paragraphs, [[i, 4 + i, -1] for i in range(4)] * times, [False] * 4 * times)
        with FlopCounterMode(display=False) as counter:
            model(packed)
        return counter.get_total_flops()

    level = flops(2) - flops(1)
    assert flops(12) == flops(1) + 11 * level
    assert level < 0.2 * flops(1)


# -- the encoder ----------------------------------------------------------------------------------------------


@pytest.fixture
def reader(history: History) -> ParagraphReader:
    return ParagraphReader.build(history, ParagraphSettings(vocabulary_size=400), bodies=False)


@pytest.fixture
def folder(tmp_path: Path, reader: ParagraphReader) -> Path:
    save_hatten(tmp_path / "model" / "hatten", made(reader.size), reader, {"note": "untrained"})
    return tmp_path / "model"


def loaded(folder: Path) -> HattenEncoder:
    return load_hatten_encoder(folder, dtype=torch.float32)


def test_what_is_loaded_gives_nearly_what_was_saved(
    folder: Path, reader: ParagraphReader, corpus: Corpus
) -> None:
    encoder = loaded(folder)
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.dimension) == ("hatten", 12)
    rows = np.arange(40, dtype=np.int32)
    before = HattenEncoder(made(reader.size), reader, "", dtype=torch.float32)
    vectors = encoder.encode_papers(corpus, rows)
    assert np.abs(vectors - before.encode_papers(corpus, rows)).max() < 2e-3  # word vectors in half precision
    assert np.array_equal(vectors, loaded(folder / "hatten").encode_papers(corpus, rows))
    assert loaded(folder).id == encoder.id != ""


def test_queries_are_embedded_with_a_context_and_without(folder: Path, corpus: Corpus) -> None:
    encoder = loaded(folder)
    whole = manuscript_queries(corpus, np.arange(5))
    local = [
        Query(q.id, context="an early TARGETCIT " + q.title, title=q.title, abstract=q.abstract)
        for q in whole
    ]
    vectors = encoder.encode_queries([*whole, *local, Query("none")])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert np.abs(vectors[:5] - vectors[5:10]).max() > 1e-2
    assert vectors[7] == pytest.approx(encoder.encode_queries([local[2]])[0], abs=1e-5)
    assert encoder.encode_queries([]).shape == (0, 12)


def test_papers_are_the_same_in_any_order_and_number(folder: Path, corpus: Corpus) -> None:
    encoder = loaded(folder)
    rows = np.random.default_rng(0).permutation(len(corpus)).astype(np.int32)
    vectors = encoder.encode_papers(corpus, rows)
    assert vectors[17] == pytest.approx(encoder.encode_papers(corpus, rows[17:18])[0], abs=1e-5)
    assert encoder.encode_papers(corpus, rows[:0]).shape == (0, 12)


def test_half_precision_changes_little(folder: Path, corpus: Corpus) -> None:
    rows = np.arange(30, dtype=np.int32)
    half = load_hatten_encoder(folder, dtype=torch.bfloat16).encode_papers(corpus, rows)
    assert (half * loaded(folder).encode_papers(corpus, rows)).sum(1).min() > 0.999


def test_weights_of_another_vocabulary_are_told(folder: Path) -> None:
    path = folder / "hatten" / "words.txt"
    path.write_text(path.read_text() + "extra\t1\n")
    seal(path.parent, kind="hatten", meta={})
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_hatten_encoder(folder)


def test_heads_must_divide_the_dimension_and_something_must_be_left() -> None:
    with pytest.raises(ValueError, match="do not divide"):
        HattenModelSettings(dimension=10, heads=3)
    with pytest.raises(ValueError, match="one of them is needed"):
        HattenModelSettings(attention=False, bag=False)
