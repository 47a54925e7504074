"""TextFeatures as a graph piece:  documents, text (n, 1) → their bags of words (n, V)  (T1, O8).

    letters    a document with a mark behind it is cut into pieces, these into characters, and every character becomes
               the number of its lower-case letter
    words      runs of letters c₀ c₁ …;  h = Σ_i r_i c_i finds the one known word it may be, and its letters are then
               compared with that word's: no other word is ever taken for it
    n-grams    the number of the first m − 1 words and that of the last find the number of m words
    weights    n_ij, [n_ij > 0], or n_ij·idf_j over the row's length

It is what ``TextFeatures.transform`` computes, for every text that UTF-8 can hold: no locale is asked, and classes
and lower case of letters are those of the Python that wrote the graph. A missing document is "". Characters come from
``Tokenizer``, an operation of onnxruntime (com.microsoft), so that the graph needs onnxruntime; the rest is ONNX.
Refused: stems, as of a word never met only the stemmer knows the stem; headers; patterns that are no runs of a class.

Cost: O(1) nodes, O(vocabulary) numbers; some 100 bytes a character at the peak, and 8·n·V bytes twice for the dense
bags, so that very many documents, or a vocabulary of 50,000, are given some hundred rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.files import onnx_letters as letters
from separatrix.files.graph import MICROSOFT, WITH_STRINGS, Cells, Graph, OnnxExportError
from separatrix.tables.text import TextFeatures, _stop_words

PIECE = 100  # characters
# a character that is none; one of no known word; Σ, which has two lower cases
PAD, UNKNOWN, SIGMA = -1, -2, -3
# between words; in a word, but in none that is known; in no word
OUTSIDE, STRANGE, BARRED, LETTERS = 0, 1, 2, 3
BITS = 36  # of h for a letter: 64 million of them sum up below 2⁶³


def text(g: Graph, features: Any, cells: Cells) -> Cells:
    """The piece of a fitted TextFeatures after one column of documents: a matrix (n, V) (T1, O8).

    >>> g = Graph()
    >>> made = text(g, TextFeatures().fit(["a cat", "the dog"]), Cells(g, None, ("X",), (True,), ("X",)))
    >>> {node.domain for node in g.nodes} - {""} == {"ai.onnx.ml", "com.microsoft"}
    True
    """
    if list(cells.words) != [True]:
        raise OnnxExportError(
            "TextFeatures reads one column of documents: put it first, or on its own column"
        )
    return Cells.matrix(g, bags(g, features, cells.column(0)))


def bags(g: Graph, features: TextFeatures, column: str) -> str:
    """Documents (n, 1) → bags of words (n, V)."""
    known = _Known.of(features)
    g.opset = WITH_STRINGS
    documents = g.flat(column)
    code, document = _letters(g, known, documents)
    word, document = _words(g, known, code, document)
    hits = _hits(g, known, word, document)
    n, width = g.size(documents), len(features.vocabulary_)
    zeros = g.op("ConstantOfShape", g.mul(n, np.array([width])), value=g.tensor(np.zeros(1)))
    ones = g.op("ConstantOfShape", g.op("Shape", hits), value=g.tensor(np.ones(1)))
    counts = g.op("ScatterElements", zeros, hits, ones, axis=0, reduction="add")
    counts = g.op("Reshape", counts, g.concat([n, g.const(np.array([width]))], axis=0))
    if features.weighting == "counts":
        return counts
    if features.weighting == "binary":
        return g.op("Min", counts, 1.0)
    weighed = g.mul(counts, features.idf_[None])
    length = g.op("Sqrt", g.op("ReduceSumSquare", weighed, np.array([1]), keepdims=1))
    return g.div(weighed, g.where(g.op("Greater", length, 0.0), length, 1.0))


# ---- what is known before ----


@dataclass(frozen=True, eq=False)
class _Known:
    """The words a graph must tell from others: those of the vocabulary, then stop words, where these part n-grams."""

    runs: letters.Runs
    lowercase: bool
    words: list[str]
    stops: int  # how many of them are stop words
    grams: list[tuple[int, ...]]  # the words of each column
    alphabet: dict[str, int]

    @classmethod
    def of(cls, features: TextFeatures) -> _Known:
        if features.stem is not None:
            raise OnnxExportError(
                f"TextFeatures(stem={features.stem!r}) has no form in ONNX: of a word never met only the stemmer "
                "knows the stem; fit it with stem=None"
            )
        if not (isinstance(features.headers, str) and features.headers == "keep"):
            raise OnnxExportError(
                f"TextFeatures(headers={features.headers!r}) has no form in ONNX here: take the headers off before, "
                'by separatrix.tables.text.without_headers, and fit with headers="keep"'
            )
        runs = letters.runs_of(features.token_pattern)
        names, longest = list(features.vocabulary_), features.ngram_range[1]
        if longest > 1 and runs.member[ord(" ")]:
            raise OnnxExportError(
                f"token_pattern {features.token_pattern!r} finds words with spaces, which cannot be told from runs "
                "of words: fit it with ngram_range=(1, 1)"
            )
        spelled = [tuple(name.split(" ")) if longest > 1 else (name,) for name in names]
        stop = _stop_words(features.stop_words) if longest > 1 else frozenset()
        stops = sorted(w for w in stop if len(w) >= runs.least and all(runs.member[ord(c)] for c in w))
        words = [*sorted({w for gram in spelled for w in gram}), *stops]
        number = {w: i for i, w in enumerate(words)}
        alphabet = {c: i for i, c in enumerate(sorted({c for w in words for c in w}), start=LETTERS)}
        grams = [tuple(number[w] for w in gram) for gram in spelled]
        return cls(runs, bool(features.lowercase), words, len(stops), grams, alphabet)

    def code(self, letter: str) -> int:
        """The number of a letter in lower case."""
        at = ord(letter)
        other = OUTSIDE if not self.runs.joined[at] else STRANGE if self.runs.member[at] else BARRED
        return self.alphabet.get(letter, other)

    def table(self) -> dict[str, int]:
        """Character → number, of all whose lower case is a letter of the alphabet, and of Σ where it matters."""
        out = dict(self.alphabet)
        if self.lowercase:
            low = letters.lowered()
            out = {c: i for c, i in out.items() if c not in low}
            out |= {c: self.alphabet[v] for c, v in low.items() if v in self.alphabet and c != letters.SIGMA}
            if self.code(letters.INNER) != self.code(letters.FINAL):
                out[letters.SIGMA] = SIGMA
        return out | {"": PAD}

    def classes(self) -> list[np.ndarray]:
        """``joined``, and ``member`` where it is another, of characters as they come."""
        runs, found = self.runs, []
        for mine in [runs.joined] if runs.joined is runs.member else [runs.joined, runs.member]:
            found.append(mine.copy())
            if self.lowercase:
                low = letters.lowered()
                found[-1][[ord(c) for c in low]] = mine[[ord(c) for c in low.values()]]
        return found

    def mark(self) -> str:
        """A character that ends every word, and is no cased letter."""
        for c in "\n 0,;|":
            if not self.runs.joined[ord(c)]:
                return c
        raise OnnxExportError(
            "token_pattern finds blanks, digits and signs alike in words, which leaves nothing to part them in ONNX: "
            r"say \S+"
        )

    def spelling(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All words' letters in a row (S,), where each word starts (D,), and its length (D,)."""
        size = np.array([len(w) for w in self.words])
        code = np.array([self.alphabet[c] for w in self.words for c in w])
        return code, np.cumsum(size) - size, size

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """r (longest + 1,), and h of each word (D,): no two are equal."""
        code, start, size = self.spelling()
        place = np.arange(len(code)) - np.repeat(start, size)
        top = 2 ** (BITS - int(code.max()).bit_length())
        for seed in range(1000):
            r = np.random.default_rng(seed).integers(1, top, int(size.max()) + 1)
            h = np.add.reduceat(code * r[place], start)
            if len(np.unique(h)) == len(h):
                return r, h
        raise OnnxExportError(f"no weights tell {len(size):,} words apart: fit with max_features")


# ---- letters ----


def _letters(g: Graph, known: _Known, documents: str) -> tuple[str, str]:
    """The letters' numbers, one document after the other (N,), and the document of each (N,)."""
    whole = g.op("StringConcat", documents, _strings(known.mark()))
    cut = f"(?s:.{{1,{PIECE}}})"
    if known.lowercase:
        cut = f"[^{letters.DOTTED}]{{1,{PIECE}}}|{letters.DOTTED}"
    options: dict[str, Any] = {"domain": MICROSOFT, "mark": 0, "mincharnum": 1, "pad_value": ""}
    pieces = g.op("Tokenizer", whole, tokenexp=cut, **options)
    there = g.op("Not", g.op("Equal", pieces, _strings("")))
    row = g.take(g.op("NonZero", there), np.array(0))
    piece = g.op("Compress", pieces, g.flat(there))
    if known.lowercase:
        dotted = g.op("Equal", piece, _strings(letters.DOTTED))
        piece = g.where(dotted, _strings(letters.UNDOTTED), piece)
    grid = g.op("Tokenizer", piece, separators=[""], **options)
    found = g.look_up(grid, known.table(), UNKNOWN)
    real = g.op("Not", g.op("Equal", found, np.array(PAD)))
    document = g.take(row, g.take(g.op("NonZero", real), np.array(0)))
    code, real = g.flat(found), g.flat(real)
    other = g.where_true(g.op("Equal", code, np.array(UNKNOWN)))
    kind = _kinds(g, known, g.take(g.flat(grid), other))
    code = g.op("Compress", g.op("ScatterElements", code, other, kind, axis=0), real)
    if SIGMA in known.table().values():
        code = _sigma(g, known, g.op("Compress", grid, real), code)
    return code, document


def _strings(value: str) -> np.ndarray:
    return np.array([value], dtype=object)


def _kinds(g: Graph, known: _Known, character: str) -> str:
    """OUTSIDE, STRANGE or BARRED for characters of no known word."""
    joined, *member = (
        g.whole(g.op("RegexFullMatch", character, pattern=letters.pattern_of(c))) for c in known.classes()
    )
    return joined if not member else g.sub(g.mul(joined, np.array(BARRED)), member[0])


def _sigma(g: Graph, known: _Known, character: str, code: str) -> str:
    """Σ as ς where a cased letter stands before it and none behind it, else as σ."""
    side = g.look_up(character, letters.cased(), 0)
    solid = g.op("Not", g.op("Equal", side, np.array(2)))
    edge = g.const(np.array([0]))
    sides = g.concat([edge, g.op("Compress", side, solid), edge], axis=0)
    rank = g.running(g.whole(solid))
    before, behind = (g.op("Equal", g.take(sides, g.add(rank, np.array(d))), np.array(1)) for d in (-1, 1))
    final = g.both(before, g.op("Not", behind))
    low = g.where(final, np.array(known.code(letters.FINAL)), np.array(known.code(letters.INNER)))
    return g.where(g.op("Equal", code, np.array(SIGMA)), low, code)


# ---- words ----


def _words(g: Graph, known: _Known, code: str, document: str) -> tuple[str, str]:
    """The words' numbers in order (W,), D where a word is none of the D known ones, and their documents (W,)."""
    spelling, start, size = known.spelling()
    r, h = known.weights()
    zero, count = g.const(np.array([0])), len(known.words)
    at = g.where_true(g.op("Greater", code, np.array(OUTSIDE)))
    code = g.take(code, at)
    step = g.sub(at, g.concat([g.const(np.array([-2])), g.part(at, 0, -1)], axis=0))
    new = g.op("Greater", step, np.array(1))  # the mark lies between documents
    first = g.where_true(new)
    stop = g.concat([g.part(first, 1), g.size(at)], axis=0)
    length = g.sub(stop, first)
    mine = g.sub(g.running(g.whole(new)), np.array(1))
    place = g.sub(g.sub(g.running(g.op("ConstantOfShape", g.op("Shape", at), value=g.tensor(np.array([1])))),
                        np.array(1)), g.take(first, mine))  # fmt: skip

    def sums(values: str) -> str:
        total = g.concat([zero, g.running(values)], axis=0)
        return g.sub(g.take(total, stop), g.take(total, first))

    near = g.op("Min", place, np.array(len(r) - 1))
    hash_ = sums(g.mul(code, g.take(r, near)))
    word = g.look_up(hash_, dict(zip(h.tolist(), range(count), strict=True)), count)
    begin = g.take(np.append(start, 0), g.take(word, mine))
    other = g.take(spelling, g.op("Min", g.add(begin, place), np.array(len(spelling) - 1)))
    differ = sums(g.whole(g.op("Not", g.op("Equal", other, code))))
    same = g.both(
        g.op("Equal", differ, np.array(0)), g.op("Equal", length, g.take(np.append(size, -1), word))
    )
    word = g.where(same, word, np.array(count))
    document = g.take(document, g.take(at, first))
    if all(len(gram) == 1 for gram in known.grams):
        return word, document
    token = g.op("GreaterOrEqual", length, np.array(known.runs.least))
    if known.runs.joined is not known.runs.member:
        barred = sums(g.whole(g.op("Equal", code, np.array(BARRED))))
        token = g.both(token, g.op("Equal", barred, np.array(0)))
    if known.stops:
        stopped = g.both(
            g.op("GreaterOrEqual", word, np.array(count - known.stops)), g.op("Less", word, np.array(count))
        )
        token = g.both(token, g.op("Not", stopped))
    return g.op("Compress", word, token), g.op("Compress", document, token)


def _hits(g: Graph, known: _Known, word: str, document: str) -> str:
    """document · V + column of every n-gram met: (hits,)."""
    base, width = len(known.words) + 1, np.array(len(known.grams))
    run, hits = word, []
    number: dict[tuple[int, ...], int] = {(i,): i for i in range(base)}
    for m in range(1, max(map(len, known.grams)) + 1):
        if m > 1:
            heads = sorted({gram[:m] for gram in known.grams if len(gram) >= m})
            keys = {number[head[:-1]] * base + head[-1]: i for i, head in enumerate(heads)}
            number = {head: i for i, head in enumerate(heads)}
            together = g.op("Equal", g.part(document, 0, 1 - m), g.part(document, m - 1))
            key = g.add(g.mul(g.part(run, 0, -1), np.array(base)), g.part(word, m - 1))
            run = g.look_up(g.where(together, key, np.array(-1)), keys, len(heads))
        columns = np.full(base if m == 1 else len(number) + 1, -1)
        for j, gram in enumerate(known.grams):
            if len(gram) == m:
                columns[number[gram]] = j
        if columns.max() < 0:
            continue
        column = g.take(columns, run)
        hit = g.where_true(g.op("GreaterOrEqual", column, np.array(0)))
        hits.append(g.add(g.mul(g.take(document, hit), width), g.take(column, hit)))
    return g.concat(hits, axis=0)
