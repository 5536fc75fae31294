"""The inner loops that pack the word counts of documents, read them again and score by them, compiled by Numba.

:mod:`~cocite.retrieval.engines.packed_counts` says what the arrays hold. The matrices that are packed have their
columns in ascending order within each row.
"""

# Without annotations: Numba infers the types, and mypy does not read what it compiles.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from cocite.compiled import compiled

RARE = 255
"""The code of an entry whose counts stand in the table of rare ones."""
LONG = 16
"""A document with more words than this many times the query's is searched word by word, not read from end to end."""
AHEAD = 32
"""Documents whose words are fetched together, before they are scored."""
LINE = 16
"""Entries of a cache line."""


@compiled
def code_of(outer, inner):
    """The code of an entry's two counts: pairs of which the inner is at most the outer one are numbered in a triangle.

    0 is (1, 0), 1 is (1, 1), 2 is (2, 0), and so on; a pair without a number below 255 has the code :data:`RARE`.
    """
    if inner < 0 or inner > outer or outer > 22:
        return RARE
    return min(outer * (outer + 1) // 2 - 1 + inner, RARE)


@compiled
def pack(outer, inner, first, last, entries, documents, rare):
    """Merge the rows ``first : last`` of two matrices entry by entry.

    Args:
        outer, inner: ``(indptr, indices, data)`` of each.
        first, last: rows.
        entries: has room for all entries of both.
        documents: (last - first,) their starts, counted from the first entry, and lengths are written into it.
        rare: has room for all entries of both.

    Returns:
        How many entries there are, and how many of them are rare.
    """
    count = rares = 0
    for row in range(first, last):
        i, i_end = outer[0][row], outer[0][row + 1]
        j, j_end = inner[0][row], inner[0][row + 1]
        document = documents[row - first]
        document.start = count
        document.outer = 0
        document.inner = 0
        while i < i_end or j < j_end:
            word = np.int64(outer[1][i]) if i < i_end else np.int64(inner[1][j])
            if j < j_end:
                word = min(word, np.int64(inner[1][j]))
            times = part = np.int64(0)
            if i < i_end and outer[1][i] == word:
                times = np.int64(outer[2][i])
                i += 1
            if j < j_end and inner[1][j] == word:
                part = np.int64(inner[2][j])
                j += 1
            document.outer += times
            document.inner += part
            if times == 0 and part == 0:
                continue
            code = code_of(times, part)
            if code == RARE:
                rare[rares].at = count
                rare[rares].outer = times
                rare[rares].inner = part
                rares += 1
            entries[count] = np.uint64(word) << np.uint64(8) | np.uint64(code)
            count += 1
    return count, rares


@compiled
def find_rare(position, rare):
    """Where the counts of a rare entry stand in their table."""
    low, high = 0, len(rare)
    while low < high:
        middle = (low + high) // 2
        if rare[middle].at < position:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def count_of(entry, position, inner, of_code, rare):
    """How often a field of the document holds the word of an entry; 0 where only the other field holds it.

    Args:
        entry: packed.
        position: of the entry, by which a rare one is found.
        inner: whether the inner field is asked for.
        of_code: (256,) the count that each code stands for in this field.
        rare: the table of rare counts.
    """
    code = np.int64(entry) & 255
    if code != RARE:
        return np.int64(of_code[code])
    at = find_rare(position, rare)
    return np.int64(rare[at].inner) if inner else np.int64(rare[at].outer)


@compiled
def sizes_of(documents, entries, rare, inner, of_code, rows, indptr):
    """Fill ``indptr`` (n + 1,) of the matrix of one field of some documents, ``rows`` (n,)."""
    total = np.int64(0)
    indptr[0] = 0
    for i in range(len(rows)):
        for position in range(documents[rows[i]].start, documents[rows[i] + 1].start):
            total += count_of(entries[position], position, inner, of_code, rare) != 0
        indptr[i + 1] = total


@compiled
def unpack(documents, entries, rare, inner, of_code, rows, words, times):
    """Fill the words and counts of one field of some documents, which :func:`sizes_of` has counted."""
    at = 0
    for i in range(len(rows)):
        for position in range(documents[rows[i]].start, documents[rows[i] + 1].start):
            count = count_of(entries[position], position, inner, of_code, rare)
            if count != 0:
                words[at] = np.int64(entries[position]) >> 8
                times[at] = count
                at += 1


@compiled
def copy_documents(documents, entries, rare, rows, copied_documents, copied_entries, copied_rare):
    """Copy some documents, ``rows`` (n,), into the last three arrays, which have room for just these."""
    count = rares = 0
    for i in range(len(rows)):
        copy = copied_documents[i]
        copy.start = count
        copy.outer = documents[rows[i]].outer
        copy.inner = documents[rows[i]].inner
        for position in range(documents[rows[i]].start, documents[rows[i] + 1].start):
            copied_entries[count] = entries[position]
            if np.int64(entries[position]) & 255 == RARE:
                copied_rare[rares].at = count
                at = find_rare(position, rare)
                copied_rare[rares].outer = rare[at].outer
                copied_rare[rares].inner = rare[at].inner
                rares += 1
            count += 1
    copied_documents[len(rows)].start = count


@compiled
def count_holding(entries, rare, inner, of_code, holding):
    """Add to ``holding`` (V,) how many documents hold each word in one field."""
    for position in range(len(entries)):
        if count_of(entries[position], position, inner, of_code, rare) != 0:
            holding[np.int64(entries[position]) >> 8] += 1


@compiled
def _fetch(documents, entries, rows, first, last):
    """Read an entry of each cache line of some documents: the processor waits for many lines at once, not for each."""
    sink = np.int64(0)
    for i in range(first, last):
        if rows[i] >= 0:
            sink ^= documents[rows[i]].start
    for i in range(first, last):
        if rows[i] >= 0:
            for position in range(documents[rows[i]].start, documents[rows[i] + 1].start, LINE):
                sink ^= np.int64(entries[position])
    return sink


@compiled
def score_documents(
    documents,
    entries,
    rare,
    inner,
    of_code,
    idf,
    mean,
    k1,
    b,
    rows,
    less,
    shorter,
    words,
    times,
    slots,
    present,
    scores,
):
    """BM25 of one field of chosen documents for F queries at once.

    Fills ``scores`` (F, n), whose rows below 0 stay as they are. Document i lacks ``shorter[i]`` of its words and
    ``less[i, s]`` of each of the queries' words; nothing where ``less`` is empty.

    ``words`` (S,) are the queries' words, ascending; ``times`` (S, F) how often each query has each. ``slots`` (V,)
    takes the position of each of the queries' words. ``present`` holds a bit for each word of the vocabulary, 0 before
    and afterwards: most words of a document are none of the query's, and the bits fit into a core's first cache.
    """
    asked, queries = len(words), times.shape[1]
    total = np.empty(queries)
    shared = np.empty(1024, np.int64)
    rarity = np.empty(asked)
    for s in range(asked):
        slots[words[s]] = s
        rarity[s] = idf[words[s]]
        present[words[s] >> 6] |= np.uint64(1) << np.uint64(words[s] & 63)
    fetched, sink = 0, np.int64(0)
    for i in range(len(rows)):
        if i == fetched:
            fetched = min(i + AHEAD, len(rows))
            sink ^= _fetch(documents, entries, rows, i, fetched)
        row = rows[i]
        if row < 0:
            continue
        begin, end = documents[row].start, documents[row + 1].start
        length = float(documents[row].inner if inner else documents[row].outer)
        if len(less):
            length -= shorter[i]
        saturation = k1 * (1 - b + b * length / mean)
        total[:] = 0
        if end - begin > LONG * asked:
            low = begin
            for s in range(asked):
                word = words[s]
                high = end
                while low < high:
                    middle = (low + high) // 2
                    if np.int64(entries[middle]) >> 8 < word:
                        low = middle + 1
                    else:
                        high = middle
                if low == end:
                    break
                if np.int64(entries[low]) >> 8 == word:
                    count = float(count_of(entries[low], low, inner, of_code, rare))
                    if len(less):
                        count -= less[i, s]
                    weight = rarity[s] * count / max(count + saturation, 1e-30)
                    for f in range(queries):
                        total[f] += weight * times[s, f]
        else:
            # First the positions of shared words, without a branch that the processor would mostly guess wrong.
            if len(shared) < end - begin:
                shared = np.empty(2 * (end - begin), np.int64)
            found = np.int64(0)
            for position in range(begin, end):
                word = np.int64(entries[position]) >> 8
                shared[found] = position
                found += np.int64((present[word >> 6] >> np.uint64(word & 63)) & np.uint64(1))
            for j in range(found):
                position = shared[j]
                s = slots[np.int64(entries[position]) >> 8]
                count = float(count_of(entries[position], position, inner, of_code, rare))
                if len(less):
                    count -= less[i, s]
                weight = rarity[s] * count / max(count + saturation, 1e-30)
                for f in range(queries):
                    total[f] += weight * times[s, f]
        for f in range(queries):
            scores[f, i] = total[f]
    for s in range(asked):
        present[words[s] >> 6] = 0
    return sink  # so that the compiler keeps what fetches
