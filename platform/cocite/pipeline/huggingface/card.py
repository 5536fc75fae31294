"""The model card of a repository: its header for the hub, and what a reader has to know before using the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from cocite.corpus.splits import Split
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.pipeline.huggingface.forms import FormName
from cocite.pipeline.huggingface.parts import Part
from cocite.pipeline.huggingface.usage import DOWNLOAD, usage_of

_LICENSE = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_HUB_ID = re.compile(r"([\w-][\w.-]{0,95}/)?[\w-][\w.-]{0,95}")
WHAT = {
    "nnselect": "Citeomatic's embedding of papers and manuscripts",
    "hatten": "HAtten's bi-encoder: context, title and abstract as one vector",
    "sentence": "a public sentence encoder",
    "mp-bert4cr": "MP-BERT4CR's encoders of papers and of the sentences around a gap",
    "blend": "weights of the first stage's signals",
    "nnrank": "Citeomatic's reranker over fields, shared words and citation counts",
    "fusion": "a learned fusion (LambdaMART) of all signals of the first stage",
    "cross-encoder": "a cross-encoder that reads query and candidate together",
    "final": "a learned fusion (LambdaMART) of all signals and the cross-encoder's score",
    "confidence": "a calibration of the last score: the probability that a paper is cited",
    "citing-sentences": "a classifier of sentences that need a citation",
    "masked-lm": "a BERT pretrained on the corpus' texts",
    "bi-encoder": "a pretrained encoder, fine-tuned so that contexts lie near to the papers that they cite",
    "mp-bert4cr-pretraining": "MP-BERT4CR's encoders before the training on citations",
}
"""Name of a part -> what it is."""
_TRAINED_ON = {
    "sentence": "nothing: it is used as it is",
    "blend": "dev queries",
    "fusion": "dev queries",
    "final": "dev queries",
    "confidence": "dev queries",
    "citing-sentences": "sentences of the train split",
}
"""Name of a part whose recipe has no years -> what it was trained on."""
_LOADS_AS: dict[FormName, str] = {
    "sentence-transformers": "`SentenceTransformer`, `AutoModel`",
    "cross-encoder": "`CrossEncoder`, `AutoModel`",
    "sequence-classification": "`AutoModelForSequenceClassification`, `CrossEncoder`",
    "encoder": "`AutoModel`",
    "cocite": "cocite alone",
}
_SEEN = {
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2 was trained on citation pairs of S2ORC and on SPECTER's triplets, among "
    "others: it may have seen links of test papers.",
    "scibert": "SciBERT was pretrained on full texts of papers of Semantic Scholar: it may have read test papers, the "
    "sentences that cite included.",
    "specter": "SPECTER was trained on citations of papers of Semantic Scholar: it may have seen links of test papers.",
}
"""Part of the name of public weights -> what they may have seen."""


@dataclass(frozen=True)
class CardOptions:
    """What only the publisher knows.

    Attributes:
        name: of the model.
        license: its identifier on the hub, such as ``apache-2.0``; None: the card names none.
        datasets: names of the corpora on the hub.
        base_model: name on the hub of the weights that the training began from; None: what the recipes name.
        corpus: the corpus that the parts were trained on, for its size and years.

    Raises:
        InputError: the license or a name is none that the hub accepts.

    Example:
        >>> CardOptions("acl-recommender", license="apache-2.0").license
        'apache-2.0'
        >>> CardOptions("acl-recommender", license="Apache 2")
        Traceback (most recent call last):
        cocite.errors.InputError: --license: 'Apache 2' is no identifier of a license (as apache-2.0 or cc-by-4.0)
    """

    name: str
    license: str | None = None
    datasets: Sequence[str] = ()
    base_model: str | None = None
    corpus: Corpus | None = None

    def __post_init__(self) -> None:
        if self.license is not None and _LICENSE.fullmatch(self.license) is None:
            raise InputError(
                f"{self.license!r} is no identifier of a license",
                where="--license",
                hint="as apache-2.0 or cc-by-4.0",
            )
        named = [("--name", self.name), *(("--dataset", name) for name in self.datasets)]
        named += [("--base-model", self.base_model)] if self.base_model is not None else []
        for option, name in named:
            if _HUB_ID.fullmatch(name) is None:
                raise InputError(f"{name!r} is no name on the hub", where=option, hint="as USER/NAME")


def card_of(parts: Sequence[tuple[Part, FormName, str]], options: CardOptions) -> ModelCard:
    """The model card of a repository.

    Args:
        parts: the parts, their forms, and their paths in the repository.
        options: what only the publisher knows.

    Raises:
        InputError: the corpus of the options is none that a part was trained on.

    Example:
        >>> from pathlib import Path
        >>> from cocite.manifests import Manifest
        >>> part = Part("hatten", Path("hatten"), Manifest("hatten", {"corpus": "12ab", "dev": {"MRR": 0.31}}, {}))
        >>> card = card_of([(part, "cocite", "hatten")], CardOptions("acl-recommender"))
        >>> card.data.pipeline_tag, card.data.license, card.data.eval_results[0].metric_value
        ('text-ranking', None, 0.31)
    """
    known = {part.corpus for part, _, _ in parts} - {None}
    if options.corpus is not None and options.corpus.version not in known:
        trained = ", ".join(sorted(filter(None, known))) or "none that their manifests name"
        raise InputError(
            f"its version is {options.corpus.version}, and the parts were trained on {trained}",
            where="--corpus",
        )
    bases = _bases(parts, options)
    header = ModelCardData(
        license=options.license,
        library_name=_library(parts),
        pipeline_tag=_task(parts),
        tags=["citation-recommendation", "cocite", "information-retrieval"],
        base_model=bases or None,
        datasets=list(options.datasets) or None,
        metrics=sorted({_metric(name) for part, _, _ in parts for name in part.dev}) or None,
        model_name=options.name,
        eval_results=_results(parts, options) or None,
    )
    sections = [
        _introduction(parts, options),
        _intended_use(),
        _training(parts, options),
        _figures(parts),
        _limits(parts),
        _public_weights(parts, bases),
        _loading(parts),
    ]
    return ModelCard(f"---\n{header.to_yaml()}\n---\n\n" + "\n\n".join(sections) + "\n")


# -- the header ---------------------------------------------------------------------------------------------------


def _library(parts: Sequence[tuple[Part, FormName, str]]) -> str:
    """The library that the hub's page offers code for: it loads the repository's top folder alone."""
    if len(parts) > 1 or parts[0][2]:
        return "cocite"
    known: dict[FormName, str] = {
        "sentence-transformers": "sentence-transformers",
        "cross-encoder": "sentence-transformers",
        "sequence-classification": "transformers",
        "encoder": "transformers",
    }
    return known.get(parts[0][1], "cocite")


def _task(parts: Sequence[tuple[Part, FormName, str]]) -> str:
    names = {part.name for part, _, _ in parts}
    if names <= {"sentence", "bi-encoder"}:
        return "sentence-similarity"
    if names <= {"masked-lm", "mp-bert4cr-pretraining"}:
        return "feature-extraction"
    return "text-classification" if names == {"citing-sentences"} else "text-ranking"


def _bases(parts: Sequence[tuple[Part, FormName, str]], options: CardOptions) -> list[str]:
    if options.base_model is not None:
        return [options.base_model]
    return sorted({part.base for part, _, _ in parts if part.base is not None})


def _results(parts: Sequence[tuple[Part, FormName, str]], options: CardOptions) -> list[EvalResult]:
    dataset = options.datasets[0] if len(options.datasets) == 1 else "cocite-corpus"
    return [
        EvalResult(
            task_type=_task(parts),
            task_name="citation recommendation",
            dataset_type=dataset,
            dataset_name=f"corpus {part.corpus or 'of unknown version'}",
            dataset_revision=part.corpus,
            dataset_split="dev",
            metric_type=_metric(name),
            # Results of one task and one corpus become one entry, so that the metric alone can name the part.
            metric_name=f"{part.name}: {name} (dev)",
            metric_value=value,
        )
        for part, _, _ in parts
        for name, value in part.dev.items()
    ]


def _metric(name: str) -> str:
    """A metric's identifier, of letters and digits: ``R@10`` is ``r_at_10``."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower().replace("@", "_at_")).strip("_")


# -- the text -----------------------------------------------------------------------------------------------------


def _introduction(parts: Sequence[tuple[Part, FormName, str]], options: CardOptions) -> str:
    rows = [
        f"| `{path or '.'}` | {WHAT[part.name]} | {_LOADS_AS[form]} | `{part.manifest.digest}` |"
        for part, form, path in parts
    ]
    table = "\n".join(["| folder | what it is | loads as | version |", "| --- | --- | --- | --- |", *rows])
    terms = "" if options.license else "\n\nThe publisher has named no license."
    return (
        f"# {options.name}\n\nParts of a citation recommender, made with cocite. It ranks the papers of a corpus that "
        f"a manuscript, or a gap in its text, should cite.{terms}\n\n{table}"
    )


def _intended_use() -> str:
    return (
        "## Intended use\n\nTo recommend papers to authors and reviewers, who read them before they cite them, and to "
        "compare rankings. Not to judge papers or their authors: the model learned from what earlier papers cited, "
        "and ranks often-cited papers higher for that."
    )


def _training(parts: Sequence[tuple[Part, FormName, str]], options: CardOptions) -> str:
    rows = []
    for part, _, _ in parts:
        corpus = f"version `{part.corpus}`" if part.corpus else "none recorded"
        rows.append(f"| {part.name} | {corpus} | {_trained_on(part)} | {_start(part, options)} |")
    table = "\n".join(
        ["| part | corpus | trained on | weights before training |", "| --- | --- | --- | --- |", *rows]
    )
    about = "The size and the years of the corpus are not recorded with the model."
    if options.corpus is not None:
        about = _corpus(options.corpus)
    return (
        f"## Training\n\n{table}\n\n{about} All settings are in each part's manifest, `cocite_manifest.json`."
    )


def _trained_on(part: Part) -> str:
    """The papers whose texts, links or contexts were trained on."""
    if part.name in _TRAINED_ON:
        return _TRAINED_ON[part.name]
    sections = [part.recipe, part.recipe.get("candidates"), part.recipe.get("texts")]
    periods = [section["period"] for section in sections if isinstance(section, dict) and "period" in section]
    if not periods or not isinstance(periods[0], dict):
        return "not recorded"
    until = periods[0].get("train_until")
    return f"papers to {until}" if until is not None else "the train split, else the first 80 % by year"


def _start(part: Part, options: CardOptions) -> str:
    if part.encoder is None:
        return "none"
    if options.base_model is not None:
        return f"`{options.base_model}`, as the publisher says"
    return f"`{part.base}`" if part.base is not None else "a folder, of unknown origin"


def _corpus(corpus: Corpus) -> str:
    split, years = Split.of(corpus), np.asarray(corpus.years)
    said = []
    for name in ("train", "dev", "test"):
        within: Any = getattr(split, name)
        known = years[within & (years > 0)]
        span = f", {known.min()} to {known.max()}" if len(known) else ""
        if within.any():
            said.append(f"{name} {within.sum():,} papers{span}")
    splits = "; ".join(said) or "no split"
    return f"The corpus of version `{corpus.version}` has {len(corpus):,} papers: {splits}."


def _figures(parts: Sequence[tuple[Part, FormName, str]]) -> str:
    rows = [
        f"| {part.name} | {name} | {value:.4g} |" for part, _, _ in parts for name, value in part.dev.items()
    ]
    if not rows:
        return "## Figures\n\nThe manifests hold no figures."
    table = "\n".join(["| part | metric | dev |", "| --- | --- | --- |", *rows])
    return (
        "## Figures\n\nMeasured on dev queries when each part was trained. Dev queries chose the weights, and some "
        "parts learned from them, so figures on unseen queries are usually lower. No figure here is of test "
        "queries.\n\n"
        f"{table}"
    )


def _limits(parts: Sequence[tuple[Part, FormName, str]]) -> str:
    names = {part.name for part, _, _ in parts}
    lines = [
        "Trained on one corpus. Other fields and languages were not measured.",
        "It ranks the papers of an index that you build; it knows no paper by itself.",
        "Texts that are longer than a part reads are cut.",
    ]
    if names & {"nnselect", "nnrank", "hatten"}:
        lines.append(
            "NNSelect, NNRank and HAtten know the words of their vocabulary alone. The vocabulary is published with "
            "them."
        )
    if names & {"fusion", "final", "confidence"}:
        lines.append(
            "Fusions and calibration fit the components that they were trained with, and are refused beside others."
        )
    return "## Limits\n\n" + "\n".join(f"- {line}" for line in lines)


def _public_weights(parts: Sequence[tuple[Part, FormName, str]], bases: Sequence[str]) -> str:
    title = "## What public weights may have seen"
    started = sorted({part.name for part, _, _ in parts if part.encoder is not None})
    if not started and not bases:
        return f"{title}\n\nThe recipes name no pretrained weights."
    named = ", ".join(bases) if bases else "weights of unknown origin"
    lines = [text for key, text in _SEEN.items() if any(key.lower() in name.lower() for name in bases)]
    lines = lines or [
        "What they were trained on is not recorded here: they may have seen test papers and their links."
    ]
    parts_named = f" ({', '.join(started)})" if started else ""
    return (
        f"{title}\n\nParts{parts_named} began from {named}. {' '.join(lines)} A comparison with models trained from "
        "nothing has to say so."
    )


def _loading(parts: Sequence[tuple[Part, FormName, str]]) -> str:
    single = len(parts) == 1 and not parts[0][2]
    target = f"model/{parts[0][0].name}" if single else "model"
    blocks = [
        "## Load\n\nWith cocite, which compares every file with its SHA-256 and gives back the files of the model "
        f"byte for byte:\n\n```sh\ncocite model import FOLDER --to {target}\ncocite index build corpus --to index "
        "--model model\ncocite serve --model model --index index\n```",
    ]
    used = [(part, usage_of(part, form, path)) for part, form, path in parts]
    if any(code for _, code in used):
        blocks.append(f"Without cocite:\n\n```python\n{DOWNLOAD}\n```")
    for part, code in used:
        for sentence, text in code:
            blocks.append(f"`{part.name}`: {sentence}\n\n```python\n{text}\n```")
    only = [part.name for part, code in used if not code]
    if only:
        blocks.append(f"Only cocite loads: {', '.join(only)}. No file is a pickle.")
    return "\n\n".join(blocks)
