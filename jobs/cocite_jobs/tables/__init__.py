"""The tables of the papers, for any corpus."""
