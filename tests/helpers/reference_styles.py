"""A small style of CSL."""

from __future__ import annotations

BIBLIOGRAPHY = """
  <bibliography>
    <layout suffix=".">
      <text variable="citation-number" prefix="[" suffix="] "/>
      <group delimiter=", ">
        <names variable="author"><name and="text" initialize-with=". " name-as-sort-order="all"/></names>
        <text variable="title" quotes="true"/>
        <text variable="container-title" font-style="italic"/>
        <date variable="issued"><date-part name="year" font-weight="bold"/></date>
        <text variable="DOI" prefix="https://doi.org/"/>
      </group>
    </layout>
  </bibliography>"""


def style_of(bibliography: str, attributes: str = "", info: str = "") -> str:
    """A style with a bibliography, or without one where it is ""."""
    return f"""<?xml version="1.0" encoding="utf-8"?>
<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0" {attributes}>
  <info><title>A small style</title><id>urn:small</id><updated>2026-01-01T00:00:00+00:00</updated>{info}</info>
  <citation><layout><text variable="citation-number"/></layout></citation>{bibliography}
</style>
"""
