"""Reports what a share holds to the import's log, once it is known which of its ids are repeated ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.citation_sample import CitationSample, SampledCitation
from cocite.corpus.hits import Hit
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.share import Share


def report_share(
    share: Share,
    is_new: NDArray[np.bool_],
    is_new_context: NDArray[np.bool_],
    log: RuleLog,
    lines: int = 0,
) -> None:
    """Report the hits of a share, in the order of its records.

    Args:
        share: its hits are placed in the whole source.
        is_new: (papers of the share,) whether the id is not that of an earlier paper.
        is_new_context: (contexts of the share,) likewise.
        log: of the import.
        lines: before the share, which the lines of its tables do not count.

    Raises:
        InputError: a record of it breaks a rule, and the log is strict.
    """
    repeated = "an earlier paper has this id; the first is kept"
    hits = _repeated(share, "papers", is_new, "duplicate_id", repeated, lines)
    repeated = "an earlier context has this id; the first is kept"
    hits += _repeated(share, "contexts", is_new_context, "duplicate_context", repeated, lines)
    known = (hit for hit in share.hits if hit.owner < 0 or is_new[hit.owner])
    for hit in sorted([*known, *hits], key=lambda hit: hit.sequence):
        hit.report(log)


def kept_rows(table: pa.RecordBatch, keep: NDArray[np.bool_]) -> pa.RecordBatch:
    """The rows that are marked."""
    return table if keep.all() else table.filter(pa.array(keep))


def kept_links(links: pa.RecordBatch, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which links are of a paper whose id is new, or of no paper.

    Args:
        links: of a share.
        kept: (papers of the share,) whether their id is new.
    """
    owner = links["owner"].to_numpy()
    # Of links without an owner the last row is looked up, and not used.
    return np.asarray((owner < 0) | kept[owner] if len(kept) else owner < 0)


def sample_citations(
    sample: CitationSample, links: pa.RecordBatch, files: Sequence[str], lines: int = 0
) -> None:
    """Put the citations of a share into the sample.

    Args:
        sample: of the import.
        links: of the share, of papers that are kept.
        files: of the share.
        lines: before the share, which its links do not count.
    """
    cited = links["cited"].flatten().to_numpy()
    wanted = sample.wanted(cited)
    owner = np.repeat(
        np.arange(links.num_rows), links["cited"].value_lengths().to_numpy(zero_copy_only=False)
    )
    rows = pa.array(owner[wanted])
    for hash_, citing, named, file, line in zip(
        cited[wanted].tolist(),
        links["citing_id"].take(rows).to_pylist(),
        links["cited_ids"].flatten().take(pa.array(wanted)).to_pylist(),
        links["file"].take(rows).to_pylist(),
        links["line"].take(rows).to_pylist(),
        strict=True,
    ):
        if sample.wants(hash_):
            names = [name.decode("utf-8", "surrogatepass") for name in (citing, named)]
            sample.add(hash_, SampledCitation(names[0], names[1], files[file], line + lines))


def _repeated(
    share: Share, name: str, is_new: NDArray[np.bool_], rule: str, reason: str, lines: int
) -> list[Hit]:
    """The hits of a rule for the rows of a table whose ids an earlier one has."""
    if is_new.all():
        return []
    rows = share.tables[name].filter(pc.invert(pa.array(is_new)))
    return [
        Hit(
            row["sequence"],
            rule,
            reason,
            share.files[row["file"]],
            row["line"] + lines,
            {"field": "id", "id": row["id"]},
        )
        for row in rows.select(["id", "sequence", "file", "line"]).to_pylist()
    ]
