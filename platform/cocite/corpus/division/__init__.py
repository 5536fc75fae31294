"""An import whose staged parts are resolved, and whose texts and links are put in order, side by side.

The steps, of which the first and the last are short and belong to one process:

1. :mod:`~cocite.corpus.division.survey` gives rows to the papers of all parts, and finds repeated ids;
2. :mod:`~cocite.corpus.division.resolve_part` resolves a part against all papers, into sorted runs;
3. :mod:`~cocite.corpus.division.order_range` merges what the runs hold of a range of rows;
4. :mod:`~cocite.corpus.division.assembly` joins the ranges to the store's files.

What a step writes are named folders (:mod:`cocite.part_files`), which lie where all machines read them. Of the runs of
a part a range reads the chunks that hold some of it (:mod:`~cocite.corpus.division.runs`).
"""
