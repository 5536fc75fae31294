"""Articles in PDF: their lines, paragraphs and headings, their printed references, and the marks that cite these.

What is read of a file comes back from a process of its own: see :mod:`cocite.corpus.articles.reader_process`.
"""
