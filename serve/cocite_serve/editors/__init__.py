"""The language server of `cocite language-server`, by which editors complete citations.

:mod:`.cursor` finds the citation at the cursor, :mod:`.surroundings` reads the text around it, :mod:`.head` the
draft's title, abstract and bibliographies, :mod:`.references` the .bib files. :mod:`.completions` makes the items of
these, :mod:`.entries` the edit that adds an entry, :mod:`.texts` what is shown, and :mod:`.server` speaks the Language
Server Protocol.
"""
