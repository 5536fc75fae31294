"""The build of an index in shards, divided into parts that processes or machines can make side by side.

The parts of a stage need those of the stages before and none of their own. One process makes them one after the other
(:mod:`cocite.retrieval.index.shard_writer`), tasks of Ray side by side (``cocite index build --on ray``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cocite.artifacts import seal
from cocite.corpus.history import History
from cocite.hard_links import add_links
from cocite.manifests import read_json
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import load_indexes, load_vocabulary
from cocite.retrieval.index.domain import DOMAIN, fit_words
from cocite.retrieval.index.known_contexts import FOLDER as KNOWN
from cocite.retrieval.index.known_contexts import KnownContexts
from cocite.retrieval.index.name_tables import NameTables
from cocite.retrieval.index.shard_anchors import SAID, add_anchors, cite_words
from cocite.retrieval.index.shard_inputs import ANCHORS, ShardInputs
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS, SHARD_KIND, shard_folder
from cocite.retrieval.index.shard_vectors import (
    ENCODED,
    SEARCHED,
    TRAINED,
    encode_papers,
    search_vectors,
    shard_kind,
    train_vectors,
)
from cocite.retrieval.index.shard_words import (
    COLUMNS,
    COUNTS,
    FINAL,
    HELD,
    STATISTICS,
    TEXTS,
    VOCABULARIES,
    WEIGHED,
    count_words,
    merge_words,
    number_words,
    part_name,
    total_words,
    weigh_words,
)
from cocite.retrieval.index.version_writer import NAMES

LIMITS, LIMITS_FILE = "limits", "limits.json"
ENCODE = "encode"
"""Beginning of the names of the parts that compute vectors, on a GPU where they see one."""
Made = dict[str, Any]
"""What making a part gave: small, of JSON's types."""


@dataclass(frozen=True)
class BuildPart:
    """A part of a build.

    Attributes:
        name: unique in the build.
        texts: how many texts and vectors it makes.
        make: makes it; when it returns, what it wrote is in place.

    Example:
        >>> BuildPart("merge.papers", 0, dict).make()
        {}
    """

    name: str
    texts: int
    make: Callable[[], Made | None]


@dataclass(frozen=True)
class BuildStage:
    """Parts that do not need each other.

    Attributes:
        parts: of the stage.
        spent: beginnings of the names of what no later stage reads.

    Example:
        >>> BuildStage((), ("texts",)).spent
        ('texts',)
    """

    parts: tuple[BuildPart, ...]
    spent: tuple[str, ...] = ()


def build_stages(inputs: ShardInputs) -> list[BuildStage]:
    """The stages of a build, in order; the last one's parts give what the version's manifest says of each shard.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.part_files import LocalFiles
        >>> from cocite.retrieval.index.sharded_plan import ShardedPlan
        >>> inputs = ShardedPlan.of(starter_corpus(), shards=2).inputs(LocalFiles(Path("parts")))
        >>> [len(stage.parts) for stage in build_stages(inputs)]
        [6, 2, 4, 4, 6, 2]
    """
    shards, encoders = range(len(inputs.ranges)), list(inputs.encoder_ids)

    def part(step: str, make: Callable[..., Any], *arguments: Any, texts: int = 0) -> BuildPart:
        words = (f"{name:04d}" if isinstance(name, int) else str(name) for name in arguments)
        return BuildPart(".".join([step, *words]), texts, partial(make, inputs, *arguments))

    # Of the parts of a stage the largest come first, so that the last ones, which other workers wait for, are short.
    return [
        BuildStage(
            (
                *(
                    part(ENCODE, encode_papers, encoder, n, texts=inputs.ranges[n].papers)
                    for encoder in encoders
                    for n in shards
                ),
                *(part("number", number_words, CONTEXTS, n, texts=inputs.ranges[n].contexts) for n in shards),
                *(part("number", number_words, PAPERS, n, texts=2 * inputs.ranges[n].papers) for n in shards),
                part("names", write_names),
                part("known", write_known),
            )
        ),
        BuildStage(
            (
                *(part("train", train_vectors, encoder) for encoder in encoders),
                *(part("merge", merge_words, group) for group in (CONTEXTS, PAPERS)),
            )
        ),
        BuildStage(
            (
                *(part("count", count_contexts, n) for n in shards),
                *(part("count", count_words, PAPERS, n) for n in shards),
                *(part("search", search_vectors, encoder, n) for encoder in encoders for n in shards),
            ),
            spent=(TEXTS, ENCODED, TRAINED),
        ),
        BuildStage(
            (
                *(part("add", add_anchors, n) for n in shards),
                *(part("total", total_words, group) for group in (CONTEXTS, PAPERS)),
            ),
            spent=(SAID, COLUMNS),
        ),
        BuildStage(
            (
                part("limits", fit_limits),
                *(part("weigh", weigh_words, CONTEXTS, n) for n in shards),
                *(part("weigh", weigh_words, PAPERS, n) for n in shards),
                part("total", total_words, ANCHORS),
            ),
            spent=(HELD, VOCABULARIES),
        ),
        BuildStage(
            tuple(part("finish", finish_shard, n) for n in shards),
            spent=(COUNTS, STATISTICS, WEIGHED, SEARCHED, LIMITS),
        ),
    ]


def write_names(inputs: ShardInputs) -> None:
    """Write the tables of the authors and venues of all papers."""
    with inputs.files.write(f"{FINAL}/{NAMES}") as folder:
        NameTables(inputs.corpus()).save(folder / NAMES)


def write_known(inputs: ShardInputs) -> None:
    """Write which papers the known contexts stand in and cite."""
    history = History(inputs.corpus(), inputs.collection.history.citing)
    with inputs.files.write(f"{FINAL}/{KNOWN}") as folder:
        KnownContexts.of(history).save(folder / KNOWN)


def count_contexts(inputs: ShardInputs, number: int) -> None:
    """Count the words of one shard's contexts, by context and by the papers that they cite."""
    count_words(inputs, CONTEXTS, number)
    cite_words(inputs, number)


def fit_limits(inputs: ShardInputs) -> None:
    """Fit the limits beyond which a text is unlike the index, which take the words of all shards."""
    words: dict[str, Bm25Index] = {}
    for group, name in ((PAPERS, "text"), (CONTEXTS, "contexts")):
        vocabulary = load_vocabulary(inputs.files.read(f"{VOCABULARIES}/{group}"))
        words |= load_indexes(inputs.files.read(f"{STATISTICS}/{group}"), (name,), vocabulary)
    limits = fit_words(inputs.collection, words["text"], words["contexts"])
    with inputs.files.write(LIMITS) as folder:
        (folder / LIMITS_FILE).write_text(json.dumps(limits), encoding="utf-8")


def finish_shard(inputs: ShardInputs, number: int) -> Made:
    """Complete a shard; returns what the manifest of the version says of it, and the limits."""
    weigh_words(inputs, ANCHORS, number)
    part, kind = inputs.ranges[number], shard_kind(inputs)
    rows = slice(part.first, part.last)
    meta = {
        "papers": part.papers,
        "contexts": part.contexts,
        "encoder_ids": dict(inputs.encoder_ids),
    }
    with inputs.files.write(f"{FINAL}/shard-{number:04d}") as temporary:
        folder = shard_folder(temporary, number)
        for group, destination in ((PAPERS, PAPERS), (CONTEXTS, CONTEXTS), (ANCHORS, CONTEXTS)):
            add_links(inputs.files.read(part_name(WEIGHED, group, number)), folder / destination)
        for name in inputs.encoder_ids:
            searched = inputs.files.read(part_name(SEARCHED, name, number))
            add_links(searched / "index", folder / "vectors" / name)
        np.save(folder / "years.npy", inputs.collection.corpus.years[rows])
        np.save(folder / "alive.npy", inputs.collection.alive[rows])
        digest = seal(folder, kind=SHARD_KIND, meta=meta).digest
    return {
        "shard": {**meta, "digest": digest},
        "vectors": dict.fromkeys(inputs.encoder_ids, kind),
        DOMAIN: read_json(inputs.files.read(LIMITS) / LIMITS_FILE),
    }


def describe_shards(made: Sequence[Made]) -> dict[str, Any]:
    """What the manifest of a version says of its shards, from what the last stage gave.

    Example:
        >>> describe_shards([{"shard": {"papers": 3}, "vectors": {"nnselect": "flat"}, "domain": None}])
        {'shards': [{'papers': 3}], 'vectors': {'nnselect': 'flat'}, 'domain': None}
    """
    first = made[0]
    return {"shards": [one["shard"] for one in made], "vectors": first["vectors"], DOMAIN: first[DOMAIN]}


def final_names(inputs: ShardInputs) -> list[str]:
    """The names of the folders whose content a version consists of, each in its place there."""
    shards = (f"shard-{number:04d}" for number in range(len(inputs.ranges)))
    return [f"{FINAL}/{name}" for name in (NAMES, KNOWN, f"words-{PAPERS}", f"words-{CONTEXTS}", *shards)]


def assemble(inputs: ShardInputs, version: Path) -> None:
    """Link all that was built into the folder of a version."""
    for name in final_names(inputs):
        add_links(inputs.files.read(name), version)
