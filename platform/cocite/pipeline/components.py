"""A model folder's components: which of them a folder holds, and how each is loaded.

| component | is |
| --- | --- |
| ``nnselect``, ``hatten``, ``mp-bert4cr``, ``sentence`` | encoders: papers and queries as vectors |
| ``blend`` | weights of the first stage's blend of signals, in place of the shipped ones |
| ``nnrank`` | scores candidates by title and abstract |
| ``fusion`` | LambdaMART over all signals |
| ``cross-encoder`` | reads query and candidate together |
| ``final`` | LambdaMART over all signals, the fusion's score and the cross-encoder's |
| ``confidence`` | makes probabilities of the last stage's score |
| ``citing-sentences`` | says which sentences of a draft need a citation; ranks nothing |

Each is an artifact of its own. The pipeline works without those that are missing, as
:class:`~cocite.pipeline.second_stage.SecondStage` describes, and without those that were below the stage before them on
dev when they were trained, unless the recipe said ``keep=always``: see :func:`excluded_kinds`,
:func:`ordered_kinds` and :func:`exclusion_notes`.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from cocite.artifacts import verify as verify_artifact
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite.pipeline.options import QUERY_KINDS
from cocite.pipeline.weights import Blend
from cocite.protocols import Encoder, Reranker
from cocite.retrieval.index.search_index import SearchIndex
from cocite.systems.confidence.calibration import Confidence
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.verification import open_verified

ENCODERS = {
    "nnselect": "cocite.systems.citeomatic.nnselect.encoder:load_encoder",
    "hatten": "cocite.systems.hatten.encoder:load_hatten_encoder",
    "sentence": "cocite.systems.sentence_encoder.encoder:load_sentence_encoder",
    "mp-bert4cr": "cocite.systems.mp_bert4cr.encoder:load_mp_bert4cr_encoder",
}
"""Encoder -> ``module:function`` that loads it from its folder. Named by string: imported when used."""
CROSS_ENCODER = "cocite.systems.cross_encoder.reranker:load_cross_encoder"
BM25 = "bm25"
"""Key of :func:`upstream_fingerprints` for the k1 and b of an index, where they are not the defaults."""


def component_names() -> tuple[str, ...]:
    """Names of all components, in the order in which they work: each may read the scores of those before it."""
    return (
        *ENCODERS,
        "blend",
        "nnrank",
        "fusion",
        "cross-encoder",
        "final",
        "confidence",
        "citing-sentences",
    )


def list_components(model: Path) -> list[str]:
    """Names of the components that a model folder holds.

    Raises:
        NotFoundError: there is no such folder, or it holds no component.
    """
    if not model.is_dir():
        raise NotFoundError("no such model folder", where=str(model))
    names = [name for name in component_names() if (model / name).is_dir()]
    if not names:
        raise NotFoundError(
            f"holds none of {', '.join(component_names())}",
            where=str(model),
            hint="train a model: cocite train nnselect …",
        )
    return names


def excluded_kinds(model: Path, name: str) -> dict[str, str]:
    """Kinds of query for which a component is left out, and the reason: on dev it was below the stage before it.

    The kind ``all`` is NNRank's where no stage may read its score. NNRank and the cross-encoder do not order the
    candidates of an excluded kind by themselves, but a fusion still weighs their scores. A learned fusion is not used
    at all for an excluded kind.
    """
    if not (model / name).is_dir():
        return {}
    return dict(read_manifest(model / name).meta.get("left_out", {}))


def ordered_kinds(model: Path, name: str) -> list[str]:
    """Kinds of query whose candidates a component may order; none if the folder does not hold it."""
    kinds = [kind for kind in QUERY_KINDS if (model / name).is_dir()]
    if name in ("fusion", "final"):
        kinds = [kind for kind in kinds if (model / name / f"{kind}.txt").is_file()]
    excluded = excluded_kinds(model, name)
    if name == "cross-encoder":
        # Where the final fusion was below the order before it, that order has to stay.
        excluded |= excluded_kinds(model, "final")
    return [kind for kind in kinds if kind not in excluded and "all" not in excluded]


def active_components(model: Path) -> list[str]:
    """Names of the components that a model folder holds and the pipeline uses for some kind of query."""
    return [
        name
        for name in component_names()
        if (model / name).is_dir()
        and not (name == "nnrank" and "all" in excluded_kinds(model, name))
        and not (name in ("fusion", "final") and not ordered_kinds(model, name))
    ]


def exclusion_notes(model: Path | None) -> list[str]:
    """A sentence for each component that the pipeline leaves out for a kind of query, as its training wrote it.

    There is none for NNRank or the cross-encoder where a learned fusion orders the candidates in any case.
    """
    if model is None:
        return []
    fused = {"nnrank": ordered_kinds(model, "fusion"), "cross-encoder": ordered_kinds(model, "final")}
    notes = {
        why: None
        for name in component_names()
        for kind, why in excluded_kinds(model, name).items()
        if kind == "all" or kind not in fused.get(name, [])
    }
    return list(notes)


def version(model: Path | None) -> str:
    """Fingerprint of all components: 16 hexadecimal digits; empty without a model."""
    if model is None:
        return ""
    digests = [f"{name}:{read_manifest(model / name).digest}" for name in list_components(model)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def verify(model: Path, *, again: bool = False) -> None:
    """Compare every file of every component with its SHA-256, as loading a component does.

    Args:
        model: the folder.
        again: whether to read files too that this process has read before.

    Raises:
        IntegrityError: a file is damaged or missing; the error names it.
    """
    for name in list_components(model):
        if again:
            verify_artifact(model / name)
        else:
            open_verified(model / name)


def load_encoder(model: Path, name: str) -> Encoder | None:
    """The encoder of a name of :data:`ENCODERS`; None if the folder does not hold it."""
    if not (model / name).is_dir():
        return None
    load: Callable[[Path], Encoder] = import_object(ENCODERS[name])
    return load(model / name)


def load_encoders(model: Path | None, among: Sequence[str] | None = None) -> list[Encoder]:
    """The encoders that a model folder holds, of the names in ``among`` (None: all); none without a folder."""
    if model is None:
        return []
    encoders = (load_encoder(model, name) for name in ENCODERS if among is None or name in among)
    return [encoder for encoder in encoders if encoder is not None]


def load_blend(model: Path | None, encoders: Collection[str]) -> Blend | None:
    """The weights of a model folder's own blend; None if it has none.

    Args:
        model: the folder.
        encoders: names of the encoders in use.

    Raises:
        InputError: one of them was not in use when the weights were tuned.
    """
    if model is None or not (model / "blend").is_dir():
        return None
    blend = Blend.read(model / "blend")
    for kind, weighing in blend.kinds.items():
        for name in encoders:
            if name not in weighing.encoders:
                raise InputError(
                    f"its weights for {kind} queries were found without {name}, which is there now",
                    where=str(model / "blend"),
                    hint="tune them with this model folder, or remove it for the shipped weights",
                )
    return blend


def load_nnrank(model: Path, index: SearchIndex, *, always: bool = False) -> Reranker | None:
    """NNRank over an index' papers and history; None if the folder has none, or one excluded for all kinds.

    ``always`` loads an excluded one too.
    """
    if not (model / "nnrank").is_dir() or ("all" in excluded_kinds(model, "nnrank") and not always):
        return None
    from cocite.systems.citeomatic.nnrank.reranker import load_reranker

    encoder = load_encoder(model, "nnselect")
    known = encoder is not None and index.encoder_ids.get(encoder.name) == encoder.id
    vectors = index.paper_vectors("nnselect") if known else None
    return load_reranker(model / "nnrank", index.corpus, index.history, vectors=vectors)


def load_cross_encoder(model: Path, index: SearchIndex) -> Reranker | None:
    """The cross-encoder over an index' papers; None if the folder does not hold it."""
    if not (model / "cross-encoder").is_dir():
        return None
    load: Callable[[Path, Corpus], Reranker] = import_object(CROSS_ENCODER)
    return load(model / "cross-encoder", index.corpus)


def load_fusions(model: Path, index: SearchIndex, name: str) -> dict[str, LearnedFusion]:
    """The learned fusions of a component (``fusion`` or ``final``) by kind of query, without the excluded kinds.

    Raises:
        InputError: folder or index lack what the fusion reads, or hold other components than it was trained with.
    """
    kinds = ordered_kinds(model, name)
    if not kinds:
        return {}
    fusions = {kind: fusion for kind, fusion in LearnedFusion.load_all(model / name).items() if kind in kinds}
    present = upstream_fingerprints(model, index, name)
    for signal in sorted({signal for fusion in fusions.values() for signal in fusion.names}):
        source = signal.partition(":")[0].partition("/")[0]
        if source == "vectors":
            raise _unfit(model, name, "was trained by an earlier version of cocite")
        if source in component_names() and source not in present:
            raise _unfit(model, name, f"reads the signal {signal!r}, and {_lacking(model, source)}")
    trained = read_manifest(model / name).meta.get("members")
    if trained is None:  # an earlier version of cocite wrote no fingerprints, and had neither of these
        trained = {
            component: digest for component, digest in present.items() if component not in ("blend", BM25)
        }
    _check_same(model, name, present, trained)
    return fusions


def load_confidence(model: Path, index: SearchIndex) -> Confidence | None:
    """What makes probabilities of scores; None if the folder does not hold it.

    Raises:
        InputError: folder or index hold other components than it was fitted to.
    """
    if not (model / "confidence").is_dir():
        return None
    confidence = Confidence.read(model / "confidence")
    trained = read_manifest(model / "confidence").meta.get("members", {})
    _check_same(model, "confidence", upstream_fingerprints(model, index, "confidence"), trained)
    return confidence


def upstream_fingerprints(model: Path, index: SearchIndex, name: str) -> dict[str, str]:
    """Fingerprints of all that the signals of a learned fusion ``name``, or the scores of confidence, depend on.

    These are the active components before it that the index has vectors for, and under :data:`BM25` the k1 and b of the
    index. The manifest of a fusion keeps them, so that it is refused beside others.
    """
    active = active_components(model)
    fingerprints = {
        component: read_manifest(model / component).digest
        for component in component_names()[: component_names().index(name)]
        if component in active and (component not in ENCODERS or component in index.encoder_ids)
    }
    changed = " ".join(f"{key}={value}" for key, value in index.bm25.changed().items())
    return fingerprints | ({BM25: changed} if changed else {})


def _check_same(model: Path, name: str, now: dict[str, str], then: dict[str, str]) -> None:
    """Refuse a fusion beside other components than it was trained with: its trees fit the scores of those alone."""
    if now.get(BM25) != then.get(BM25):
        raise InputError(
            f"this {_title(name)} was trained over an index whose BM25 has {then.get(BM25, 'the usual k1 and b')}, "
            f"and this one has {now.get(BM25, 'the usual ones')}",
            where=str(model / name),
            hint=f"train {name} again with index=INDEX, or build the index as it was",
        )
    for component in component_names():
        if component in then and component not in now:
            raise _unfit(model, name, f"was trained with {component}, and {_lacking(model, component)}")
        if component in now and component not in then:
            raise _unfit(model, name, f"was trained without {component}, which is there now")
        if now.get(component) != then.get(component):
            raise _unfit(model, name, f"was trained with another {component} than the one that is there now")


def _lacking(model: Path, component: str) -> str:
    if (model / component).is_dir() and component not in active_components(model):
        return f"{component} is left out, as it was below the stage before it on dev"
    if (model / component).is_dir():
        return f"the index holds no vectors of {component} (build it with --model)"
    return f"the model folder holds no {component}"


def _unfit(model: Path, name: str, why: str) -> InputError:
    return InputError(f"this {_title(name)} {why}", where=str(model / name), hint=f"train {name} again")


def _title(name: str) -> str:
    return "calibration" if name == "confidence" else "learned fusion"


def import_object(name: str) -> Any:
    """Import the object that ``module:name`` names."""
    module, attribute = name.split(":")
    return getattr(importlib.import_module(module), attribute)
