"""The .bbl of biblatex."""

from __future__ import annotations

import pytest

from cocite.drafts.biblatex_bbl import biblatex_papers

HEAD = r"""% $ biblatex auxiliary file $
% $ biblatex bbl format version 3.3 $
% Do not modify the above lines!
\begingroup
\makeatletter
\@ifundefined{ver@biblatex.sty}{\@latex@error{Missing 'biblatex' package}{It is needed.}\aftergroup\endinput}{}
\endgroup

\refsection{0}
  \datalist[entry]{nty/global//global/global/global}
"""
NEW = r"""    \entry{lee}{inproceedings}{}{}
      \name{author}{3}{}{%
        {{un=0,uniquepart=base,hash=aa}{%
           family={L{\'e}e},
           familyi={L\bibinitperiod},
           given={Ann\bibnamedelima B.},
           giveni={A\bibinitperiod\bibinitdelim B\bibinitperiod},
           givenun=0}}%
        {{hash=bb}{%
           family={Berg},
           given={Bo},
           prefix={van\bibnamedelima den},
           suffix={Jr}}}%
        {{hash=cc}{%
           family={The Parsing {Group}}}}%
      }
      \list{publisher}{1}{%
        {Somewhere Press}%
      }
      \field{booktitle}{Proceedings of Nowhere}
      \field{subtitle}{A 50\% survey}
      \field{title}{Parsing {Trees}}
      \field{year}{1999}
      \field{dateera}{ce}
      \verb{doi}
      \verb 10.1000/a_b%c
      \endverb
    \endentry
"""
OLD = r"""    \entry{kim}{article}{}
      \name{labelname}{1}{}{%
        {{}{Kim}{K\bibinitperiod}{Bo}{B\bibinitperiod}{}{}{}{}}%
      }
      \name{author}{2}{}{%
        {{hash=dd}{Kim}{K\bibinitperiod}{Bo}{B\bibinitperiod}{}{}{}{}}%
        {{hash=ee}{Horn}{H\bibinitperiod}{Cem}{C\bibinitperiod}{von}{v\bibinitperiod}{}{}}%
      }
      \field{journaltitle}{Journal of Words}
      \field{title}{Words}
      \field{year}{2003}
      \field{eprinttype}{arxiv}
      \verb{eprint}
      \verb 1501.00001
      \endverb
    \endentry
"""
TAIL = r"""  \enddatalist
\endrefsection
\endinput
"""


def test_the_fields_are_those_of_a_bib_file() -> None:
    lee, kim = biblatex_papers(HEAD + NEW + OLD + TAIL)
    assert (lee.id, lee.title, lee.year, lee.venue) == (
        "lee",
        "Parsing Trees: A 50% survey",
        1999,
        "Proceedings of Nowhere",
    )
    assert lee.authors == ("Ann B. Lée", "Bo van den Berg Jr", "The Parsing Group")
    assert lee.doi == "10.1000/a_b%c"
    assert (kim.title, kim.authors, kim.year) == ("Words", ("Bo Kim", "Cem von Horn"), 2003)
    assert kim.doi == "10.48550/arXiv.1501.00001"


def test_an_entry_of_several_lists_counts_once_and_other_keys_name_it() -> None:
    aliases = r"\keyalias{lee99}{lee} \keyalias{gone}{nowhere}"
    assert [one.id for one in biblatex_papers(HEAD + NEW + OLD + NEW + aliases + TAIL)] == [
        "lee",
        "kim",
        "lee99",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        r"\entry{a}{set}{}{} \set{lee,kim} \endentry",
        r"\entry{a}{misc}{}{} \field{title}{Never ended}",
        r"\entry{a}{misc}{}{} \field{title}{Never closed \endentry",
        r"\begin{thebibliography}{1}\bibitem{a} Trees.\end{thebibliography}",
    ],
)
def test_what_is_no_entry_is_none(text: str) -> None:
    assert list(biblatex_papers(text)) == []


def test_names_that_are_broken_leave_the_title() -> None:
    people = r"\name{author}{2}{}{{{hash=a}{family={Lee}, given={Ann}{}}{hash=b}"
    [paper] = biblatex_papers(rf"\entry{{a}}{{misc}}{{}}\field{{title}}{{Trees}}{people}\endentry")
    assert (paper.title, paper.authors) == ("Trees", ())
