"""One flipped bit anywhere in a model, an index or a corpus is refused, or makes no difference to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.command_line import call
from helpers.pipeline_queries import queries_of

from cocite.corpus.builder import build
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import CociteError, IntegrityError
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.weights import Blend
from cocite.protocols import Query, Ranking
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.citeomatic.nnrank.network import NNRank, NNRankModelSettings
from cocite.systems.citeomatic.nnrank.reranker import save_nnrank
from cocite.systems.citeomatic.nnselect.encoder import load_encoder, save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.systems.learned_fusion.task import train_measured
from cocite.text.fields import FieldEncoder, FieldSettings

pytestmark = pytest.mark.usefixtures("signal_handlers")
FLIPS = 200


class Folders:
    """A corpus, an index of two versions and a model of all members that need no transformer, of toy size."""

    def __init__(self, root: Path) -> None:
        self.corpus, self.index, self.model = root / "corpus", root / "index", root / "model"
        corpus = build(Synthetic(120, seed=2, context_rate=4.0), self.corpus)
        torch.manual_seed(0)
        fields = FieldEncoder.build(
            History.all(corpus), FieldSettings(min_papers_per_keyphrase=1), metadata=True
        )
        save_nnselect(
            self.model / "nnselect",
            NNSelect(len(fields.vocabularies["words"]), 8),
            fields,
            {"dev": {"MRR": 0.5}},
        )
        encoder = load_encoder(self.model)
        sizes = {name: len(vocabulary) for name, vocabulary in fields.vocabularies.items()}
        save_nnrank(
            self.model / "nnrank", NNRank(sizes, NNRankModelSettings()), fields, {}, nnselect=encoder.id
        )
        Blend.parse(
            {"local": {"encoders": ["nnselect"], "weights": {"whole>text": 1.0, "nnselect": 0.5}}}
        ).save(self.model / "blend", {})
        IndexSnapshot.create(corpus, self.index)
        index = IndexSnapshot.create(corpus, self.index, encoders=[encoder])
        rows = [
            row for row in range(60, 120) if (corpus.context_citing == row).any() and len(corpus.cites[row])
        ]
        first = FirstStage.load(self.model, index)
        second = SecondStage(index, nnrank=components.load_nnrank(self.model, index))
        fusions = {}
        for kind in ("local", "global"):
            queries = queries_of(corpus, rows[:10], context=kind == "local")
            relevant = CSR.build(*corpus.cites.gather(np.array(rows[:10])), 10)
            data = collect_examples(StagedCandidates(first, second, depth=40), queries, relevant)
            recipe = FusionRecipe.parse({"trees": {"trees": 5, "leaves": 4, "threads": 1}})
            fusions[kind] = train_measured(data, recipe).fusion
        beneath = components.upstream_fingerprints(self.model, index, "fusion")
        LearnedFusion.save_all(self.model / "fusion", fusions, {"members": beneath})
        self.queries = [queries_of(corpus, rows[-1:], context=context)[0] for context in (True, False)]

    def files(self) -> list[Path]:
        """Every file with content."""
        folders = (self.corpus, self.index, self.model)
        found = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        return [path for path in found if path.stat().st_size]

    def ranked(self) -> bytes:
        """Ids and scores of two queries by all stages."""
        recommender = Recommender.load(self.model, self.index)
        return self._said(recommender.index.corpus, recommender.rank)

    def ranked_by_the_old_version(self) -> bytes:
        """The same by the first stage over the version of the index before the current one."""
        index = IndexSnapshot.open(self.index, "000001")
        return self._said(index.corpus, FirstStage(index).search)

    def ranked_by_the_corpus(self) -> bytes:
        """The same by BM25 over the corpus."""
        corpus = Corpus.open(self.corpus)
        return self._said(corpus, Bm25Baseline(lexical_index(corpus)).search)

    def ranking_of(self, path: Path) -> Callable[[], bytes]:
        """Which of these reads a file."""
        if path.is_relative_to(self.corpus):
            return self.ranked_by_the_corpus
        old = path.is_relative_to(self.index / "versions" / "000001")
        return self.ranked_by_the_old_version if old else self.ranked

    def _said(self, corpus: Corpus, rank: Callable[[list[Query], int], Ranking]) -> bytes:
        ranking = rank(self.queries, 20)
        ids = corpus.ids(ranking.rows[ranking.rows >= 0])
        return "\n".join(ids).encode() + ranking.scores.tobytes()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(tmp_path_factory.mktemp("flips"))


@contextmanager
def flipped(path: Path, bit: int) -> Iterator[None]:
    """One bit of a file is another one while the block runs."""
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    try:
        yield
    finally:
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)


def test_a_flipped_bit_is_refused_or_makes_no_difference(folders: Folders) -> None:
    rng = np.random.default_rng(7)
    files = folders.files()
    assert {"CURRENT", "manifest.json", "model.safetensors", "papers.arrow", "weights.json"} <= {
        f.name for f in files
    }
    chosen = files + [files[i] for i in rng.integers(0, len(files), max(FLIPS - len(files), 50))]
    known = {rank: rank() for rank in {folders.ranking_of(path) for path in files}}
    refused = 0
    for path in chosen:
        bit = int(rng.integers(8 * path.stat().st_size))
        rank = folders.ranking_of(path)
        with flipped(path, bit):
            try:
                same = rank() == known[rank]
            except CociteError:
                refused += 1
            else:
                assert same, f"bit {bit} of {path} changed the ranking"
    assert len(chosen) >= FLIPS
    assert refused >= 0.9 * len(chosen)
    assert all(rank() == said for rank, said in known.items())


@pytest.mark.parametrize(
    "part", ["corpus/contexts.arrow", "index/CURRENT", "model/nnselect/model.safetensors"]
)
def test_a_command_names_what_is_damaged(
    folders: Folders, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folders.corpus.parent / part
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "1", "title": "a title"}\n')
    model = ("--model", folders.model)
    commands = {
        "corpus": [
            (
                "rank",
                "--corpus",
                folders.corpus,
                "--pipeline",
                "bm25",
                "--queries",
                queries,
                "--to",
                tmp_path / "run",
            ),
            ("index", "build", folders.corpus, "--to", tmp_path / "index"),
            ("train", "nnselect", "--corpus", folders.corpus, "--to", tmp_path / "model"),
            ("evaluate", "pipeline", "--corpus", folders.corpus, *model, "--no-track"),
        ],
        "index": [
            ("rank", "--index", folders.index, *model, "--queries", queries, "--to", tmp_path / "run"),
            ("index", "remove", folders.index, "synth-1"),
            ("serve", "--index", folders.index, *model, "--port", "18765"),
        ],
        "model": [
            ("rank", "--index", folders.index, *model, "--queries", queries, "--to", tmp_path / "run"),
            ("index", "build", folders.corpus, "--to", tmp_path / "index", *model),
            ("serve", "--index", folders.index, *model, "--port", "18765"),
            ("model", "verify", folders.model),
        ],
    }
    with flipped(path, 8 * (path.stat().st_size // 2)):
        for command in commands[part.partition("/")[0]]:
            code, out, err = call(capsys, *command)
            assert (code, out) == (3, ""), (command, err)
            assert f"{path.name}: damaged" in err, command
    assert not list(tmp_path.glob("run*")), "nothing is written"


def test_scores_that_are_not_finite_are_refused_with_the_part(folders: Folders) -> None:
    recommender = Recommender.load(folders.model, folders.index)
    nnrank = recommender.second.nnrank
    with torch.no_grad():
        next(nnrank.model.parameters()).fill_(torch.nan)  # type: ignore[attr-defined, union-attr]
    nnrank.refresh()  # type: ignore[attr-defined, union-attr]
    with pytest.raises(IntegrityError, match=r"^nnrank: scores are not finite numbers .*cocite model verify"):
        recommender.rank(folders.queries, 5)


def test_vectors_that_are_not_finite_are_refused_with_the_encoder(folders: Folders, tmp_path: Path) -> None:
    encoder = load_encoder(folders.model)
    index = IndexSnapshot.open(folders.index)
    with torch.no_grad():
        for weight in encoder.model.parameters():
            weight.fill_(torch.inf)
    with pytest.raises(IntegrityError, match="^nnselect: vectors of papers are not finite"):
        IndexSnapshot.create(index.corpus, tmp_path / "index", encoders=[encoder])
    assert not (tmp_path / "index" / "CURRENT").exists()
    stage = FirstStage.over(None, index, [encoder])
    with pytest.raises(IntegrityError, match="^nnselect: vectors of queries are not finite"):
        stage.search(folders.queries, 5)


def test_a_signal_that_is_not_finite_is_refused_with_its_name(folders: Folders) -> None:
    stage = FirstStage.load(folders.model, IndexSnapshot.open(folders.index))
    vectors = stage.index.shards.shards[0].vectors["nnselect"]
    vectors.raw = np.array(vectors.raw)
    vectors.raw[3, 0] = np.nan
    for query in folders.queries:
        with pytest.raises(IntegrityError, match="^nnselect: scores are not finite"):
            stage.retrieve([query])
