"""Model folders with a blend and a small fusion."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.weights import Blend
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.systems.learned_fusion.task import train_measured
from helpers.pipeline_queries import queries_of

LOCAL = {"whole>text": 1.0, "sentences:cubes": 0.5, "hatten": 2.0}


def add_blend(folder: Path, **kinds: dict[str, object]) -> Path:
    """Write a blend into a model folder."""
    data = kinds or {"local": {"weights": LOCAL, "encoders": ["hatten"]}}
    Blend.parse(data).save(folder / "blend", {})
    return folder


def add_fusion(folder: Path, first: FirstStage, corpus: Corpus, later: list[int]) -> None:
    """Train a fusion of global queries into a model folder."""
    queries = queries_of(corpus, later[:20], context=False)
    relevant = CSR.build(*corpus.cites.gather(later[:20]), 20)
    data = collect_examples(StagedCandidates(first, SecondStage(first.index), depth=50), queries, relevant)
    recipe = FusionRecipe.parse({"trees": {"trees": 3, "leaves": 4, "threads": 1}, "held_out": 0})
    meta = {"members": components.upstream_fingerprints(folder, first.index, "fusion")}
    LearnedFusion.save_all(folder / "fusion", {"global": train_measured(data, recipe).fusion}, meta)
