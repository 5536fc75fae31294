from __future__ import annotations

import re

from cocite_jobs.svg_figures import new_figure, styled, to_svg


def test_an_svg_scales_to_the_page_and_escapes_its_label() -> None:
    drawing, axes = new_figure(2, 1)
    axes.plot([0, 1], [0, 1])
    text = to_svg(drawing, 'a "b" <c> & d')
    assert text.startswith(
        '<svg role="img" aria-label="a &quot;b&quot; &lt;c> &amp; d" style="width:100%;max-width:'
    )
    assert not re.search(r'<svg[^>]* width="', text)
    assert "viewBox" in text


def test_the_users_matplotlib_style_does_not_matter() -> None:
    import matplotlib as mpl

    seen = []

    @styled
    def draw() -> None:
        seen.append((mpl.rcParams["font.size"], mpl.rcParams["lines.linewidth"]))

    with mpl.rc_context({"font.size": 99.0, "lines.linewidth": 77.0}):
        draw()
        assert mpl.rcParams["font.size"] == 99.0
    assert seen == [(9.0, mpl.rcParamsDefault["lines.linewidth"])]
