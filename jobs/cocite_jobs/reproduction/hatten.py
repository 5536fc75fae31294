"""The plan of HAtten + SciBERT (Gu et al., 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cocite.errors import NotFoundError
from cocite.evaluation.report import Table
from cocite.pipeline import components
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionedFolder
from cocite.systems.baselines.train import BaselineSettings
from cocite.systems.cross_encoder.network import SCIBERT
from cocite.training import candidates
from cocite_jobs.reproduction.baseline_changes import baseline_changes, baseline_options, baseline_settings
from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.plan import Exhibit, Plan, Plot, Setup, Size, Training
from cocite_jobs.reproduction.rerankers import (
    NO_LIST,
    encoder_trainings,
    first_encoder,
    further_folders,
    reranker_training,
)
from cocite_jobs.reproduction.training_step import recipe_training
from cocite_jobs.tables.reranking import PREFETCHING, reranking_tables

TINY = (
    *(
        "paragraphs.vocabulary_size=2000",
        "paragraphs.max_abstract=40",
        "words.source=random",
        "dev_contexts=20",
    ),
    *("model.dimension=16", "model.heads=2", "model.feed_forward=24", "objective.bag_epochs=0"),
    *("objective.contexts=2", "training.batch=16", "training.precision=fp32", "training.epochs=1"),
    *("training.steps=4", "training.checkpoint_every=2"),
)
RETRIEVERS: Mapping[Size, tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]] = {
    "toy": (("nnselect", ("model.dimension=8", "training.epochs=1")), ("hatten", TINY)),
    "small": (("nnselect", ()), ("hatten", ())),
    "paper": (("nnselect-paper", ()), ("hatten-paper", ())),
}
"""Size -> recipes of NNSelect and of HAtten, with what is changed in them."""
RERANKERS: Mapping[Size, str] = {
    "toy": "cross-encoder-small",
    "small": "cross-encoder-small",
    "paper": "scibert-local",
}
DEPTHS: Mapping[Size, Sequence[int]] = {
    "toy": (20, 40),
    "small": (10, 20, 50, 100),
    "paper": (100, 200, 500, 1000, 2000),
}
"""Size -> numbers of candidates that are reranked; Table 3's is the last one."""
SAMPLES: Mapping[Size, Mapping[str, int | None]] = {
    "toy": {"prefetching": 30, "reranking": 10, "pipeline": 10, "time": 10},
    "small": {"prefetching": 3000, "reranking": 200, "pipeline": 200, "time": 200},
    # Only Table 4 is of 10,000 contexts in the paper, which does not say how many Figure 4's times are of.
    "paper": {"prefetching": None, "reranking": None, "pipeline": 10_000, "time": 10_000},
}
"""Size -> contexts of Tables 2, 3 and 4 and of Figure 4, by the name of their table; None: all."""
ON_BM25, ON_HATTEN = "reranker of BM25", "reranker of HAtten"
BASELINES = {"prefetching": ("s2v",), "reranking": ("ncn", "dualcon", "dualenh", "bertgcn")}
"""Table -> the baselines that are trained while it is made, in the paper's order."""
BASELINE_CHANGES: Mapping[Size, Sequence[str]] = {
    "toy": (
        *("s2v.dimension=8", "s2v.buckets=500", "s2v.epochs=1", "w2v.dimension=8", "w2v.epochs=1"),
        *("ncn.dimension=8", "ncn.channels=8", "ncn.epochs=1", "ncn.vocabulary=200"),
        *("dual.hidden=8", "dual.attention=8", "dual.author_dimension=8", "dual.channels=8"),
        *("bertgcn.inner=8", "bertgcn.graph_hidden=4", "bertgcn.graph=4", "bertgcn.graph_epochs=2"),
        "bertgcn.epochs=1",
    ),
    # One pass: a budget does not cut short what is trained while a table is made, and NCN's five take half an hour.
    "small": ("ncn.epochs=1", "bertgcn.epochs=1"),
    "paper": (),
}
"""Size -> what is changed in the baselines' settings."""
BM25_FOLDER = "bm25"
"""The model folder, below that of the reproduction, of the reranker of BM25's candidates."""
ENCODERS_OF_PAPER = {"google-bert/bert-base-uncased": "BERT Reranker", SCIBERT: "SciBERT Reranker"}
"""Name on the Hugging Face hub -> row of Table 3."""
IMPOSSIBLE = {
    "Figures 1 to 3": "They are drawings of the system, and docs/papers.md names the file of each part.",
    "Effect sizes (colours of Table 2)": "Significance is marked instead.",
    "The paper's points of Figure 4": "They are drawn there and not printed.",
}


def plan(setup: Setup) -> Plan:
    """The trainings and exhibits of HAtten + SciBERT on a corpus."""
    retrievers = [
        recipe_training(name, recipe, changes, weight=weight)
        for (recipe, changes), name, weight in zip(
            RETRIEVERS[setup.size], ("nnselect", "hatten"), (1, 3), strict=True
        )
    ]
    encoder = encoder_trainings(setup)
    rerankers = [
        _reranker(setup, ON_HATTEN, "hatten", "model"),
        _reranker(setup, ON_BM25, "bm25", BM25_FOLDER),
    ]
    others = _encoder_rerankers(setup)
    first = tuple(training.name for training in retrievers)
    every = tuple(training.name for training in (*retrievers, *encoder, *rerankers))
    no_contexts = "" if len(setup.corpus.contexts) else "The corpus has no citation contexts."
    is_papers = setup.size == "paper" and first_encoder(setup) == SCIBERT
    scibert = {
        "cross-encoder": "SciBERT Reranker",
        "bm25 + cross-encoder of bm25": "BM25 + SciBERT of BM25",
        "hatten + cross-encoder of hatten": "HAtten + SciBERT of HAtten",
    }
    known = {"bm25": "BM25", "Sent2Vec": "Sent2vec", "nnselect": "NNSelect", "hatten": "HAtten"}
    names = {**known, **(scibert if is_papers else {})}
    compared = {_row_of(encoder): row for encoder, row in ENCODERS_OF_PAPER.items()}
    exhibits = [
        corpus_exhibit(setup, "hatten"),
        _exhibit(
            setup,
            "table2",
            "Table 2: prefetching",
            "prefetching",
            first,
            plot=Plot("rows", PREFETCHING[1:], "candidates", "recall", "ACL-200"),
        ),
        replace(
            _exhibit(
                setup,
                "table3",
                "Table 3: reranking the candidates of an oracle",
                "reranking",
                (*every, *(training.name for training in others)),
            ),
            names=compared if setup.size == "paper" else {},
        ),
        _exhibit(
            setup,
            "table4",
            "Table 4: R@10 of the pipeline by the number of reranked candidates",
            "pipeline",
            every,
            plot=Plot(
                "rows",
                tuple(f"{depth} reranked" for depth in DEPTHS[setup.size]),
                "reranked candidates",
                "R@10",
                "ACL-200" if is_papers else "",
            ),
        ),
        _exhibit(
            setup,
            "figure4",
            "Figure 4: reranking time by the number of candidates",
            "time",
            every,
            plot=Plot("columns", ("ms per query",), "reranked candidates", "ms per query"),
        ),
    ]
    exhibits = [replace(each, names={**names, **each.names}, why_not=no_contexts) for each in exhibits]
    citation = (
        "Gu, Gao, Hahnloser: Local Citation Recommendation with Hierarchical-Attention Text Encoder and SciBERT-Based "
        "Reranking. ECIR 2022."
    )
    trainings = (*retrievers, *encoder, *rerankers, *others)
    not_here = IMPOSSIBLE if others else {**IMPOSSIBLE, "BERT against SciBERT in Table 3": NO_LIST}
    return Plan("hatten", citation, trainings, tuple(exhibits), not_here, _settings)


def _reranker(setup: Setup, name: str, retriever: str, to: str) -> Training:
    return reranker_training(setup, name, RERANKERS[setup.size], _changes(setup, retriever), to=to)


def _changes(setup: Setup, retriever: str) -> list[str]:
    toy = ["candidates.depth=10", "objective.negatives=3"] if setup.size == "toy" else []
    return [f"candidates.retriever={retriever}", *toy]


def _encoder_rerankers(setup: Setup) -> list[Training]:
    """A reranker of BM25's candidates from each encoder that is named after the first."""
    return [
        reranker_training(
            setup,
            f"{ON_BM25} from {name}",
            RERANKERS[setup.size],
            _changes(setup, "bm25"),
            to=str(folder.relative_to(setup.folder)),
            encoder=name,
            inputs=[candidates.KIND],
            of=BM25_FOLDER,
        )
        for name, folder in further_folders(setup).items()
    ]


def _row_of(encoder: str) -> str:
    return f"cross-encoder from {encoder}"


def _exhibit(
    setup: Setup, id_: str, title: str, name: str, needs: tuple[str, ...], *, plot: Plot | None = None
) -> Exhibit:
    line = ["evaluate", "reranking", "--model", _model(setup, name), "--only", name]
    line += ["--seed", setup.query_seed, "--depths", ",".join(map(str, DEPTHS[setup.size]))]
    line += ["--index", setup.folder / "index"]
    if name == "reranking":
        line += ["--oracle-depth", DEPTHS[setup.size][-1]]
    if name == "pipeline":
        for of, folder in _rerankers(setup).items():
            line += ["--reranker", f"{of}={folder}"]
    if (sample := _sample(setup, name)) is not None:
        line += ["--sample", sample]
    lines = [line]
    if name == "reranking":
        own = _model(setup, name)
        lines += [
            [folder if part == own else part for part in line] for folder in further_folders(setup).values()
        ]
    if name in BASELINES:
        line += ["--baselines", ",".join(BASELINES[name]), "--cache", setup.folder / "baselines"]
        line += baseline_options(_of_baselines(setup))
    command = "\n".join(setup.command(*line) for line in lines)
    return Exhibit(id_, title, partial(_make, name=name), command, needs, plot=plot)


def _make(setup: Setup, *, name: str) -> Table:
    table = _table(setup, name, _model(setup, name), BASELINES.get(name, ()))
    if name == "reranking" and setup.more_encoders:
        *first, (_, *own) = table.rows
        others = [
            [_row_of(encoder), *_table(setup, name, folder, ()).rows[-1][1:]]
            for encoder, folder in further_folders(setup).items()
        ]
        return replace(table, rows=[*first, [_row_of(first_encoder(setup)), *own], *others])
    if name != "pipeline":
        return table
    # A reranker is named by the retriever whose candidates it was trained on, and not by its folder.
    folders = {f" of {folder}": f" of {of}" for of, folder in _rerankers(setup).items()}
    return replace(table, rows=[[_replaced(row[0], folders), *row[1:]] for row in table.rows])


def _table(setup: Setup, name: str, model: Path, baselines: Sequence[str]) -> Table:
    [table] = reranking_tables(
        setup.corpus,
        model,
        only=[name],
        sample=_sample(setup, name),
        seed=setup.query_seed,
        depths=DEPTHS[setup.size],
        oracle_depth=DEPTHS[setup.size][-1],
        rerankers=_rerankers(setup) if name == "pipeline" else None,
        baselines=baselines,
        cache=setup.folder / "baselines",
        settings=_settings(setup),
        saved=_index(setup),
        bars=setup.bars,
    ).tables
    return table


def _replaced(text: str, endings: Mapping[str, str]) -> str:
    for old, new in endings.items():
        text = text.removesuffix(old) + new if text.endswith(old) else text
    return text


def _index(setup: Setup) -> Path:
    """The index whose vectors all tables share; those of a model that was trained since are not taken from it."""
    root = setup.folder / "index"
    try:
        VersionedFolder(root).current()
    except NotFoundError:
        with setup.bars("building the index", None) as advance:
            encoders = components.load_encoders(setup.model)
            IndexSnapshot.create(setup.corpus, root, before_split="test", encoders=encoders, advance=advance)
    return root


def _model(setup: Setup, name: str) -> Path:
    """Table 3 reranks BM25's candidates."""
    return setup.folder / BM25_FOLDER if name == "reranking" else setup.model


def _rerankers(setup: Setup) -> dict[str, Path]:
    return {"bm25": setup.folder / BM25_FOLDER, "hatten": setup.model}


def _of_baselines(setup: Setup) -> list[str]:
    return baseline_changes(setup, BASELINE_CHANGES[setup.size])


def _settings(setup: Setup) -> BaselineSettings:
    return baseline_settings(_of_baselines(setup))


def _sample(setup: Setup, name: str) -> int | None:
    return SAMPLES[setup.size][name] if setup.sample is None else setup.sample
