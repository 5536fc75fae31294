"""The code of a card runs, and gives cocite's scores and vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.published_models import add_cross_encoder, add_sentence_encoder, run_blocks

from cocite.artifacts import publish
from cocite.pipeline.huggingface.card import CardOptions
from cocite.pipeline.huggingface.parts import parts_of
from cocite.pipeline.huggingface.repository import export_model
from cocite.pipeline.huggingface.usage import usage_of
from cocite.protocols import Query
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder

CONTEXT, TITLE, ABSTRACT = (
    "Rare words are split [CIT] into units.",
    "Machine translation",
    "We translate rare words.",
)
PAPER = ("Neural Machine Translation of Rare Words with Subword Units", "We segment words.")


def run_card(part: Path, to: Path) -> list[dict[str, Any]]:
    export_model(part, to, CardOptions("small"))
    return run_blocks((to / "README.md").read_text(), to)


@pytest.mark.parametrize(
    ("options", "blocks"),
    [({}, 1), ({"pooled": True}, 2), ({"readout": "similarity"}, 1)],
    ids=["first", "pooled", "similarity"],
)
@pytest.mark.parametrize("pairs", [{}, {"layout": "global"}, {"context": "last", "gap": "[GAP]"}], ids=str)
def test_a_pair_has_cocites_score(tmp_path: Path, options: Any, blocks: int, pairs: Any) -> None:
    part = add_cross_encoder(tmp_path / "model", pairs=pairs, **options)
    scorer = PairScorer(CrossEncoder.load(part), precision="fp32", threads=1)
    context = "" if pairs.get("layout") == "global" else CONTEXT
    queries = scorer.pairs.queries([Query("q", context=context, title=TITLE, abstract=ABSTRACT)])
    (ours,) = scorer.logits(queries, scorer.pairs.papers([PAPER[0]], [PAPER[1]]))
    found = run_card(part, tmp_path / "out")
    assert len(found) == blocks
    for names in found:
        assert float(names["score"][0]) == pytest.approx(float(ours), abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "blocks"),
    [
        ({}, 2),
        ({"pooling": "cls", "query_prompt": "rare: "}, 2),
        ({"pooling": "max"}, 2),
        ({"pooling": "lasttoken"}, 1),
    ],
    ids=["mean", "cls", "max", "lasttoken"],
)
def test_vectors_are_cocites(tmp_path: Path, settings: Any, blocks: int) -> None:
    part = add_sentence_encoder(tmp_path / "model", **settings)
    ours = load_sentence_encoder(part)
    query = ours.encode(["Rare words are split into subword units."], ours.settings.query_prompt)
    paper = ours.encode([PAPER[0]], ours.settings.document_prompt)
    public, *rest = run_card(part, tmp_path / "out")
    assert public["queries"] == pytest.approx(query, abs=1e-5)
    assert public["scores"] == pytest.approx(query @ paper.T, abs=1e-5)
    assert len(rest) == blocks - 1
    for names in rest:
        assert np.asarray(names["vectors"]) == pytest.approx(query, abs=1e-5)


def test_parts_of_a_folder_are_loaded_from_their_subfolders(tmp_path: Path) -> None:
    add_sentence_encoder(tmp_path / "model")
    add_cross_encoder(tmp_path / "model")
    found = run_card(tmp_path / "model", tmp_path / "out")
    assert [sorted({"scores", "vectors", "relevance"} & set(names)) for names in found] == [
        ["scores"],
        ["vectors"],
        ["relevance"],
    ]


def test_an_encoder_alone(tmp_path: Path) -> None:
    source = add_sentence_encoder(tmp_path / "model")
    with publish(tmp_path / "masked-lm", kind="masked-lm", meta={}) as folder:
        for path in source.iterdir():
            if path.name not in ("manifest.json", "sentence.json"):
                (folder / path.name).write_bytes(path.read_bytes())
    (names,) = run_card(tmp_path / "masked-lm", tmp_path / "out")
    assert names["states"].shape[2] == 32


def test_a_head_that_no_library_has(tmp_path: Path) -> None:
    (part,) = parts_of(add_cross_encoder(tmp_path / "model", "roberta", pooled=True))[0]
    ((sentence, code),) = usage_of(part, "encoder", "")
    assert "without its head" in sentence
    assert "AutoModel.from_pretrained(folder)" in code
