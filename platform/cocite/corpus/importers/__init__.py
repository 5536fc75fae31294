"""Importers: each reads one format and yields records with their positions in the source.

=================  ==============================================================================================
format             source
=================  ==============================================================================================
``jsonl``          cocite's own JSON lines: papers, contexts, sentences, citations
``parquet``        a folder of ``papers.parquet``, ``citations.parquet``, ``contexts.parquet``, ``sentences-*.parquet``
``s2``             Semantic Scholar: S2AG ``papers``, ``abstracts``, ``citations`` and S2ORC full texts
``openalex``       OpenAlex works, as JSON lines or pages of the API
``citeomatic``     Citeomatic's JSON lines
``aminer``         AMiner's DBLP citation network, versions 10 to 14
``crossref``       Crossref works: JSON lines, pages of the API, the public data file
``arxiv``          arXiv's metadata snapshot
``unarxive``       unarXive's full texts of arXiv, in the form of 2022
``acl-anthology``  the XML of the ACL Anthology, a file for each collection
``grobid``         a folder of TEI that GROBID made of PDFs, a file for each paper
``pdf``            a folder of PDFs, a file for each paper
``pdf-text``       a folder of the texts of PDFs, likewise
``hatten``         HAtten's ACL-200, FullTextPeerRead, RefSeer and arXiv: a folder of JSON files with splits
``bibtex``         BibTeX bibliographies
``ris``            RIS, of reference managers and publishers
``endnote``        EndNote's XML
``zotero-rdf``     Zotero RDF
``csl-json``       CSL-JSON, of Zotero, Pandoc and citation processors
``csv``            tables: CSV, or with tabs or semicolons
=================  ==============================================================================================

A source is a file or a folder of files; each may be compressed (gzip, xz, zstd, bzip2), and JSON may stand in lines, in
an array or in documents over several lines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cocite.corpus.importers.acl_anthology import ACLAnthology
from cocite.corpus.importers.aminer import AMiner
from cocite.corpus.importers.arxiv_metadata import ArXiv
from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.importers.citeomatic import Citeomatic
from cocite.corpus.importers.crossref import Crossref
from cocite.corpus.importers.csl import CSL
from cocite.corpus.importers.detect import check_format, detect
from cocite.corpus.importers.endnote import EndNote
from cocite.corpus.importers.grobid import Grobid
from cocite.corpus.importers.hatten import Hatten
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.importers.openalex import OpenAlex
from cocite.corpus.importers.parquet import NativeParquet
from cocite.corpus.importers.pdf import PDFs, PDFTexts
from cocite.corpus.importers.ris import RIS
from cocite.corpus.importers.semantic_scholar import SemanticScholar
from cocite.corpus.importers.source import Source
from cocite.corpus.importers.table import Table, parse_columns
from cocite.corpus.importers.unarxive import UnarXive
from cocite.corpus.importers.zotero_rdf import ZoteroRDF
from cocite.errors import InputError, NotFoundError, nearest

__all__ = ["FORMATS", "detect", "open_source"]

FORMATS: dict[str, Callable[[Path], Source]] = {
    "jsonl": NativeJSONL,
    "parquet": NativeParquet,
    "s2": SemanticScholar,
    "openalex": OpenAlex,
    "citeomatic": Citeomatic,
    "aminer": AMiner,
    "crossref": Crossref,
    "arxiv": ArXiv,
    "unarxive": UnarXive,
    "acl-anthology": ACLAnthology,
    "grobid": Grobid,
    "pdf": PDFs,
    "pdf-text": PDFTexts,
    "hatten": Hatten,
    "bibtex": BibTeX,
    "ris": RIS,
    "endnote": EndNote,
    "zotero-rdf": ZoteroRDF,
    "csl-json": CSL,
    "csv": Table,
}


def open_source(path: str | Path, format: str | None = None, columns: str | None = None) -> Source:
    """Open a source; its format is detected unless given.

    Args:
        path: a file or folder.
        format: one of ``FORMATS``.
        columns: of a table: ``field=column,...``; None: columns have the names of fields.

    Raises:
        InputError: there is no such source, its format is not recognised, or its records are clearly of another format
            than the given one.
    """
    path = Path(path)
    if not path.exists():
        raise NotFoundError("no such file or folder", where=str(path))
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}", where="--format", hint=nearest(format, FORMATS))
    if columns is not None:
        if format not in (None, Table.format):
            raise InputError(f"only a table has columns, not {format}", where="--columns")
        return Table(path, parse_columns(columns))
    if format is None:
        format = detect(path)
    else:
        check_format(path, format)
    return FORMATS[format](path)
