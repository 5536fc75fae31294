"""A corpus' papers as numbered words, field by field: an artifact of the model folder, memory-mapped by all workers.

NNSelect and NNRank read it. It has the vocabularies, and the bag of every paper of each field, and of title and
abstract together, and is made once before workers start: a worker that starts, or starts again, numbers no word.
NNRank reads the artifact of NNSelect where both have the same settings, and no names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import RunWriter, require_fit
from cocite.artifacts import load_array
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.negatives import title_and_abstract
from cocite.text.fields import TEXT, Bags, FieldEncoder, FieldSettings, take
from cocite.text.token_lists import TokenLists
from cocite.training.input_artifacts import Advance, Stage, make_input, open_input
from cocite.training.periods import Periods, PeriodSettings

KIND = "paper-words"
"""Kind of the artifact, and its name in a model folder."""
IN_ORDER = "{}.in-order"
"""Name of the file of a field's words in their order."""
TOGETHER = "title-and-abstract"
"""Name of the files of the words of both."""
BLOCK = 65_536
"""Papers whose words are put together at a time."""


class PaperWordSettings(Settings):
    """What determines the numbered words, besides the corpus.

    Example:
        >>> PaperWordSettings(metadata=True).order
        False
    """

    period: PeriodSettings = PeriodSettings()
    """Whose papers' words are counted."""
    fields: FieldSettings = FieldSettings()
    """How much of a paper is read, and the size of the vocabularies."""
    metadata: bool = False
    """Whether authors, venues and keyphrases are numbered, too."""
    order: bool = False
    """Whether the words of title and abstract are kept in their order, too, which a convolution or a GRU reads."""


@dataclass(frozen=True)
class KnownPapers(FieldEncoder):
    """A field encoder that knows the bags of one corpus; those of another are made anew.

    Attributes:
        corpus: the version of that corpus.
        bags: field -> the bag of each of its papers.
        in_order: field -> the words of each in order; empty where they were not kept.
        together: the words of title and abstract, each once; None: an earlier version made the artifact.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus, settings = starter_corpus(), PaperWordSettings()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = prepare(settings, corpus, Path(folder, KIND))
        ...     known = load(Path(folder), corpus, settings)
        ...     made = FieldEncoder.build(Periods.of(corpus, settings.period).history, settings.fields)
        ...     np.array_equal(known.papers(corpus)["title"].indices, made.papers(corpus)["title"].indices)
        True
    """

    corpus: str
    bags: Mapping[str, CSR]
    in_order: Mapping[str, TokenLists]
    together: CSR | None = None

    def papers(self, corpus: Corpus, rows: NDArray[np.int32] | None = None) -> dict[str, CSR]:
        """Bags of all papers of a corpus, or of some rows."""
        if corpus.version != self.corpus:
            return super().papers(corpus, rows)
        return {field: bag if rows is None else take(bag, rows) for field, bag in self.bags.items()}

    def paper_sequences(self, corpus: Corpus, rows: NDArray[np.int32] | None = None) -> dict[str, TokenLists]:
        """The known words of title and abstract in order, of all papers of a corpus, or of some rows."""
        if corpus.version != self.corpus or not self.in_order:
            return super().paper_sequences(corpus, rows)
        return {field: each if rows is None else each.take(rows) for field, each in self.in_order.items()}

    def known_for(self, other: FieldEncoder) -> FieldEncoder:
        """Another encoder of titles and abstracts, with the bags of this one where both number words alike."""
        words, theirs = (each.vocabularies["words"] for each in (self, other))
        reads = ("max_title", "max_abstract")
        alike = all(getattr(self.settings, name) == getattr(other.settings, name) for name in reads)
        if other.fields != TEXT or not alike or words.types != theirs.types:
            return other
        bags = {field: self.bags[field] for field in TEXT}
        return replace(self, settings=other.settings, vocabularies=other.vocabularies, bags=bags)


def prepare(
    settings: PaperWordSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make vocabularies and numbered words, unless the folder already has those of this corpus and these settings.

    Args:
        settings: the fields and the vocabularies.
        corpus: the papers.
        folder: the artifact's folder.
        stage: is called with the name of each step as it begins, and its number of texts.
        advance: is called with the number of texts that were just done.

    Returns:
        Whether they were made.

    Raises:
        InputError: no paper of the training period cites another, or none of the dev period does.
    """

    def write(to: Path) -> None:
        history = Periods.of(corpus, settings.period).history
        stage("words: vocabulary", len(corpus))
        fields = FieldEncoder.build(history, settings.fields, metadata=settings.metadata, advance=advance)
        fields.save(to)
        stage("words: papers", len(corpus) * (len(fields.fields) + len(TEXT) * settings.order + 1))
        for field in fields.fields:
            column = corpus.papers.table.column(field)
            with RunWriter(to, field, np.int32) as bags:
                for chunk in column.chunks:
                    bag = fields.bag(field, chunk)
                    bags.add(bag.indices, bag.degrees)
                    advance(len(chunk))
            if settings.order and field in TEXT:
                with RunWriter(to, IN_ORDER.format(field), np.int32) as lists:
                    for chunk in column.chunks:
                        words = TokenLists.joined([fields.sequence(field, chunk)])
                        lists.add(words.ids, words.counts)
                        advance(len(chunk))
        bags_of = {field: CSR(*_runs(to, field, len(corpus))) for field in TEXT}
        with RunWriter(to, TOGETHER, np.int32) as together:
            for start in range(0, len(corpus), BLOCK):
                rows = np.arange(start, min(start + BLOCK, len(corpus)), dtype=np.int32)
                both = title_and_abstract({field: take(bag, rows) for field, bag in bags_of.items()})
                together.add(both.indices, both.degrees)
                advance(len(rows))

    return make_input(KIND, settings, corpus, folder, write)


def load(model_folder: Path, corpus: Corpus, settings: PaperWordSettings) -> KnownPapers:
    """The numbered words that a model folder keeps of a corpus.

    Raises:
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: an array does not fit the others.
    """
    folder = model_folder / KIND
    open_input(folder, KIND, corpus, what="words", settings=settings)
    fields = FieldEncoder.load(folder, settings.fields, metadata=settings.metadata)
    bags = {field: CSR(*_runs(folder, field, len(corpus))) for field in fields.fields}
    in_order = {}
    for field in TEXT if settings.order else ():
        indptr, ids = _runs(folder, IN_ORDER.format(field), len(corpus))
        in_order[field] = TokenLists(ids, indptr[:-1], np.diff(indptr))
    has_both = (folder / f"{TOGETHER}.npy").is_file()
    together = CSR(*_runs(folder, TOGETHER, len(corpus))) if has_both else None
    return KnownPapers(fields.settings, fields.vocabularies, corpus.version, bags, in_order, together)


def _runs(folder: Path, name: str, papers: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each paper's words begin, and the words."""
    indptr, values = load_array(folder / f"{name}.indptr.npy"), load_array(folder / f"{name}.npy")
    require_fit(len(indptr) == papers + 1 and indptr[-1] == len(values), folder, of=name)
    return indptr, values


def fields_of(settings: PaperWordSettings, periods: Periods, model_folder: Path | None) -> FieldEncoder:
    """The artifact's words, or where a model folder has none, vocabularies that are made now.

    Args:
        settings: of the words.
        periods: of their period.
        model_folder: that is trained into; None: there is none.
    """
    if model_folder is not None and (Path(model_folder) / KIND).is_dir():
        return load(Path(model_folder), periods.history.corpus, settings)
    return FieldEncoder.build(periods.history, settings.fields, metadata=settings.metadata)


def text_words(fields: FieldEncoder, corpus: Corpus, bags: Bags) -> CSR:
    """The words of title and abstract of all papers, each once: mapped, where the artifact has them.

    Args:
        fields: that numbered the words.
        corpus: the papers.
        bags: what ``fields`` gives of title and abstract.
    """
    if isinstance(fields, KnownPapers) and fields.corpus == corpus.version and fields.together is not None:
        return fields.together
    return title_and_abstract(bags)
