"""Words as numbers in one pass:  code_i = how many distinct words stood before the first that equals word i.

A word is a row of characters (n, L), padded by zeros, as NumPy keeps it. The table is open-addressed, its size a
power of two. Cost O(nL), where sorting the words would compare each of them log n times.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop

OFFSET, PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # Fowler, Noll and Vo's


@loop
def code_words(words, codes, first, table):
    """Write the codes, and where each distinct word stood ``first``; how many there are, −1 where more than fit.

    ``table`` comes filled with −1, and is at least twice as long as ``first``.
    """
    n, length = words.shape
    mask = np.uint64(table.shape[0] - 1)
    count = 0
    for i in range(n):
        h = OFFSET
        for j in range(length):
            if words[i, j] == 0:
                break
            h = (h ^ np.uint64(words[i, j])) * PRIME
        at = (h ^ (h >> np.uint64(32))) & mask
        while True:
            k = table[at]
            if k < 0:
                if count == first.shape[0]:
                    return -1
                table[at], first[count], codes[i] = count, i, count
                count += 1
                break
            same, other = True, first[k]
            for j in range(length):
                if words[other, j] != words[i, j]:
                    same = False
                    break
            if same:
                codes[i] = k
                break
            at = (at + np.uint64(1)) & mask
    return count
