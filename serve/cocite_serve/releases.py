"""What is served: one model over one index snapshot, where both come from, and whether they fit each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.artifacts import load_array
from cocite.corpus.cold_history import cold_history
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite.retrieval.index.versions import Pin, Versions
from cocite.verification import open_verified_once
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_serve.model_cache import ModelCache
from cocite_serve.settings import ServeSettings


@dataclass(frozen=True)
class Release:
    """A model over an index snapshot: all that the two stages of one generation load.

    Attributes:
        model: its folder; None: the untrained blend.
        index: the index folder.
        index_version: the snapshot.
        registered: what the model is in the registry; None: it is a folder.
    """

    model: Path | None
    index: Path
    index_version: str
    registered: ModelVersion | None = None

    @property
    def target(self) -> Target:
        """What was asked for."""
        return Target(self.registered, self.index_version)

    def __str__(self) -> str:
        model = self.registered or self.model or "no model"
        return f"{model} over index {self.index_version}"

    def lacking(self) -> list[str]:
        """The model's encoders that the index holds no vectors of: they do nothing."""
        return sorted(_encoders(self.model).keys() - _vectors(self).keys())

    def cold(self) -> InputError | None:
        """That the snapshot knows of no citation, if so: recommendations then rest on texts alone."""
        folder = Versions(self.index).folder(self.index_version)
        history = History(Corpus.open(folder / "corpus"), load_array(folder / "history.npy"))
        hint = "build the index again without --known-until and --before-split, or with a later year or split"
        return cold_history(history, "whose links the index knows", hint)

    def check(self, before: Release | None = None) -> None:
        """Look whether the index holds the vectors of the model's encoders, without loading either.

        Args:
            before: what is served now; an encoder that does nothing there may go on doing nothing.

        Raises:
            InputError: the index is empty, or stages would refuse the two, or do without an encoder that works now.
        """
        if _meta(self).get("papers") == 0:
            raise InputError(
                "the index holds no paper, so there is nothing to recommend", where=str(self.index)
            )
        if self.model is None:
            return
        encoders, vectors = _encoders(self.model), _vectors(self)
        hint = f"cocite index build CORPUS --to {self.index} --model {self.model}"
        for name in sorted(encoders.keys() & vectors.keys()):
            if encoders[name] != vectors[name]:
                raise InputError(
                    f"the index's vectors of {name} were made by another {name} than the model's", hint=hint
                )
        if before is not None and (lacking := sorted({*self.lacking()} - {*before.lacking()})):
            raise InputError(f"the index holds no vectors of {', '.join(lacking)}", hint=hint)


@dataclass(frozen=True)
class Target:
    """Versions that could be served, by name.

    Attributes:
        model: in the registry; None: the folder that was given, or no model.
        index: the snapshot.
    """

    model: ModelVersion | None
    index: str


@dataclass(frozen=True)
class Held:
    """A release whose files stay where they are until it is let go."""

    release: Release
    pins: tuple[Pin, ...]

    def let_go(self) -> None:
        """Allow that the snapshot and the model's copy are deleted."""
        for pin in self.pins:
            pin.release()


class Source:
    """Where releases come from: the settings, the registry and the index folder."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.reference = ModelReference.parse(settings.model)
        self.cache = ModelCache(settings.registry)

    @property
    def interval(self) -> float:
        """Seconds between two looks; 0: what is served never changes."""
        if self.settings.watch.seconds is not None:
            return self.settings.watch.seconds
        return 60.0 if self.reference is not None and self.reference.alias else 0.0

    def look(self) -> Target:
        """What is meant now: the version behind the alias, and the current snapshot unless one was named."""
        index = self.settings.index_version or Versions(self.settings.index).current()
        return Target(None if self.reference is None else self.cache.resolve(self.reference), index)

    def take(self, target: Target) -> Held:
        """Fetch what is missing, hold it, and check that it is undamaged: before any replica begins to load it.

        Raises:
            IntegrityError: a file of the model or of the snapshot is damaged.
            CociteError: there is no such model or snapshot, or the registry cannot be asked.
        """
        version, pin = Versions(self.settings.index).pin(target.index)
        index = self.settings.index.resolve()
        open_verified_once(Versions(index).folder(version), kind="index")
        if target.model is not None:
            folder, kept = self.cache.fetch(target.model)
            return Held(Release(folder, index, version, target.model), (pin, kept))
        model = self.settings.model
        if model is not None:
            from cocite.pipeline import components as members

            members.verify(model)
            model = model.resolve()
        return Held(Release(model, index, version), (pin,))


def _encoders(model: Path | None) -> dict[str, str]:
    """Fingerprints of a model folder's encoders by name; each is the encoder's id."""
    from cocite.pipeline import components as members

    if model is None:
        return {}
    return {name: read_manifest(model / name).digest for name in members.ENCODERS if (model / name).is_dir()}


def _vectors(release: Release) -> dict[str, str]:
    """Ids of the encoders that made the vectors of a release's snapshot, by name."""
    return dict(_meta(release).get("encoder_ids", {}))


def _meta(release: Release) -> dict[str, Any]:
    """What a release's snapshot says of itself."""
    return read_manifest(Versions(release.index).folder(release.index_version)).meta
