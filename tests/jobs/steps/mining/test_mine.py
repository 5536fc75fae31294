"""Mining in parts gives the artifact of one process, however it is run, and goes on where it ended."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.cross_encoder_recipes import small_recipe
from helpers.killed_driver import run_killed
from helpers.synthetic import SyntheticCorpora
from helpers.troubled_mining import DyingMineBlocks
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, IntegrityError, NotFoundError
from cocite.pipeline import candidate_mining
from cocite.pipeline.candidate_files import prepare
from cocite.pipeline.candidate_mining import MiningPlan
from cocite.pipeline.components import load_encoders
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.candidates import CandidateSettings
from cocite.training.periods import Periods
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.mining import mine as module
from cocite_jobs.steps.mining.mine import MineBlocks, are_vectors_there, mine_in_parts
from cocite_jobs.steps.parts import Result
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock
from cocite_jobs.storage.transfer import upload_tree
from cocite_jobs.training.inputs import InParts, prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions

TESTS = Path(__file__).parents[3]
BLOCK = 16


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=9)


@pytest.fixture(scope="module")
def index(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "index"
    IndexSnapshot.create(corpus, folder)
    return folder


@pytest.fixture(scope="module")
def settings(index: Path) -> CandidateSettings:
    return CandidateSettings.parse(
        {
            "years": 3,
            "queries": 90,
            "depth": 20,
            "dev_queries": 20,
            "dev_depth": 8,
            "period": {"train_until": 2015},
            "index": str(index),
        }
    )


@pytest.fixture(scope="module")
def encoders(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with NNSelect and HAtten."""
    return untrained_encoders(corpus, tmp_path_factory.mktemp("encoders"), hatten=True)


@pytest.fixture(scope="module")
def with_vectors(corpus: Corpus, encoders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with their vectors."""
    folder = tmp_path_factory.mktemp("vectors") / "index"
    IndexSnapshot.create(corpus, folder, encoders=load_encoders(encoders))
    return folder


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_mining, "BLOCK", BLOCK)


@pytest.fixture
def whole(corpus: Corpus, settings: CandidateSettings, tmp_path: Path) -> Path:
    """The artifact of one process, without parts."""
    prepare(settings, corpus, tmp_path / "whole")
    return tmp_path / "whole"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def stop(*_: object) -> bytes:
    raise InputError("stopped")


def mine(settings: CandidateSettings, corpus: Corpus, model: Path, **options: Any) -> bool:
    options = {"workers": Workers(), **options}
    return mine_in_parts(
        settings,
        corpus,
        model / "candidates",
        source=str(corpus.path),
        root=Location.of(model),
        **options,
    )


def mine_elsewhere(settings: CandidateSettings, corpus: Corpus, root: Location, to: Path) -> bool:
    """Mine with corpus, index and model folder in a store, which gets them but for what a model folder holds."""
    (root / "corpus").put(corpus.path)
    assert settings.index is not None
    upload_tree(Path(settings.index), root / "index")
    return mine_in_parts(
        settings.model_copy(update={"index": (root / "index").uri}),
        corpus,
        to,
        source=(root / "corpus").uri,
        root=root / "model",
        workers=Workers(),
    )


def test_the_artifact_is_that_of_one_process(
    corpus: Corpus, settings: CandidateSettings, whole: Path, tmp_path: Path
) -> None:
    told: list[Any] = []
    results: list[Result] = []
    model = tmp_path / "model"
    assert mine(
        settings,
        corpus,
        model,
        stage=lambda *s: told.append(s),
        advance=told.append,
        receive=results.append,
    )
    assert contents(model / "candidates") == contents(whole)
    # Dev queries know the whole training period, those of each of three years what was before.
    assert told[:6] == [("candidates: histories", 4), 1, 1, 1, 1, ("candidates: queries", 110)]
    assert sum(told[6:]) == 110
    assert len(told) - 2 == len(results) > 110 // BLOCK
    assert all(result["seconds"] > 0 and result["cpu_seconds"] > 0 for result in results)
    assert [path.name for path in model.iterdir() if path.is_dir()] == ["candidates"], "blocks are left"
    assert not mine(settings, corpus, model)


def test_a_mining_that_ended_early_goes_on(
    corpus: Corpus,
    settings: CandidateSettings,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = candidate_mining.Miner.find

    def fail_at_dev(self: candidate_mining.Miner, block: candidate_mining.MiningBlock) -> Any:
        if block.part == "dev":
            raise InputError("has no candidates", hint="take another")
        return find(self, block)

    monkeypatch.setattr(candidate_mining.Miner, "find", fail_at_dev)
    model = tmp_path / "model"
    with pytest.raises(InputError, match="has no candidates"):
        mine(settings, corpus, model)
    assert not (model / "candidates").exists()
    monkeypatch.setattr(candidate_mining.Miner, "find", find)
    told: list[int] = []
    assert mine(settings, corpus, model, advance=told.append)
    assert told[:2] == [4, 90]
    assert contents(model / "candidates") == contents(whole)


def test_blocks_of_other_settings_are_made_again_and_damaged_ones_refused(
    corpus: Corpus,
    settings: CandidateSettings,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tmp_path / "model"
    with monkeypatch.context() as before_joining:
        before_joining.setattr(module, "read_array", stop)
        for chosen in (settings.model_copy(update={"seed": 1}), settings):
            with pytest.raises(InputError, match="stopped"):
                mine(chosen, corpus, model)
    blocks = model / ".candidates.parts"
    content = (blocks / "000001.npy").read_bytes()
    (blocks / "000001.npy").write_bytes(content[:-1])
    with pytest.raises(IntegrityError, match=r"000001\.npy: is missing or damaged"):
        mine(settings, corpus, model)
    (blocks / "000001.npy").write_bytes(content)
    told: list[int] = []
    assert mine(settings, corpus, model, advance=told.append)
    assert told == [4, 110]
    assert contents(model / "candidates") == contents(whole)


def test_blocks_of_an_index_that_was_built_anew_are_made_again(
    corpus: Corpus, settings: CandidateSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, index = tmp_path / "model", tmp_path / "index"
    settings = settings.model_copy(update={"index": str(index)})
    for bm25 in (Bm25Fields(), Bm25Fields.parse({}, overrides=["text.k1=0"])):
        shutil.rmtree(index, ignore_errors=True)
        IndexSnapshot.create(corpus, index, bm25=bm25)  # both times as version 000001
        with monkeypatch.context() as before_joining, pytest.raises(InputError, match="stopped"):
            before_joining.setattr(module, "read_array", stop)
            mine(settings, corpus, model)
    prepare(settings, corpus, tmp_path / "whole")
    assert mine(settings, corpus, model)
    assert contents(model / "candidates") == contents(tmp_path / "whole")


def test_one_command_at_a_time_mines(corpus: Corpus, settings: CandidateSettings, tmp_path: Path) -> None:
    with (
        output_lock(Location.of(tmp_path), "candidates.mining"),
        pytest.raises(BusyError, match="is at work here"),
    ):
        mine(settings, corpus, tmp_path)


def test_everything_may_lie_elsewhere(
    corpus: Corpus, settings: CandidateSettings, whole: Path, tmp_path: Path, remote: str
) -> None:
    root = Location.of(remote)
    assert mine_elsewhere(settings, corpus, root, tmp_path / "candidates")
    assert contents(tmp_path / "candidates") == contents(whole)
    assert (root / "model").names() == []


def test_an_index_that_workers_do_not_see_is_refused(
    corpus: Corpus, settings: CandidateSettings, tmp_path: Path, remote: str
) -> None:
    for elsewhere, sentence in ((f"{remote}/none", "nothing is there"), ("/no/index", "sees no such folder")):
        with pytest.raises(NotFoundError, match=sentence):
            mine(settings.model_copy(update={"index": elsewhere}), corpus, tmp_path / "model")


DRIVER = """
import sys
from pathlib import Path
from helpers.troubled_mining import HeldMineBlocks
from cocite.corpus.store import Corpus
from cocite.pipeline import candidate_mining
from cocite.training.candidates import CandidateSettings
from cocite_jobs.steps.mining import mine as module
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
candidate_mining.BLOCK = int(sys.argv[4])
module.MineBlocks = HeldMineBlocks
corpus, model = Corpus.open(sys.argv[1]), Path(sys.argv[2])
module.mine_in_parts(
    CandidateSettings.model_validate_json(sys.argv[3]), corpus, model / "candidates", source=sys.argv[1],
    root=Location.of(model), workers=Workers(on=sys.argv[5], count=1),
)
"""


@pytest.fixture
def asked(
    request: pytest.FixtureRequest, settings: CandidateSettings, with_vectors: Path
) -> CandidateSettings:
    """The settings of a retriever, and an index that has what it needs."""
    if request.param == "first-stage":
        return settings
    return settings.model_copy(update={"retriever": request.param, "index": str(with_vectors)})


def model_folder(encoders: Path, to: Path) -> Path:
    return Path(shutil.copytree(encoders, to))


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("asked", ["nnselect", "hatten"], indirect=True)
def test_an_encoder_finds_the_candidates_of_one_process(
    corpus: Corpus, asked: CandidateSettings, encoders: Path, tmp_path: Path, shards: int
) -> None:
    if shards > 1:
        folder = tmp_path / "sharded"
        ShardedIndex.create(corpus, folder, shards=shards, encoders=load_encoders(encoders))
        asked = asked.model_copy(update={"index": str(folder)})
    one, model = (model_folder(encoders, tmp_path / name) for name in ("one", "model"))
    prepare(asked, corpus, one / "candidates")
    told: list[Any] = []
    assert mine(asked, corpus, model, stage=lambda *s: told.append(s), advance=told.append)
    assert contents(model / "candidates") == contents(one / "candidates")
    assert told[0] == ("candidates: queries", 110)  # no link is known to vectors: there are no histories
    assert sum(told[1:]) == 110
    assert not mine(asked, corpus, model)


@pytest.mark.parametrize("asked", ["nnselect"], indirect=True)
def test_an_encoder_and_its_index_may_lie_elsewhere(
    corpus: Corpus, asked: CandidateSettings, encoders: Path, tmp_path: Path, remote: str
) -> None:
    one, here = (model_folder(encoders, tmp_path / name) for name in ("one", "here"))
    prepare(asked, corpus, one / "candidates")
    root = Location.of(remote)
    (root / "model" / "nnselect").put(encoders / "nnselect")
    assert mine_elsewhere(asked, corpus, root, here / "candidates")
    assert contents(here / "candidates") == contents(one / "candidates")
    assert (root / "model").names() == ["nnselect"]


@pytest.mark.parametrize("asked", ["nnselect"], indirect=True)
def test_another_encoder_than_that_of_the_vectors_is_refused_and_keeps_no_blocks(
    corpus: Corpus,
    asked: CandidateSettings,
    encoders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_folder(encoders, tmp_path / "model")
    assert are_vectors_there(asked, model)
    with monkeypatch.context() as before_joining, pytest.raises(InputError, match="stopped"):
        before_joining.setattr(module, "read_array", stop)
        mine(asked, corpus, model)
    shutil.rmtree(model / "nnselect")
    untrained_encoders(corpus, model, seed=1)
    assert not are_vectors_there(asked, model)
    with pytest.raises(InputError, match="the vectors of nnselect were made by encoder"):
        mine(asked, corpus, model)  # the blocks of the first one are none of this one's
    with pytest.raises(ValueError, match="that the settings name"):
        MineBlocks(
            str(corpus.path),
            corpus.version,
            asked.model_copy(update={"index": None}),
            Location.of(model),
            str(model / "nnselect"),
        ).open()
    shutil.rmtree(model / "nnselect")
    with pytest.raises(NotFoundError, match="holds no nnselect"):
        mine(asked, corpus, model)


@pytest.mark.parametrize(
    ("on", "asked"),
    [
        ("process", "first-stage"),
        ("process", "nnselect"),
        pytest.param("ray", "first-stage", marks=pytest.mark.integration),
    ],
    indirect=["asked"],
)
def test_a_killed_driver_loses_at_most_the_block_in_the_making(
    corpus: Corpus,
    asked: CandidateSettings,
    encoders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    on: str,
) -> None:
    if on == "ray":
        monkeypatch.undo()  # workers have blocks of the usual size
    one, model = (model_folder(encoders, tmp_path / name) for name in ("one", "model"))
    prepare(asked, corpus, one / "candidates")
    arguments = [str(corpus.path), str(model), asked.model_dump_json(), str(candidate_mining.BLOCK), on]
    finished = model / ".candidates.parts" / "finished"
    run_killed(DRIVER, *arguments, recorded=finished / "0*.json", count=2)
    kept = len(list(finished.glob("0*.json")))
    assert kept >= 2
    assert not (model / "candidates").exists()
    told: list[int] = []
    assert mine(asked, corpus, model, advance=told.append)
    histories = 0 if asked.components else 4
    assert sum(told) == histories + 110
    plan = MiningPlan.of(asked, Periods.of(corpus, asked.period))
    assert len(told) == (2 if histories else 1) + len(plan.blocks) - kept
    assert contents(model / "candidates") == contents(one / "candidates")


@pytest.mark.integration
@pytest.mark.parametrize("asked", ["first-stage", "nnselect"], indirect=True)
def test_tasks_of_ray_give_the_same_and_a_killed_worker_is_replaced(
    corpus: Corpus,
    asked: CandidateSettings,
    encoders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # the workers have blocks of the usual size
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)  # and read the test's own step
    monkeypatch.setattr(module, "MineBlocks", DyingMineBlocks)
    one, model = (model_folder(encoders, tmp_path / name) for name in ("one", "model"))
    prepare(asked, corpus, one / "candidates")
    ray = Workers(on="ray", count=2)
    with ray_connection("local"):
        assert mine(asked, corpus, model, workers=ray)
        assert (model / "died").exists()
        assert contents(model / "candidates") == contents(one / "candidates")
        # A training on Ray mines so, where its recipe names an index that has an encoder's vectors.
        recipe = small_recipe("no-encoder", candidates=asked.model_dump())
        monkeypatch.setattr(module, "prepare_by", stop)
        monkeypatch.setattr(type(recipe), "tokens", None)
        with pytest.raises(InputError, match="stopped"):
            prepare_inputs(
                recipe,
                corpus,
                Location.of(model_folder(encoders, tmp_path / "trained")),
                ProgressFunctions(),
                InParts(str(corpus.path), ray),
            )
