"""The inner loops over postings, lists and bytes, compiled by Numba.

SciPy and FAISS have no operation that reads the heads of inverted lists only, or that scores chosen documents against
several queries in one pass over their words. Callers check the arguments: a kernel does not look whether a row lies
inside its arrays.
"""

# Without annotations: Numba infers the types, and mypy does not read what it compiles.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from cocite.compiled import compiled


@compiled
def order_by_weight(indptr, rows, weights, first, last):
    """Sort the postings of words ``first : last`` in place: descending weight, equal weights by ascending row."""
    for word in range(first, last):
        begin, end = indptr[word], indptr[word + 1]
        if end - begin > 1:
            order = np.argsort(-weights[begin:end], kind="mergesort")
            rows[begin:end] = rows[begin:end][order]
            weights[begin:end] = weights[begin:end][order]


@compiled
def heads(indptr, weights, words, factors, budget):
    """(S,) how many postings of each word are read so that about ``budget`` are: those that add most to a score.

    A binary search finds the least contribution, factor times weight, that at most ``budget`` postings reach.
    """
    count = len(words)
    ends = np.empty(count, np.int64)
    total, highest = 0, 0.0
    for j in range(count):
        begin, end = indptr[words[j]], indptr[words[j] + 1]
        ends[j] = end - begin
        total += end - begin
        if end > begin:
            highest = max(highest, factors[j] * weights[begin])
    if total <= budget:
        return ends
    low, high = 0.0, highest
    for _ in range(24):
        middle = (low + high) / 2
        total = 0
        for j in range(count):
            total += _reaching(indptr, weights, words[j], middle / factors[j])
            if total > budget:
                break
        if total > budget:
            low = middle
        else:
            high = middle
    for j in range(count):
        ends[j] = min(budget, _reaching(indptr, weights, words[j], high / factors[j]))
        budget -= ends[j]  # postings of equal weight can be more than the budget
    return ends


@compiled
def _reaching(indptr, weights, word, least):
    """How many postings of a word weigh at least ``least``: they stand first in its list."""
    begin, end = indptr[word], indptr[word + 1]
    # In steps that double, from the head: what a query reads of a long list is short, and its pages lie together.
    low, step = begin, 1
    while low + step <= end and weights[low + step - 1] >= least:
        low += step
        step *= 2
    high = min(low + step - 1, end)
    while low < high:
        middle = (low + high) // 2
        if weights[middle] >= least:
            low = middle + 1
        else:
            high = middle
    return low - begin


@compiled
def accumulate(indptr, rows, weights, words, factors, ends, scores, touched):
    """Add the heads of the words' lists to ``scores`` (N,), which holds zeros before; ``touched`` has room for N + 1.

    Returns:
        ``(count, highest)``: every row that is not zero afterwards is in ``touched[:count]``, once; the highest score.
    """
    count = 0
    highest = np.float32(0)
    for j in range(len(words)):
        begin = indptr[words[j]]
        factor = factors[j]
        for position in range(begin, begin + ends[j]):
            row = rows[position]
            share = factor * weights[position]
            before = scores[row]
            # Without a branch: a wrong guess would let the processor wait for this row's score before it asks for the
            # next one's. A share that float32 rounds to 0 would enter its row twice.
            touched[count] = row
            count += int((before == 0) & (share > 0))
            after = before + share
            scores[row] = after
            highest = max(highest, after)
    return count, highest


@compiled
def keep_postings(indptr, rows, weights, renumbered, kept_ptr, kept_rows, kept_weights):
    """Copy the postings of the documents that have a new number; ``renumbered`` (N,) is -1 for the others.

    The order within a word stays. Fills the last three arrays, of which ``kept_ptr`` begins with 0.
    """
    end = 0
    for word in range(len(indptr) - 1):
        for position in range(indptr[word], indptr[word + 1]):
            row = renumbered[rows[position]]
            if row >= 0:
                kept_rows[end] = row
                kept_weights[end] = weights[position]
                end += 1
        kept_ptr[word + 1] = end


@compiled
def merge_postings(
    indptr,
    rows,
    weights,
    more_ptr,
    more_rows,
    more_weights,
    documents,
    merged_ptr,
    merged_rows,
    merged_weights,
):
    """Merge the postings of more documents, which stand behind the ``documents`` present ones, into the lists.

    Both stand in order of weight; equal weights by ascending row. Fills the last three arrays, of which ``merged_ptr``
    begins with 0.
    """
    end = 0
    for word in range(len(more_ptr) - 1):
        first, last = indptr[word], indptr[word + 1]
        for position in range(more_ptr[word], more_ptr[word + 1]):
            weight = more_weights[position]
            while first < last and weights[first] >= weight:
                merged_rows[end] = rows[first]
                merged_weights[end] = weights[first]
                end += 1
                first += 1
            merged_rows[end] = more_rows[position] + documents
            merged_weights[end] = weight
            end += 1
        while first < last:
            merged_rows[end] = rows[first]
            merged_weights[end] = weights[first]
            end += 1
            first += 1
        merged_ptr[word + 1] = end


@compiled
def add_lists(indptr, rows, weights, query_ptr, words, factors, scores):
    """Add all postings of each query's words to its row of ``scores`` (Q, N)."""
    for query in range(len(query_ptr) - 1):
        row_scores = scores[query]
        for j in range(query_ptr[query], query_ptr[query + 1]):
            factor = factors[j]
            for position in range(indptr[words[j]], indptr[words[j] + 1]):
                row_scores[rows[position]] += factor * weights[position]


@compiled
def take_best(scores, touched, highest, allowed, k):
    """The up to ``k`` touched rows of the highest positive scores, best first; equal scores by ascending row.

    ``scores`` are zeros again afterwards. A histogram of the scores, none of which is above ``highest``, finds the cut,
    so that only about ``k`` rows are sorted. ``allowed`` (N,) marks the rows that may be returned; if it is empty, all.
    """
    bins = 4096
    scale = np.float32((bins - 1) / max(highest, np.float32(1e-30)))
    histogram = np.zeros(bins, np.int64)
    values = np.empty(len(touched), np.float32)
    for i in range(len(touched)):
        row = touched[i]
        score = scores[row]
        scores[row] = 0
        if len(allowed) and not allowed[row]:
            score = np.float32(0)
        values[i] = score
        if score > 0:
            histogram[int(score * scale)] += 1
    cut, reached = bins - 1, histogram[bins - 1]
    while reached < k and cut > 0:
        cut -= 1
        reached += histogram[cut]
    chosen = np.empty(reached, np.int32)
    best = np.empty(reached, np.float32)
    count = 0
    for i in range(len(touched)):
        if values[i] > 0 and int(values[i] * scale) >= cut:
            chosen[count] = touched[i]
            best[count] = values[i]
            count += 1
    by_row = np.argsort(chosen, kind="mergesort")
    chosen, best = chosen[by_row], best[by_row]
    order = np.argsort(-best, kind="mergesort")[:k]
    return chosen[order], best[order]


@compiled
def list_entries(indptr, entries, lists):
    """(m,) all entries of the chosen lists, each as ``entry << 32 | j`` of the j-th list; entries are not negative."""
    size = 0
    for j in range(len(lists)):
        size += indptr[lists[j] + 1] - indptr[lists[j]]
    result = np.empty(size, np.uint64)
    count = 0
    for j in range(len(lists)):
        for position in range(indptr[lists[j]], indptr[lists[j] + 1]):
            result[count] = np.uint64(entries[position]) << np.uint64(32) | np.uint64(j)
            count += 1
    return result


@compiled
def sum_entries(listed, values):
    """The distinct entries among what :func:`list_entries` gave, sorted, and the sums of their lists' ``values``.

    Returns:
        ``(entries, sums)``: the entries ascend; the sums are made in 64 bits.
    """
    count = 0
    for i in range(len(listed)):
        if i == 0 or listed[i] >> np.uint64(32) != listed[i - 1] >> np.uint64(32):
            count += 1
    entries, sums = np.empty(count, np.int32), np.empty(count, np.float32)
    at, total = -1, 0.0
    for i in range(len(listed)):
        if i == 0 or listed[i] >> np.uint64(32) != listed[i - 1] >> np.uint64(32):
            at, total = at + 1, 0.0
            entries[at] = listed[i] >> np.uint64(32)
        total += values[listed[i] & np.uint64(0xFFFFFFFF)]
        sums[at] = total
    return entries, sums


@compiled
def hash_texts(offsets, data):
    """(n,) FNV-1a of 64 bits (Fowler, Noll, Vo) of texts; text i is the bytes ``offsets[i] : offsets[i + 1]``."""
    result = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(result)):
        value = np.uint64(0xCBF29CE484222325)
        for position in range(offsets[i], offsets[i + 1]):
            value = (value ^ np.uint64(data[position])) * np.uint64(0x100000001B3)
        result[i] = value
    return result
