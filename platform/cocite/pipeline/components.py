"""A model folder's members: which of them are there, and how each is loaded.

| member | is |
| --- | --- |
| ``nnselect``, ``hatten``, ``mp-bert4cr``, ``sentence`` | encoders: papers and queries as vectors |
| ``blend`` | weights of the first stage's blend of signals, in place of the shipped ones |
| ``nnrank`` | scores candidates by title and abstract |
| ``fusion`` | LambdaMART over all signals |
| ``cross-encoder`` | reads query and candidate together |
| ``final`` | LambdaMART over all signals, the fusion's score and the cross-encoder's |

Each is an artifact of its own. What is missing is done without: :class:`~cocite.pipeline.second_stage.SecondStage` says
how. So is what its training found below the stage before it on dev, unless it was trained with ``keep=always``:
:func:`left_out` and :func:`ordered_kinds` say what, :func:`left_out_notes` why.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite.pipeline.options import QUERY_KINDS
from cocite.pipeline.weights import Blend
from cocite.protocols import Encoder, Reranker
from cocite.retrieval.index.index import Index
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.verification import open_verified

ENCODERS = {
    "nnselect": "cocite.systems.citeomatic.nnselect_encoder:load_encoder",
    "hatten": "cocite.systems.hatten.encoder:load_hatten_encoder",
    "sentence": "cocite.systems.sentence_encoder.encoder:load_sentence_encoder",
    "mp-bert4cr": "cocite.systems.mp_bert4cr.encoder:load_mp_bert4cr_encoder",
}
"""Encoder -> ``module:function`` that loads it from its folder. Named by string: imported when used."""
CROSS_ENCODER = "cocite.systems.cross_encoder.reranker:load_cross_encoder"
MEMBERS = (*ENCODERS, "blend", "nnrank", "fusion", "cross-encoder", "final")
"""In the order in which they work: each gets the scores of those before it."""
BM25 = "bm25"
"""Beside the members, a learned fusion depends on the k1 and b of the index, where they are not the usual ones."""


def check(model: Path) -> list[str]:
    """The members a model folder has; raises when there is no folder or not one member."""
    if not model.is_dir():
        raise NotFoundError("no such model folder", where=str(model))
    found = [name for name in MEMBERS if (model / name).is_dir()]
    if not found:
        raise NotFoundError(
            f"holds none of {', '.join(MEMBERS)}",
            where=str(model),
            hint="train a model: cocite train nnselect …",
        )
    return found


def left_out(model: Path, name: str) -> dict[str, str]:
    """Kinds of query for which a member is left out, and why: its training found it below the stage before it.

    The kind ``all`` is NNRank's where nothing may read its score. For the kinds that NNRank and the cross-encoder are
    left out for, they do not order candidates by themselves, and a fusion still weighs their scores. A learned fusion
    is not there for such a kind.
    """
    if not (model / name).is_dir():
        return {}
    return dict(read_manifest(model / name).meta.get("left_out", {}))


def ordered_kinds(model: Path, name: str) -> list[str]:
    """Kinds of query whose candidates a member may order; none if the folder does not have it."""
    kinds = [kind for kind in QUERY_KINDS if (model / name).is_dir()]
    if name in ("fusion", "final"):
        kinds = [kind for kind in kinds if (model / name / f"{kind}.txt").is_file()]
    out = left_out(model, name)
    if name == "cross-encoder":
        # A final fusion that is below the order before it says that this order should stay.
        out |= left_out(model, "final")
    return [kind for kind in kinds if kind not in out and "all" not in out]


def kept(model: Path) -> list[str]:
    """The members a model folder has, without those that are left out for all that they were made for."""
    return [
        name
        for name in MEMBERS
        if (model / name).is_dir()
        and not (name == "nnrank" and "all" in left_out(model, name))
        and not (name in ("fusion", "final") and not ordered_kinds(model, name))
    ]


def left_out_notes(model: Path | None) -> list[str]:
    """A sentence for each member that the pipeline leaves out for a kind of query, as its training found it.

    Where a learned fusion orders the candidates, it does not matter that NNRank, or the cross-encoder, does not.
    """
    if model is None:
        return []
    fused = {"nnrank": ordered_kinds(model, "fusion"), "cross-encoder": ordered_kinds(model, "final")}
    notes = {
        why: None
        for name in MEMBERS
        for kind, why in left_out(model, name).items()
        if kind == "all" or kind not in fused.get(name, [])
    }
    return list(notes)


def version(model: Path | None) -> str:
    """Fingerprint of all members: 16 hexadecimal digits; empty without a model."""
    if model is None:
        return ""
    digests = [f"{name}:{read_manifest(model / name).digest}" for name in check(model)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def verify(model: Path) -> None:
    """Compare every file of every member with its SHA-256, as whoever loads a member does; a damaged one is named."""
    for name in check(model):
        open_verified(model / name)


def load_encoder(model: Path, name: str) -> Encoder | None:
    """The encoder of a name, one of :data:`ENCODERS`, if the folder has it."""
    if not (model / name).is_dir():
        return None
    load: Callable[[Path], Encoder] = imported(ENCODERS[name])
    return load(model / name)


def load_encoders(model: Path | None, among: Sequence[str] = tuple(ENCODERS)) -> list[Encoder]:
    """The encoders that a model folder has, those of some names alone if told so; without a folder, none."""
    if model is None:
        return []
    found = (load_encoder(model, name) for name in ENCODERS if name in among)
    return [encoder for encoder in found if encoder is not None]


def load_blend(model: Path | None, encoders: Collection[str]) -> Blend | None:
    """The blend's weights, if the folder has its own.

    Args:
        model: the folder.
        encoders: names of the encoders that are there.

    Raises:
        InputError: one of them was not there when the weights were found.
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


def load_nnrank(model: Path, index: Index, *, always: bool = False) -> Reranker | None:
    """NNRank over an index' papers and history, if the folder has it; not one that is left out, unless ``always``."""
    if not (model / "nnrank").is_dir() or ("all" in left_out(model, "nnrank") and not always):
        return None
    from cocite.systems.citeomatic.nnrank_reranker import load_reranker

    encoder = load_encoder(model, "nnselect")
    known = encoder is not None and index.encoder_ids.get(encoder.name) == encoder.id
    vectors = index.vectors["nnselect"].raw if known else None
    return load_reranker(model / "nnrank", index.corpus, index.history, vectors=vectors)


def load_cross_encoder(model: Path, index: Index) -> Reranker | None:
    """The cross-encoder over an index' papers, if the folder has it."""
    if not (model / "cross-encoder").is_dir():
        return None
    load: Callable[[Path, Corpus], Reranker] = imported(CROSS_ENCODER)
    return load(model / "cross-encoder", index.corpus)


def load_fusions(model: Path, index: Index, name: str) -> dict[str, LearnedFusion]:
    """The learned fusions of a member (``fusion`` or ``final``) by kind of query, but those that are left out.

    Raises:
        InputError: folder or index lack what the fusion reads, or hold other members than it was trained with.
    """
    kinds = ordered_kinds(model, name)
    if not kinds:
        return {}
    fusions = {kind: fusion for kind, fusion in LearnedFusion.load_all(model / name).items() if kind in kinds}
    present = beneath(model, index, name)
    for signal in sorted({signal for fusion in fusions.values() for signal in fusion.names}):
        source = signal.partition(":")[0].partition("/")[0]
        if source == "vectors":
            raise _unfit(model, name, "was trained by an earlier version of cocite")
        if source in MEMBERS and source not in present:
            raise _unfit(model, name, f"reads the signal {signal!r}, and {_lacking(model, source)}")
    trained = read_manifest(model / name).meta.get("members")
    if trained is None:  # by an earlier version of cocite, which told nothing, and knew neither of these
        trained = {member: digest for member, digest in present.items() if member not in ("blend", BM25)}
    _check_same(model, name, present, trained)
    return fusions


def beneath(model: Path, index: Index, name: str) -> dict[str, str]:
    """Fingerprints of what the scores that a member ``name`` gets depend on.

    That is the members before it that are kept and that the index serves, and under :data:`BM25` the k1 and b of the
    index.
    """
    present = kept(model)
    found = {
        member: read_manifest(model / member).digest
        for member in MEMBERS[: MEMBERS.index(name)]
        if member in present and (member not in ENCODERS or member in index.vectors)
    }
    changed = " ".join(f"{key}={value}" for key, value in index.bm25.changed().items())
    return found | ({BM25: changed} if changed else {})


def _check_same(model: Path, name: str, now: dict[str, str], then: dict[str, str]) -> None:
    """A fusion weighs the scores of certain members; with others its weights mean nothing."""
    if now.get(BM25) != then.get(BM25):
        raise InputError(
            f"this learned fusion was trained over an index whose BM25 has {then.get(BM25, 'the usual k1 and b')}, "
            f"and this one has {now.get(BM25, 'the usual ones')}",
            where=str(model / name),
            hint=f"train {name} again with index=INDEX, or build the index as it was",
        )
    for member in MEMBERS:
        if member in then and member not in now:
            raise _unfit(model, name, f"was trained with {member}, and {_lacking(model, member)}")
        if member in now and member not in then:
            raise _unfit(model, name, f"was trained without {member}, which is there now")
        if now.get(member) != then.get(member):
            raise _unfit(model, name, f"was trained with another {member} than the one that is there now")


def _lacking(model: Path, member: str) -> str:
    if (model / member).is_dir() and member not in kept(model):
        return f"{member} is left out, as it was below the stage before it on dev"
    if (model / member).is_dir():
        return f"the index holds no vectors of {member} (build it with --model)"
    return f"the model folder holds no {member}"


def _unfit(model: Path, name: str, why: str) -> InputError:
    return InputError(f"this learned fusion {why}", where=str(model / name), hint=f"train {name} again")


def imported(name: str) -> Any:
    """What ``module:name`` names."""
    module, attribute = name.split(":")
    return getattr(importlib.import_module(module), attribute)
