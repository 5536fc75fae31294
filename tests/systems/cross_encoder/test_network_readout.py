"""The cross-encoder that compares the two sides of a pair: its formula, packed, frozen, saved."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_bert import tiny_bert
from transformers import BertTokenizerFast

from cocite.errors import InputError
from cocite.protocols import Query
from cocite.systems.cross_encoder.network import SCALE, CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.text.pair_batch import PairBatch
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
from cocite.text.token_lists import TokenLists

SETTINGS = PairSettings(query_tokens=30, candidate_tokens=24, context_tokens=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert") / "bert", ["trees", "parsing", "words", "of", "the"])


@pytest.fixture
def model(folder: Path) -> CrossEncoder:
    torch.manual_seed(0)
    return CrossEncoder.from_pretrained(folder, SETTINGS, readout="similarity").eval()


def sides(model: CrossEncoder) -> tuple[TokenLists, TokenLists]:
    queries = [
        Query("1", "the parsing of TARGETCIT trees", "words of parsing"),
        Query("2", "words TARGETCIT", "of"),
    ]
    papers = model.pairs.papers(
        ["trees", "the parsing of trees of words", "words"], ["", "of the words", "parsing"]
    )
    chosen = torch.tensor([[0, 0], [0, 1], [1, 2], [1, 1]]).numpy()
    return model.pairs.queries(queries).take(chosen[:, 0]), papers.take(chosen[:, 1])


def batch(model: CrossEncoder) -> PairBatch:
    return model.pairs.batch(*sides(model))


def test_the_logit_is_the_scaled_cosine_of_the_two_sides_means(model: CrossEncoder) -> None:
    torch.nn.init.normal_(model.head.weight)
    some = batch(model)
    with torch.no_grad():
        found = model(some)
        for i in range(len(some)):
            start, end = some.offsets[i : i + 2].tolist()
            ids, types = some.ids[None, start:end], some.types[start:end]
            states = model.backbone(input_ids=ids, token_type_ids=types[None]).last_hidden_state[0]
            left, right = states[types == 0].mean(0), states[types == 1].mean(0)
            cosine = left @ right / left.norm() / right.norm()
            wanted = SCALE * cosine + model.head(states[0])[0]
            assert float(model.head.bias) == pytest.approx(-0.85 * SCALE)
            assert float(found[i]) == pytest.approx(float(wanted), rel=1e-4)


def test_before_training_the_first_token_adds_nothing(model: CrossEncoder) -> None:
    some = batch(model)
    with torch.no_grad():
        states = model.all_padded(some)
        alone = model.similarity(states, some) + model.head.bias  # type: ignore[misc]
        assert torch.equal(model.compared(states, some), alone)


def test_packed_and_padded_states_agree(model: CrossEncoder) -> None:
    from cocite.nn import packed_bert

    some = batch(model)
    with torch.no_grad():
        torch.testing.assert_close(packed_bert.all_states(model.backbone, some), model.all_padded(some))


def test_gradients_reach_everything_that_is_trained(model: CrossEncoder) -> None:
    model(batch(model)).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
    assert model.similarity is not None
    assert model.similarity.sharpness.grad is not None


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 0.5)])
def test_the_frozen_scorer_gives_the_same(model: CrossEncoder, precision: str, tolerance: float) -> None:
    torch.nn.init.normal_(model.head.weight, std=0.1)
    scorer = PairScorer(model, precision=precision, threads=1, device="cpu")  # type: ignore[arg-type]
    with torch.no_grad():
        wanted = model(batch(model)).numpy()
    assert scorer.logits(*sides(model)) == pytest.approx(wanted, abs=tolerance)


def test_it_is_saved_and_loaded_with_its_readout(model: CrossEncoder, tmp_path: Path) -> None:
    with torch.no_grad():
        model.similarity.sharpness.fill_(1.5)  # type: ignore[union-attr]
        model.head.weight.fill_(0.1)
        model.save(tmp_path / "model")
        loaded = CrossEncoder.load(tmp_path / "model")
        assert loaded.readout == "similarity"
        assert torch.equal(loaded(batch(model)), model(batch(model)))
    again = CrossEncoder.from_pretrained(tmp_path / "model")
    assert again.readout == "similarity"
    with pytest.raises(InputError, match="its readout is similarity, not first"):
        CrossEncoder.from_pretrained(tmp_path / "model", readout="first")


def test_a_tokenizer_that_does_not_tell_the_sides_apart_is_refused(model: CrossEncoder, folder: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    tokenizer = BertTokenizerFast.from_pretrained(folder)
    marks = [("[CLS]", tokenizer.cls_token_id), ("[SEP]", tokenizer.sep_token_id)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:0 [SEP]", special_tokens=marks
    )
    with pytest.raises(InputError, match="does not tell query and candidate apart"):
        CrossEncoder(model.backbone, PairTokenizer(tokenizer, SETTINGS), readout="similarity")
