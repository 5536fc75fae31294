"""Papers whose titles, names and venues hold what makes references hard to write and to read."""

from __future__ import annotations

import random
import re

from cocite.corpus.records import PaperRecord

_WORDS = r"""
Über naïve Erdős–Rényi Łódź Ångström Škoda Việt ελληνικά русский 中文信息 日本語 한국어 עברית العربية हिन्दी BERT GPT-3
LaTeX iPhone AT&T C# F_1 50% $n^2$ $O(n\log{n})$ $\{a\}$ H$_2$O \(k\) US$5 $6.50 {braces} {open close} "quoted" 'single'
``tex'' a--b x---y ~tilde ^hat back\slash <b>bold</b> 5>4 #tag @home (see) [n] e.g. what?` !` and others 1/2 a=b, c; for
with of the A learning models translation parsing evaluation https://example.org/a_b?c=d&e=%20f
""".split()
_AUTHORS = """
Ludwig van Beethoven|Charles de Gaulle|Jörg Müller|José Ramón Álvarez Núñez|王小明|Łukasz Kaiser|Yann Le Cun
Martin Luther King Jr.|Robert Downey, Jr.|William Strunk III|Barnes and Noble|Sea and Land Research Group|OpenAI
Österreichische Akademie der Wissenschaften|O'Brien|Conan O’Brien|R. C. M. van der Goot|d'Alembert|Nguyễn Văn A
Jean-Luc Picard|others|Ann {Curly} Brace|Bo_under Score|AND Logic|Team 50% Off & Co|Plato|Σωκράτης|Google, Inc.
"""
_VENUES = """
ACL|TACL|Computational Linguistics|Proceedings of the 5th Workshop on X & Y|J. R. Stat. Soc. B|NeurIPS|CoRR
arXiv preprint arXiv:1706.03762 [cs.CL]|Schriften der Universität Köln|C# Quarterly
"""
_DOIS = """
10.18653/v1/P19-1001|10.1007/978-3-540-74126-8_12|10.48550/arXiv.1810.04805|10.1000/a--b#c%d&e~f^g
10.1002/(SICI)1097-4571(199009)41:6<391::AID-ASI1>3.0.CO;2-9
"""
AUTHORS, VENUES, DOIS = (re.split(r"[|\n]", text.strip()) for text in (_AUTHORS, _VENUES, _DOIS))


def of_real_shape(count: int) -> list[PaperRecord]:
    """Entries whose fields hold what makes references hard, drawn at random."""
    rng = random.Random(11)

    def words(most: int) -> str:
        return " ".join(rng.choices(_WORDS, k=rng.randint(1, most)))

    return [
        PaperRecord(
            id=f"id{i}",
            title=words(60 if i % 50 == 0 else 12),
            year=rng.choice([0, rng.randint(1600, 2026)]),
            venue=rng.choice([*VENUES, *(words(4) for _ in VENUES), ""]),
            authors=tuple(rng.choices(AUTHORS, k=rng.randint(0, 60 if i % 40 == 0 else 5))),
            keyphrases=tuple(dict.fromkeys(words(3) for _ in range(rng.randint(0, 4)))),
            doi=rng.choice([*DOIS, ""]),
        )
        for i in range(count)
    ]
