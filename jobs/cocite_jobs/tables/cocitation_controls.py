"""MP-BERT4CR's controls: what the loss's form, positives and the hierarchy give, each apart, with several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError, nearest
from cocite.evaluation import experiment, tasks
from cocite.evaluation.cocitation import METRICS, by_cocitations, largest_cocitations
from cocite.evaluation.hits import Hits
from cocite.evaluation.intervals import mean_over_papers
from cocite.evaluation.metrics import measure
from cocite.evaluation.report import Report, Table
from cocite.manifests import read_manifest
from cocite.progress_bars import ProgressBars, no_bars
from cocite_jobs.tables.cocitation import known_history
from cocite_jobs.tables.cocitation_systems import DEFAULT_ENCODER, CocitationSystems, ModelFolder
from cocite_jobs.tables.cocitation_variants import FOLDER as VARIANTS_FOLDER
from cocite_jobs.tables.cocitation_variants import WORDS_ONLY, link_inputs, link_part, train_missing
from cocite_jobs.tables.same_recipe import require_same
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.types import LaunchOptions

FOLDER = "controls"
"""Folder of a model folder that holds its controls, each a model folder of its own."""
PARTS = (">= 1", ">= 2")
"""Queries by how many papers they cite; those of two or more are what positives are for."""


@dataclass(frozen=True)
class Control:
    """A row of the controls: a training that differs from its group's first by one thing.

    Attributes:
        group: rows of a group are compared.
        recipe: name or path.
        overrides: ``key.path=value``.
        pretraining: recipe of the weights that it begins with; empty: none.

    Example:
        >>> CONTROLS["no hierarchy"].overrides
        ('model.document_layers=0',)
    """

    group: str
    recipe: str
    overrides: tuple[str, ...] = ()
    pretraining: str = ""


def _loss(form: str, positives: int) -> Control:
    settings = (
        f"objective.form={form}",
        f"positives.count={positives}",
        "negatives.counted=occurrences",
        "negatives.spare_manuscript=false",
    )
    return Control("loss", "mp-bert4cr-small", settings)


def _hierarchy(*overrides: str, pretraining: str = "") -> Control:
    return Control("hierarchy", "mp-bert4cr-hierarchy", overrides, pretraining)


def _gap(*overrides: str) -> Control:
    return Control("gap", "mp-bert4cr-gap", overrides)


CONTROLS: dict[str, Control] = {
    "log-sum-exp, 3 positives": _loss("log-sum-exp", 3),
    "log-sum-exp, 0 positives": _loss("log-sum-exp", 0),
    "hinges, 3 positives": _loss("hinge", 3),
    "hinges, 0 positives": _loss("hinge", 0),
    "hierarchy": _hierarchy(),
    "hierarchy, pretrained": _hierarchy(pretraining="mp-bert4cr-hierarchy-pretraining"),
    "no hierarchy": _hierarchy("model.document_layers=0"),
    "words only": _hierarchy(*WORDS_ONLY),
    "hierarchy of words": _hierarchy("model.reads=words"),
    "trunk only": _hierarchy("model.reads=trunk"),
    "fixed draw": _hierarchy("contexts.fixed=true"),
    "no abstract": _hierarchy("contexts.manuscript_abstract=0"),
    "gap": _gap(),
    "gap, not read": _gap("contexts.near=0"),
    "gap, no hierarchy": _gap("model.document_layers=0"),
    "gap, 3 positives": _gap("positives.count=3"),
    "gap, all words": _gap("model.word_dropout=0"),
    "gap, fixed draw": _gap("contexts.fixed=true"),
    "gap, no abstract": _gap("contexts.manuscript_abstract=0"),
}
"""Row -> how it is trained; the first of a group is what the others are compared with. With ``no abstract`` the
manuscript's own title and abstract are not read, as in the paper; ``hierarchy of words`` has layers over sentences that
are means of word vectors, without a trunk. Rows of ``gap`` differ from ``mp-bert4cr-gap``, which reads the words next
to a gap once more."""


def train_controls(
    corpus: Corpus,
    model: Path,
    *,
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    overrides: Sequence[str] = (),
    controls: Mapping[str, Control] = CONTROLS,
    options: LaunchOptions | None = None,
    bars: ProgressBars = no_bars,
) -> dict[str, list[Path]]:
    """Train the controls that are missing, each with every seed; a training that was stopped is resumed.

    Trainings share sentences, word vectors and sentence vectors where these are made of the same, with the variants of
    Table 4 in the folder too. A trunk that is an artifact of the model folder is trained first where it is missing.

    Args:
        corpus: to train on.
        model: the model folder; controls are kept in its ``controls/``.
        rows: names of controls; by default all.
        seeds: of the trainings.
        overrides: ``key.path=value`` for all recipes, before a control's own.
        controls: the rows there are.
        options: how and where to train.
        bars: of each training.

    Returns:
        The model folders of each row, one for each seed.

    Raises:
        InputError: there is no such row, or a folder holds what was trained with other settings.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> train_controls(starter_corpus(), Path("model"), rows=["words alone"])
        Traceback (most recent call last):
        cocite.errors.InputError: there is no control called 'words alone' (did you mean 'words only'?)
    """
    chosen = list(rows if rows is not None else controls)
    for name in chosen:
        if name not in controls:
            raise InputError(f"there is no control called {name!r}", hint=nearest(name, list(controls)))
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("needs one seed or more, each once", where="--seeds")
    options = options or LaunchOptions()
    folders = {name: [control_folder(model, name, seed) for seed in seeds] for name in chosen}
    for name, made in folders.items():
        control = controls[name]
        for seed, folder in zip(seeds, made, strict=True):
            seeded = [*overrides, f"training.seed={seed}"]
            recipe: Any = load_recipe(control.recipe, [*seeded, *control.overrides])
            first: Any = load_recipe(control.pretraining, seeded) if control.pretraining else None
            if first is not None:
                begin = f"pretrained={first.kind}"
                recipe = load_recipe(control.recipe, [*seeded, *control.overrides, begin])
            if (folder / recipe.kind).is_dir():
                require_same(folder / recipe.kind, recipe)
                continue
            _trunk(recipe, corpus, model, folder, options, bars)
            link_inputs(recipe, corpus, _trained_beside(model), folder)
            if first is not None:
                link_inputs(first, corpus, _trained_beside(model), folder)
                train_missing(first, corpus, folder, options, bars, f"{name}, seed {seed}: pretraining")
            train_missing(recipe, corpus, folder, options, bars, f"{name}, seed {seed}")
    return folders


def control_folder(model: Path, name: str, seed: int) -> Path:
    """The model folder of a control, below the one that holds all of them.

    Example:
        >>> str(control_folder(Path("model"), "gap, not read", 1))
        'model/controls/gap-not-read-seed1'
    """
    return model / FOLDER / f"{name.replace(', ', '-').replace(' ', '-')}-seed{seed}"


def _trained_beside(model: Path) -> list[Path]:
    """The model folders of controls and of Table 4's variants that a model folder holds."""
    return [folder for part in (FOLDER, VARIANTS_FOLDER) for folder in sorted((model / part).glob("*"))]


def _trunk(
    recipe: Any, corpus: Corpus, model: Path, folder: Path, options: LaunchOptions, bars: ProgressBars
) -> None:
    """Put the trunk into a control's folder, where it is an artifact; train it first where there is none."""
    for name in recipe.texts.components:
        if not (model / name).is_dir():
            train_missing(load_recipe(name), corpus, model, options, bars, name)
        link_part(name, [model], folder)


def control_tables(
    corpus: Corpus,
    folders: Mapping[str, Sequence[Path]],
    *,
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    cache: Path = Path("cocite-baselines"),
    controls: Mapping[str, Control] = CONTROLS,
    bars: ProgressBars = no_bars,
) -> Report:
    """Measure trained controls: R@10 and MAP@10, with intervals over papers and the spread of seeds.

    Args:
        corpus: papers and contexts.
        folders: of each row, from :func:`train_controls`.
        split: the queries are the contexts of its papers: ``dev`` or ``test``.
        sample: number of queries; all by default.
        seed: of the query sample.
        cache: folder of encoded papers.
        controls: the rows there are.
        bars: of each step.

    Raises:
        InputError: the split is the training's.
    """
    if split == "train":
        raise InputError("the controls are trained on it", where="--split", hint="dev or test")
    history = known_history(corpus, split, with_dev=False)
    systems = CocitationSystems(corpus, history, None, cache, None, bars)
    task = tasks.local(corpus, split, sample=sample, seed=seed)
    hits: dict[str, list[Hits]] = {}
    for name, made in folders.items():
        hits[name] = []
        for folder in made:
            (system,) = systems.of_folders([ModelFolder(folder, folder.name)], [DEFAULT_ENCODER])
            with bars(f"ranking: {folder.name}", len(task)) as advance:
                hits[name].append(experiment.run(task, system.open(), k=10, advance=advance).hits)
    facts = {
        "corpus": str(corpus.path),
        "corpus_version": corpus.version,
        "split": split,
        "queries": len(task),
        "papers": len(np.unique(task.papers)),
        "seeds": len(next(iter(folders.values()))),
    }
    made_tables = [_table(part, hits, task.papers, controls) for part in PARTS]
    return Report("Controls", facts, [*made_tables, _frequencies(hits, history), _exported(folders)])


def _table(
    part: str, hits: Mapping[str, Sequence[Hits]], papers: NDArray[np.int32], controls: Mapping[str, Control]
) -> Table:
    """Each control over the queries of a part, and its difference from the first of its group."""
    least = int(part.removeprefix(">= "))
    columns = ["control"]
    for metric in METRICS:
        columns += [metric, "low", "high", "seeds", "difference", "low", "high"]
    columns = _distinct(columns)
    values: dict[str, dict[str, NDArray[np.float64]]] = {}
    rows: list[list[Any]] = []
    chosen = np.empty(0, bool)
    for name, of_seeds in hits.items():
        chosen = of_seeds[0].relevant >= least
        measured = [measure(found.queries(chosen), METRICS).per_query for found in of_seeds]
        values[name] = {metric: np.stack([one[metric] for one in measured]) for metric in METRICS}
    firsts: dict[str, str] = {}
    for name, found in values.items():
        base = firsts.setdefault(controls[name].group, name)
        row: list[Any] = [name]
        for metric in METRICS:
            mean = mean_over_papers(found[metric].mean(0), papers[chosen])
            means = found[metric].mean(1)
            spread = float(means.std(ddof=1)) if len(means) > 1 else float("nan")
            row += [*mean, spread]
            if name == base:
                row += [float("nan")] * 3
            else:
                row += mean_over_papers(found[metric].mean(0) - values[base][metric].mean(0), papers[chosen])
        rows.append(row)
    note = (
        f"{int(chosen.sum()):,} queries that cite {part} papers. low, high: 95 % interval over the citing papers "
        "(bootstrap) of the mean over seeds; seeds: standard deviation of the seeds' means; difference: from the first "
        "control of the group."
    )
    return Table(f"controls, positives {part}", columns, rows, note)


def _distinct(columns: Sequence[str]) -> list[str]:
    """Columns of distinct names: those after a metric carry its name."""
    result, metric = [], ""
    for column in columns:
        metric = column if column in METRICS else metric
        name = column if column in METRICS or not metric else f"{metric} {column}"
        result.append(name if name not in result else f"{metric} difference {column}")
    return result


def _frequencies(hits: Mapping[str, Sequence[Hits]], history: Any) -> Table:
    """Each control by how often the relevant papers were cited together before: means over seeds."""
    rows, columns = [], ["control"]
    for name, of_seeds in hits.items():
        parts = [by_cocitations(found, largest_cocitations(found, history)) for found in of_seeds]
        columns = ["control", *(f"{metric} {part.name}" for part in parts[0] for metric in METRICS)]
        cells = [[part.means[metric] for part in one for metric in METRICS] for one in parts]
        rows.append([name, *np.asarray(cells, np.float64).mean(0).tolist()])
    note = "Queries with two or more relevant papers; each part counts only its own papers as relevant."
    return Table("controls, co-citation frequency", columns, rows, note)


def _exported(folders: Mapping[str, Sequence[Path]]) -> Table:
    """The step that was exported, and how much the hierarchy counts at it, of every training."""
    rows: list[list[Any]] = []
    for made in folders.values():
        for folder in made:
            meta = read_manifest(folder / DEFAULT_ENCODER).meta
            share = meta.get("hierarchy", {})
            rows.append(
                [
                    folder.name,
                    meta.get("step", "–"),
                    *(share.get(side, float("nan")) for side in ("manuscripts", "papers")),
                ]
            )
    columns = ["training", "exported step", "layers add to manuscripts", "layers add to papers"]
    note = "What the layers add: its norm relative to the vector without them."
    return Table("exported", columns, rows, note)
