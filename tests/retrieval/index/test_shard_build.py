"""The stages of a build hold every part once, and need no order within."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.topic_corpus import HashEncoder

from cocite.corpus.store import Corpus
from cocite.part_files import LocalFiles
from cocite.retrieval.index.shard_build import assemble, build_stages, describe_shards
from cocite.retrieval.index.shard_writer import write_shards
from cocite.retrieval.index.sharded_plan import ShardedPlan


@pytest.fixture
def plan(corpus: Corpus) -> ShardedPlan:
    return ShardedPlan.of(corpus, shards=3, encoders=[HashEncoder()])


def test_the_parts_have_names_and_sizes(corpus: Corpus, plan: ShardedPlan, tmp_path: Path) -> None:
    stages = build_stages(plan.inputs(LocalFiles(tmp_path)))
    names = [part.name for stage in stages for part in stage.parts]
    assert len(set(names)) == len(names)
    assert {"encode.hash.0002", "number.papers.0000", "train.hash", "merge.contexts", "finish.0001"} < {
        *names
    }
    texts = sum(part.texts for stage in stages for part in stage.parts)
    assert texts == 3 * len(corpus) + len(corpus.contexts)
    assert not list(tmp_path.iterdir())


def test_parts_of_a_stage_may_be_made_in_any_order_and_twice(plan: ShardedPlan, tmp_path: Path) -> None:
    expected = write_shards(plan, tmp_path / "expected")
    inputs = plan.inputs(LocalFiles(tmp_path / "parts"))
    for stage in build_stages(inputs):
        for part in [*stage.parts, *stage.parts[:2]][::-1]:
            part.make()
        made = [part.make() for part in stage.parts[-3:]]
        for name in stage.spent:
            inputs.files.remove(name)
    assemble(inputs, tmp_path / "made")
    assert describe_shards([one for one in made if one]) == expected  # the shards' digests, too
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {"final"}
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"shards", "words", "names", "known"}
