"""Reads a PDF, or the text of one, in a process of its own: see :mod:`cocite.bounded_process`."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from cocite.bounded_process import MEMORY, answer_apart, bound_process, error_answer, memory_error
from cocite.corpus.articles.article import Article, article_of
from cocite.corpus.articles.limits import HINT, MAX_FILE_BYTES, MAX_SECONDS, ReadingBudget
from cocite.errors import InputError

_ARTICLE: TypeAdapter[Article] = TypeAdapter(Article)


def read_article(
    data: bytes,
    *,
    last_year: int,
    is_text: bool = False,
    seconds: float = MAX_SECONDS,
    memory: int = MEMORY,
) -> Article:
    """Read a PDF, or the text that another program took out of one, in another process.

    Args:
        data: the file.
        is_text: whether it is a text.
        last_year: the latest year of publication that may be true.
        seconds: that the reading may take.
        memory: bytes that it may take.

    Raises:
        InputError: the file is too large, no PDF, encrypted, without text, or takes too much time or memory.

    Example:
        >>> read_article(b"Trees", last_year=2030)
        Traceback (most recent call last):
        cocite.errors.InputError: is no .pdf that can be read (make it anew, or use its source)
    """
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"has more than {MAX_FILE_BYTES >> 20} MiB", hint="leave out its pictures")
    job = {
        "data": base64.b64encode(data).decode(),
        "last_year": last_year,
        "is_text": is_text,
        "seconds": seconds,
        "memory": memory,
    }
    answer = answer_apart(
        "cocite.corpus.articles.reader_process", job, seconds=seconds, noun=ReadingBudget.noun, hint=HINT
    )
    return _ARTICLE.validate_python(answer["article"])


def read_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`read_article` gets back: the article, or why it cannot be read.

    Example:
        >>> job = {"data": "", "last_year": 2030, "is_text": False, "seconds": 5, "memory": MEMORY}
        >>> read_job(job)["error"]["message"]
        'is no .pdf that can be read'
    """
    # Who waits for the answer needs no parser.
    from cocite.corpus.articles.pages import read_pages
    from cocite.corpus.articles.text_pages import read_text_pages

    budget = ReadingBudget("", job["seconds"])
    try:
        read = read_text_pages if job["is_text"] else read_pages
        pages = read(base64.b64decode(job["data"]), "", budget=budget)
        article = article_of(pages, last_year=job["last_year"], check=budget.check_time)
    except InputError as error:
        return error_answer(error)
    except MemoryError:
        return error_answer(memory_error(job["memory"], noun=ReadingBudget.noun, hint=HINT))
    return {"article": _ARTICLE.dump_python(article, mode="json")}


if __name__ == "__main__":
    own_job = json.load(sys.stdin.buffer)
    importlib.import_module("cocite.corpus.articles.pages")  # its code is no memory that the file takes
    bound_process(own_job["seconds"], own_job["memory"])
    sys.stdout.write(json.dumps(read_job(own_job)))
