"""Which papers train, which tune, which test."""
from __future__ import annotations
from collections.abc import Callable


def parse_years(text: str) -> tuple[int, int]:
    a, b = text.split(",")
    return int(a), int(b)

def by_year_name(train_until: int, dev_until: int) -> Callable[[int], str]:
    return lambda year: "" if year == 0 else "train" if year <= train_until else "dev" if year <= dev_until else "test"
