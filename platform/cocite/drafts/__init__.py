"""Drafts of authors: read from LaTeX, Markdown, Word or plain text, answered gap by gap, and completed."""
