"""Writes a model folder as a repository of the Hugging Face hub, and reads one back.

A repository is an artifact: ``manifest.json`` has the SHA-256 of every file. Each part keeps its own manifest as
``cocite_manifest.json``, and is given back byte for byte. Of what the hub and its users change, ``README.md`` and
``.gitattributes``, nothing is read.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from cocite.artifacts import compare, publish, sha256
from cocite.atomic_files import sync
from cocite.bounds import Name
from cocite.config import Settings
from cocite.destinations import check_artifact_destination
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST, RESTORE, Manifest, read_manifest
from cocite.pipeline.huggingface.card import CardOptions, card_of
from cocite.pipeline.huggingface.forms import FormName, add_form, form_of, restore_file
from cocite.pipeline.huggingface.parts import KINDS, Part, parts_of
from cocite.temporary import temporary_beside
from cocite.write_errors import writing_to

KIND = "huggingface-repository"
CARD, ATTRIBUTES = "README.md", ".gitattributes"
OWN_MANIFEST = "cocite_manifest.json"
"""A part's own manifest in a repository."""
MOST_FILES = 10_000
"""Files of a repository that is read."""
LARGEST_MANIFEST = 16 * 2**20
"""Bytes of a manifest that is read."""
LARGE = 10_000_000
"""Bytes from which the hub takes a file through LFS alone."""
PICKLES = frozenset(".bin .pt .pth .pkl .pickle .ckpt .joblib .h5 .msgpack".split())
"""Suffixes of files that run code when they are loaded, or are not safetensors."""
_UNREAD = frozenset({CARD, ATTRIBUTES})
_ADDED = re.compile(r"\.gitignore|LICENSE[^/]*|NOTICE[^/]*")
"""Files that a publisher may add to an export."""
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_BINARY = ("*.safetensors", "*.npy", "*.arrow")


class PartRecord(Settings):
    """What a repository's manifest says of a part.

    Example:
        >>> PartRecord(version="0123456789abcdef", form="cocite").form
        'cocite'
    """

    version: Name
    """Fingerprint of the part's artifact."""
    form: FormName
    """How other libraries load it: :mod:`cocite.pipeline.huggingface.forms`."""


class RepositoryContents(Settings):
    """The description in a repository's manifest.

    Example:
        >>> record = PartRecord(version="0123456789abcdef", form="encoder")
        >>> RepositoryContents(single=False, parts={"masked-lm": record}).path("masked-lm")
        'masked-lm'
    """

    single: bool
    """Whether the one part's files are in the top folder, where libraries look for them."""
    parts: dict[Name, PartRecord] = Field(min_length=1, max_length=64)

    def path(self, name: str) -> str:
        """Where a part's files are in the repository; empty: in its top folder."""
        return "" if self.single else name


@dataclass(frozen=True)
class ExportedRepository:
    """What an export wrote.

    Attributes:
        forms: name of a part -> its form.
        left_out: other artifacts of the model folder.
        paths: paths of this machine that the manifests name.

    Example:
        >>> ExportedRepository({"hatten": "cocite"}, ["golden"], []).left_out
        ['golden']
    """

    forms: dict[str, FormName]
    left_out: list[str]
    paths: list[str]


def export_model(model: Path, to: Path, options: CardOptions, *, replace: bool = False) -> ExportedRepository:
    """Write a repository with the parts of a model folder.

    Args:
        model: a model folder, each of whose parts gets a subfolder; or one part, whose files get the top folder.
        to: the folder to make.
        options: of the model card.
        replace: whether it may take the place of an earlier export.

    Raises:
        CociteError: a part is damaged, there is none, or something is at ``to`` that may not be replaced.

    Example:
        >>> import tempfile
        >>> from cocite.pipeline.weights import Blend
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model, repository = Path(folder, "model"), Path(folder, "repository")
        ...     Blend.parse({"local": {"weights": {"whole>text": 1.0}}}).save(model / "blend", {})
        ...     made = export_model(model, repository, CardOptions("my-recommender"))
        ...     imported = import_model(repository, Path(folder, "again"))
        >>> made.forms, imported
        ({'blend': 'cocite'}, ['blend'])
    """
    _refuse_other_artifact(to)
    check_artifact_destination(to, replace=replace)
    parts, left_out = parts_of(model)
    single = parts[0].folder == model
    contents = RepositoryContents(
        single=single,
        parts={part.name: PartRecord(version=part.manifest.digest, form=form_of(part)) for part in parts},
    )
    with publish(to, kind=KIND, meta=contents.model_dump(mode="json"), replace=replace) as folder:
        for part in parts:
            _copy_part(part, folder / contents.path(part.name))
            add_form(part, contents.parts[part.name].form, folder / contents.path(part.name))
        described = [(part, contents.parts[part.name].form, contents.path(part.name)) for part in parts]
        (folder / CARD).write_text(str(card_of(described, options)), encoding="utf-8")
        (folder / ATTRIBUTES).write_text(_attributes(folder), encoding="utf-8")
    return ExportedRepository(
        {name: record.form for name, record in contents.parts.items()},
        left_out,
        sorted({path for part in parts for path in _paths(part.meta)}),
    )


def _refuse_other_artifact(folder: Path) -> None:
    """Refuse an artifact that is no export, so that --replace never costs a corpus or a model."""
    if (folder / MANIFEST).is_file() and (kind := read_manifest(folder).kind) != KIND:
        raise InputError(
            f"is a {kind}, not an export, and is not replaced",
            where=str(folder),
            hint="choose another folder",
        )


def _copy_part(part: Part, folder: Path) -> None:
    for name in sorted(part.manifest.files):
        _refuse_pickle(name, part.folder)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(part.folder / name, folder / name)
        except FileNotFoundError as error:
            raise IntegrityError(
                "the file is missing", where=str(part.folder / name), hint=RESTORE
            ) from error
        if sha256(folder / name) != part.manifest.files[name]["sha256"]:
            raise IntegrityError(
                "damaged: its SHA-256 is not the manifest's", where=str(part.folder / name), hint=RESTORE
            )
    shutil.copyfile(part.folder / MANIFEST, folder / OWN_MANIFEST)


def _attributes(folder: Path) -> str:
    """``.gitattributes``: what git keeps by LFS."""
    large = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and path.stat().st_size >= LARGE
        and not any(path.match(pattern) for pattern in _BINARY)
    )
    return "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in (*_BINARY, *large))


def _paths(value: Any) -> list[str]:
    """Absolute paths among the strings of a manifest's description."""
    if isinstance(value, dict):
        return [path for one in value.values() for path in _paths(one)]
    if isinstance(value, list):
        return [path for one in value for path in _paths(one)]
    return [value] if isinstance(value, str) and value.startswith("/") and len(value) > 1 else []


# -- the way back -------------------------------------------------------------------------------------------------


def import_model(repository: Path, to: Path) -> list[str]:
    """Make a model folder, or one part of it, of a repository that cocite exported.

    Args:
        repository: a clone or a download of it.
        to: the model folder to make, or that of the part where the repository holds one in its top folder.

    Returns:
        The names of the parts.

    Raises:
        InputError: the folder is no such repository, holds a pickle, or something is at ``to``.
        IntegrityError: a file is damaged, missing, or not named by the manifest; the first one is named.
    """
    if to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise InputError("already exists", where=str(to), hint="choose another folder")
    manifest = _checked(repository)
    where = str(repository / MANIFEST)
    contents = RepositoryContents.parse(manifest.meta, where=where)
    unknown = sorted(set(contents.parts) - set(KINDS))
    if unknown:
        raise InputError(
            f"names a part {unknown[0]!r}, which this version of cocite does not know", where=where
        )
    if contents.single and len(contents.parts) != 1:
        raise IntegrityError("says of several parts that they are in the top folder", where=where)
    names = [name for name in KINDS if name in contents.parts]
    if contents.single:
        _restore_part(repository, names[0], contents, to)
        return names
    check_artifact_destination(to)
    target = Path(os.path.realpath(to))
    with writing_to(to):
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(target, folder=True) as temporary, writing_to(to, temporary):
            for name in names:
                _restore_part(repository / name, name, contents, temporary / name)
            sync(temporary)
            temporary.rename(target)
            sync(target.parent)
    return names


def _checked(repository: Path) -> Manifest:
    """The manifest of a repository whose files are undamaged, and are all that there is."""
    if not repository.is_dir():
        raise NotFoundError("no such folder", where=str(repository))
    names = _names(repository)
    for name in names:
        _refuse_pickle(name, repository)
    if not (repository / MANIFEST).is_file():
        raise InputError(
            f"holds no {MANIFEST}, so cocite did not export it",
            where=str(repository),
            hint="of a public encoder make a part by cocite train sentence encoder=FOLDER",
        )
    _refuse_large_manifests(repository, names)
    manifest = read_manifest(repository, kind=KIND)
    for name in names:
        if name not in manifest.files and name not in (MANIFEST, *_UNREAD) and not _ADDED.fullmatch(name):
            raise IntegrityError(
                "the manifest does not name this file", where=str(repository / name), hint="move it elsewhere"
            )
    read = {name: entry for name, entry in manifest.files.items() if name not in _UNREAD}
    for name in read:
        _refuse_lfs_pointer(repository / name)
    compare(repository, replace(manifest, files=read))
    return manifest


def _names(repository: Path) -> Sequence[str]:
    """Paths of all files but those of git and of the hub's downloads, in order."""
    names: list[str] = []
    for folder, below, files in os.walk(repository):
        below[:] = sorted(set(below) - {".git", ".cache"})
        names += (Path(folder, name).relative_to(repository).as_posix() for name in files)
        if len(names) > MOST_FILES:
            raise InputError(
                f"holds more than {MOST_FILES:,} files", where=str(repository), hint="name an exported model"
            )
    return sorted(names)


def _refuse_pickle(name: str, folder: Path) -> None:
    if Path(name).suffix.lower() in PICKLES:
        raise InputError(
            "is a pickle or another file that is no safetensors, which is never published or loaded",
            where=str(folder / name),
            hint="weights have to be safetensors",
        )


def _refuse_large_manifests(repository: Path, names: Sequence[str]) -> None:
    for name in names:
        path = repository / name
        if (
            path.name in (MANIFEST, OWN_MANIFEST)
            and path.is_file()
            and path.stat().st_size > LARGEST_MANIFEST
        ):
            raise InputError(
                f"has more than {LARGEST_MANIFEST:,} bytes, which no manifest has", where=str(path)
            )


def _refuse_lfs_pointer(path: Path) -> None:
    """Refuse what a clone without Git LFS has in the place of a large file."""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(_LFS_POINTER))
        if start == _LFS_POINTER:
            raise IntegrityError(
                "is a pointer of Git LFS, not the file",
                where=str(path),
                hint="git lfs pull fetches the files",
            )


def _restore_part(folder: Path, name: str, contents: RepositoryContents, to: Path) -> None:
    """Write the artifact of a part from its files in a repository."""
    record = contents.parts[name]
    own = read_manifest(folder, kind=KINDS[name], name=OWN_MANIFEST)
    if own.digest != record.version:
        raise IntegrityError(
            f"is of version {own.digest}, not {record.version}", where=str(folder / OWN_MANIFEST)
        )
    with publish(to, kind=own.kind, meta=own.meta) as temporary:
        for file, entry in own.files.items():
            (temporary / file).parent.mkdir(parents=True, exist_ok=True)
            try:
                source = restore_file(record.form, folder, file, temporary / file)
            except FileNotFoundError as error:
                raise IntegrityError("the file is missing", where=str(folder / file), hint=RESTORE) from error
            if sha256(temporary / file) != entry["sha256"]:
                raise IntegrityError(
                    f"does not give back the part's {file}, whose SHA-256 is another", where=str(source)
                )
