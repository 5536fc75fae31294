"""Embedding gives the same files however it is run, goes on where it ended, and refuses what is not its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.killed_driver import run_killed
from helpers.troubled_blocks import DyingBlocks
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, NotFoundError
from cocite.manifests import MANIFEST
from cocite.pipeline.components import load_encoder
from cocite.retrieval.index.documents import encode
from cocite.retrieval.stored_vectors import StoredVectors, block_name
from cocite_jobs.steps.embedding import embed as module
from cocite_jobs.steps.embedding.blocks import Blocks
from cocite_jobs.steps.embedding.embed import choose_encoders, embed_corpus
from cocite_jobs.steps.parts import Part
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock

TESTS = Path(__file__).parents[3]
SIZE = 64


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return starter_corpus()


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_encoders(corpus, tmp_path_factory.mktemp("model"), hatten=True)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "block_size", lambda papers: SIZE)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file by its path, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_vectors_are_those_of_the_encoder(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    told: list[int] = []
    found = embed_corpus(corpus.path, model, tmp_path / "v", advance=told.append)
    assert [entry.encoder for entry in found] == ["nnselect", "hatten"]
    assert sum(told) == 2 * len(corpus)
    for entry in found:
        encoder = load_encoder(model, entry.encoder)
        assert encoder is not None
        vectors = StoredVectors.open(tmp_path / "v" / entry.encoder)
        assert (vectors.id, vectors.corpus) == (encoder.id, corpus.version)
        np.testing.assert_allclose(vectors[np.arange(len(corpus))], encode(corpus, encoder), atol=1e-6)
        assert entry.effort.papers == len(corpus)
        assert entry.effort.tokens > 10 * len(corpus)
        assert entry.rates.keys() == {"papers_per_s", "tokens_per_s", "mfu"}
        assert 0 < entry.rates["mfu"] < 1
    assert sorted(os.listdir(tmp_path / "v")) == ["hatten", "nnselect"], "records of parts are left"


def test_half_precision_halves_the_blocks(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    whole, half = (
        embed_corpus(corpus.path, model, tmp_path / dtype, names=["nnselect"], dtype=dtype)[0]  # type: ignore[arg-type]
        for dtype in ("float32", "float16")
    )
    assert whole.bytes - half.bytes == len(corpus) * 8 * 2
    rows = np.arange(len(corpus))
    one, other = (StoredVectors.open(tmp_path / dtype / "nnselect")[rows] for dtype in ("float32", "float16"))
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_what_is_whole_is_not_made_again_and_other_vectors_stay(
    corpus: Corpus, model: Path, tmp_path: Path
) -> None:
    to = tmp_path / "v"
    embed_corpus(corpus.path, model, to, names=["nnselect"])
    before = contents(to)
    [again] = embed_corpus(corpus.path, model, to, names=["nnselect"])
    assert (again.effort.papers, again.rates, again.meta["rows"]) == (0, {}, len(corpus))
    with pytest.raises(InputError, match="nnselect: is another artifact, or holds vectors of another corpus"):
        embed_corpus(corpus.path, model, to, names=["nnselect"], dtype="float16")
    assert contents(to) == before
    (to / "hatten").mkdir()
    (to / "hatten" / "thesis.tex").touch()
    with pytest.raises(InputError, match="hatten: is not empty and holds no vectors"):
        embed_corpus(corpus.path, model, to, names=["hatten"])


def stop_at_block_3(corpus: Corpus, model: Path, to: Path) -> None:
    """Embed by NNSelect until block 3 fails; blocks 0 to 2 are finished."""
    make = Blocks._make

    def fail(self: Blocks, *arguments: object) -> dict[str, object]:
        part = arguments[-1]
        assert isinstance(part, Part)
        if part.arguments[0] == 3:
            raise InputError("has no vector", hint="take another")
        return make(self, *arguments)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(InputError, match="has no vector"):
        patch.setattr(Blocks, "_make", fail)
        embed_corpus(corpus.path, model, to, names=["nnselect"])


def test_an_embedding_that_ended_early_goes_on(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    embed_corpus(corpus.path, model, tmp_path / "whole", names=["nnselect"])

    to = tmp_path / "v"
    stop_at_block_3(corpus, model, to)
    assert MANIFEST not in os.listdir(to / "nnselect")
    told: list[int] = []
    [entry] = embed_corpus(corpus.path, model, to, names=["nnselect"], advance=told.append)
    assert told[0] == 3 * SIZE
    assert entry.effort.papers == len(corpus) - 3 * SIZE
    assert contents(to) == contents(tmp_path / "whole")


def test_blocks_of_another_model_are_made_again(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    to = tmp_path / "v"
    embed_corpus(corpus.path, model, tmp_path / "whole", names=["nnselect"])
    other = untrained_encoders(corpus, tmp_path / "other", seed=1)
    embed_corpus(corpus.path, other, to)
    (to / "nnselect" / MANIFEST).unlink()  # as if it had not ended
    records = Location.of(to) / ".nnselect.parts"
    records.write("000000.json", '{"key": "other", "result": {}}')
    embed_corpus(corpus.path, model, to, names=["nnselect"])
    assert contents(to) == contents(tmp_path / "whole")


def test_blocks_whose_files_are_gone_are_made_again(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    embed_corpus(corpus.path, model, tmp_path / "whole", names=["nnselect"])
    to = tmp_path / "v"

    for gone in ([block_name(1)], [block_name(number) for number in range(3)]):
        stop_at_block_3(corpus, model, to)
        for name in gone:
            (to / "nnselect" / name).unlink()
        [entry] = embed_corpus(corpus.path, model, to, names=["nnselect"])
        assert entry.effort.papers == len(corpus) - (3 - len(gone)) * SIZE
        assert contents(to) == contents(tmp_path / "whole")
        shutil.rmtree(to)


def test_vectors_that_another_process_has_finished_meanwhile_stay(
    corpus: Corpus, model: Path, tmp_path: Path
) -> None:
    to = tmp_path / "v"
    finished: list[dict[str, bytes]] = []

    def finish_the_others(_: int) -> None:
        if not finished:
            embed_corpus(corpus.path, model, to, names=["hatten"], dtype="float16")
            finished.append(contents(to / "hatten"))

    with pytest.raises(InputError, match="hatten: is another artifact, or holds vectors of another corpus"):
        embed_corpus(corpus.path, model, to, advance=finish_the_others)
    assert contents(to / "hatten") == finished[0]


def test_everything_may_lie_elsewhere(corpus: Corpus, model: Path, tmp_path: Path, remote: str) -> None:
    (Location.of(remote) / "corpus").put(corpus.path)
    (Location.of(remote) / "model" / "nnselect").put(model / "nnselect")
    embed_corpus(f"{remote}/corpus", f"{remote}/model", f"{remote}/v", names=["nnselect"])
    embed_corpus(corpus.path, model, tmp_path / "v", names=["nnselect"])
    assert Location.of(f"{remote}/v").names() == ["nnselect"]
    fetched = StoredVectors.open(fetch_local(f"{remote}/v/nnselect"))
    rows = np.arange(len(corpus))
    np.testing.assert_array_equal(fetched[rows], StoredVectors.open(tmp_path / "v" / "nnselect")[rows])


def test_two_do_not_write_the_same_vectors(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    with (
        output_lock(Location.of(tmp_path), "nnselect.embedding"),
        pytest.raises(BusyError, match="is at work here"),
    ):
        embed_corpus(corpus.path, model, tmp_path, names=["nnselect"])


def test_encoders_are_chosen_by_name(model: Path, tmp_path: Path) -> None:
    assert choose_encoders(model) == ["nnselect", "hatten"]
    assert choose_encoders(model, ["hatten"]) == ["hatten"]
    with pytest.raises(InputError, match="no encoder 'haten' \\(did you mean 'hatten'"):
        choose_encoders(model, ["haten"])
    with pytest.raises(NotFoundError, match="holds no sentence"):
        choose_encoders(model, ["sentence"])
    with pytest.raises(NotFoundError, match="holds none of nnselect"):
        choose_encoders(tmp_path)


@pytest.fixture
def _workers_read_helpers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    return


@pytest.mark.integration
@pytest.mark.usefixtures("_workers_read_helpers")
def test_ray_makes_the_same_files_though_a_worker_dies(
    corpus: Corpus, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_corpus(corpus.path, model, tmp_path / "here", names=["nnselect"])
    monkeypatch.setattr(module, "Blocks", DyingBlocks)
    workers = Workers(on="ray", address="local", count=2)
    embed_corpus(corpus.path, model, tmp_path / "v" / "ray", names=["nnselect"], workers=workers)
    assert (tmp_path / "v" / "ray" / "died").exists()
    (tmp_path / "v" / "ray" / "died").unlink()
    assert contents(tmp_path / "v" / "ray") == contents(tmp_path / "here")


DRIVER = """
import sys
from helpers.troubled_blocks import HeldBlocks
from cocite_jobs.steps.embedding import embed
from cocite_jobs.steps.run_parts import Workers
embed.Blocks, embed.block_size = HeldBlocks, lambda papers: 64
workers = Workers(on="ray", address="local", count=1)
embed.embed_corpus(*sys.argv[1:4], names=["nnselect"], workers=workers)
"""


@pytest.mark.integration
def test_a_killed_driver_loses_no_finished_block(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    embed_corpus(corpus.path, model, tmp_path / "here", names=["nnselect"])
    to = tmp_path / "v"
    run_killed(DRIVER, corpus.path, model, to, recorded=to / ".nnselect.parts" / "*.json", count=2)
    assert not (to / "nnselect" / MANIFEST).exists()
    [entry] = embed_corpus(corpus.path, model, to, names=["nnselect"])
    assert entry.effort.papers <= len(corpus) - 2 * SIZE
    assert contents(to / "nnselect") == contents(tmp_path / "here" / "nnselect")
