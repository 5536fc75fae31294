"""Mines the candidates of a cross-encoder's training in blocks of queries, in this process or as tasks of Ray.

The artifact is equal, byte for byte, to that of :func:`cocite.pipeline.candidate_files.prepare`. First the histories
are made, each once (:mod:`cocite_jobs.steps.mining.histories`), then the blocks. What is done is kept beside the
artifact until it is there: a mining that ended early goes on with what is missing.

An encoder of the model folder searches its vectors in the index that the settings name. No link is known to them, so
there are no histories then.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite.pipeline.candidate_files import prepare_by
from cocite.pipeline.candidate_mining import Miner, MiningBlock, MiningPlan
from cocite.pipeline.components import ENCODERS, import_object
from cocite.protocols import Encoder
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import saved_vectors
from cocite.retrieval.index.version_writer import KIND as INDEX_KIND
from cocite.retrieval.index.versions import VersionedFolder
from cocite.training.candidates import KIND, CandidateSettings
from cocite.training.input_artifacts import Advance, Stage, component_digests
from cocite.training.periods import Periods
from cocite_jobs.steps.files import (
    fetch_seen,
    fetch_seen_index,
    open_seen,
    read_array,
    require_seen,
    write_file,
)
from cocite_jobs.steps.mining.histories import MakeHistories
from cocite_jobs.steps.parts import FinishedParts, Part, Result
from cocite_jobs.steps.run_parts import Workers, connected, run_parts
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock


@dataclass(frozen=True)
class MineBlocks:
    """Searches blocks of queries; a :class:`~cocite_jobs.steps.parts.Work`.

    Attributes:
        corpus: a store, by its path or URI, which every worker sees.
        corpus_version: of the store.
        settings: whose candidates; every worker sees the index that they name.
        to: the folder of the blocks' candidates, and of the histories that they search.
        encoder: the artifact that finds the candidates, by its path or URI, which every worker sees; None: the settings
            name a retriever without one.
        encoder_id: of that encoder, whose vectors the index holds.

    Example:
        >>> MineBlocks("corpus", "12ab", CandidateSettings(), Location.of("/model/.candidates.parts")).settings.depth
        100
    """

    corpus: str
    corpus_version: str
    settings: CandidateSettings
    to: Location
    encoder: str | None = None
    encoder_id: str = ""

    @property
    def histories(self) -> MakeHistories:
        """How the histories are made."""
        return MakeHistories(self.corpus, self.corpus_version, self.settings, self.to)

    def open(self) -> Callable[[Part], Result]:
        """Open corpus and index, and load the encoder; the histories are there.

        Raises:
            CociteError: this machine does not see them, or sees others than the driver.
        """
        corpus = open_seen(self.corpus, self.corpus_version, bodies=self.encoder is not None)
        periods = Periods.of(corpus, self.settings.period)
        plan = MiningPlan.of(self.settings, periods)
        miner = Miner(plan, self.histories.reader()) if self.encoder is None else self._nearest(plan, periods)

        def make(part: Part) -> Result:
            wall, cpu = time.perf_counter(), time.process_time()
            buffer = io.BytesIO()
            np.save(buffer, miner.find(plan.blocks[part.arguments]), allow_pickle=False)
            entry = write_file(self.to, f"{part.name}.npy", buffer.getvalue())
            return entry | {
                "seconds": time.perf_counter() - wall,
                "cpu_seconds": time.process_time() - cpu,
            }

        return make

    def _nearest(self, plan: MiningPlan, periods: Periods) -> Miner:
        """What searches the encoder's vectors, which are the same whatever is known of links."""
        source, index = self.encoder, self.settings.index
        if source is None or index is None:
            raise ValueError("nearest papers are found by an encoder, in an index that the settings name")
        encoder: Encoder = import_object(ENCODERS[self.settings.retriever])(fetch_seen(source))
        require_seen(encoder.id == self.encoder_id, self.settings.retriever, source)
        history = periods.history
        searched = saved_vectors(history.corpus, history, encoder, open_index(fetch_seen_index(index)))
        return Miner(plan, lambda _: searched, encoder)


def are_vectors_there(settings: CandidateSettings, model: Path) -> bool:
    """Whether workers can search the nearest papers of an encoder: the index that the settings name has its vectors.

    Args:
        settings: with an ``index`` and an encoder.
        model: a folder with the encoder's manifest.

    Raises:
        NotFoundError: there is no such index.
    """
    versions = VersionedFolder(fetch_seen_index(settings.index or ""))
    held = read_manifest(versions.folder(versions.current()), kind=INDEX_KIND).meta.get("encoder_ids", {})
    return all(held.get(name) == read_manifest(model / name).digest for name in settings.components)


def mine_in_parts(
    settings: CandidateSettings,
    corpus: Corpus,
    folder: Path,
    *,
    source: str,
    root: Location,
    workers: Workers,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
    receive: Callable[[Result], object] = lambda _: None,
) -> bool:
    """Make the candidates of a training, unless the folder holds those of this corpus and these settings already.

    Args:
        settings: whose candidates.
        corpus: papers, links and contexts.
        folder: where the artifact is or is to be, beside the encoder that the settings name.
        source: path or URI under which workers find the corpus.
        root: the model folder, which every worker sees: the blocks are kept there until the artifact is made, and the
            encoder is there, if the settings name one.
        workers: who searches.
        stage: called with a description of the step and its number of queries.
        advance: called with 1 for each history, and the number of queries of each block, that is done.
        receive: called with the result of each history and block: seconds and CPU seconds among it.

    Returns:
        Whether the candidates were made.

    Raises:
        InputError: a period has no query, or the index does not fit, or lacks the encoder's vectors.
        BusyError: another process of this machine mines into the same model folder.
        CociteError: a block could not be made; those that were made are kept.
    """
    periods = Periods.of(corpus, settings.period)
    scratch = root / f".{KIND}.parts"
    if settings.index is not None:  # workers have another working folder
        settings = settings.model_copy(update={"index": Location.of(settings.index).uri})
    work = MineBlocks(Location.of(source).uri, corpus.version, settings, scratch)
    for name in settings.components:
        digest = component_digests(settings, folder.parent)["components"][name]
        work = replace(work, encoder=(root / name).uri, encoder_id=digest)

    def mine(plan: MiningPlan) -> Iterator[tuple[MiningBlock, NDArray[np.int32]]]:
        finished = FinishedParts(scratch / "finished", _key(work))
        parts = [Part(f"{number:06d}", len(block), number) for number, block in enumerate(plan.blocks)]
        made = finished.read()
        # One Ray for both steps, and none where an earlier call made all parts.
        with nullcontext() if all(part.name in made for part in parts) else connected(workers):
            if work.encoder is None:
                histories = work.histories.parts(plan)
                stage("candidates: histories", len(histories))
                for result in run_parts(work.histories, histories, finished, workers, advance=advance):
                    receive(result)
            stage("candidates: queries", sum(map(len, plan.blocks)))
            results = run_parts(work, parts, finished, workers, advance=advance)
        for block, result in zip(plan.blocks, results, strict=True):
            receive(result)
            yield block, read_array(scratch, result)

    with output_lock(root, f"{KIND}.mining"):
        made = prepare_by(mine, settings, periods, folder)
        scratch.clear()
    return made


def _key(work: MineBlocks) -> str:
    """What determines the candidates of the blocks."""
    inputs: dict[str, Any] = {
        "corpus": work.corpus_version,
        "settings": work.settings.model_dump(mode="json"),
        "encoder": work.encoder_id,
    }
    if work.settings.index is not None:
        versions = VersionedFolder(fetch_seen_index(work.settings.index))
        # Not its name alone: an index that was removed and built again has a first version, too.
        inputs["version"] = read_manifest(versions.folder(versions.current()), kind=INDEX_KIND).digest
    return json.dumps(inputs, sort_keys=True)
