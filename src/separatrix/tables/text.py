"""Bags of words:  x_ij = how often word j stands in document i  ([726], "Text classification"; row T1).

    counts   x_ij = n_ij             binary   x_ij = 1 if n_ij > 0
    tf-idf   x_ij ∝ n_ij · (log (1 + n)/(1 + d_j) + 1),  Σ_j x_ij² = 1,    d_j documents hold word j

The vocabulary is the training set's: a word first met later is left out, as it has no parameters. Words are found by
one regular expression, a document at a time, and numbered as they come; lowering, stop words and stems are then done
once for every distinct word, n-grams by arithmetic on the numbers.

Shapes: n documents → CSR (n, words), columns in alphabetical order. Cost: one scan of the text, O(tokens).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.data.estimator import KW_ONLY, Estimator, constructor
from separatrix.tables.stop_words import LANGUAGES, STOP_WORDS

WEIGHTINGS = ("counts", "binary", "tf-idf")
# Two or more "Name: value" lines before the first empty one, an mbox "From " line allowed before it.
WORD = r"\w\w+"
BLANKS = r"\S+"  # what str.split finds, sooner than the pattern
# For ASCII text and that pattern: every other character as a space, so that str.split finds the words, twice as fast
# as the pattern; words of one letter go where stop words go.
PLAIN = bytes(c if (chr(c).isalnum() and c < 128) or c == 95 else 32 for c in range(256))
HEADERS = re.compile(
    r"\s*(?:From .*\n)?(?:[!-9;-~]+:(?:[ \t].*)?\r?\n(?:[ \t]+\S.*\n)*){2,}[ \t]*\r?(?:\n|\Z)"
)
HEADER = re.compile(r"^([!-9;-~]+):[ \t]*(.*(?:\n[ \t].*)*)", re.MULTILINE)


@constructor
class TextFeatures(TransformerMixin, Estimator):
    """x_ij = n_ij, [n_ij > 0] or tf-idf of word j in document i, words as in training ([726], T1).

    Parameters
    ----------
    weighting : "counts", "binary" or "tf-idf" (scikit-learn's: smoothed, rows of length 1)
    stop_words : None; a language ("en", "de", "fr", "es", "it", "nl", "pt"); words of your own; or a list of both
    stem : None, or a Snowball language ("english", "en", "german", …), which needs PyStemmer
    drop_most_frequent : this many words, those most used in training, are left out (Mitchell: 100)
    min_count : words used fewer times in all of the training set are left out (Mitchell: 3)
    min_df, max_df : words in fewer, or more, documents than this are left out: a number of documents, or a share
    max_features : of the words left, keep this many, those most used
    ngram_range : (shortest, longest) run of words that makes a column
    headers : "keep", "strip" (all before the first empty line, where a text begins with e-mail headers), or the
        names of headers whose contents are kept, as ("subject", "from")
    lowercase : read A as a
    token_pattern : what a word is; without a group

    Attributes: vocabulary_ (word → column), document_frequency_ (words,), count_ (words,), idf_ (words,),
    n_documents_. Cost: one scan of the text.

    >>> model = TextFeatures(stop_words="en").fit(["The cat sat.", "A cat and a dog sat down"])
    >>> model.get_feature_names_out().tolist()
    ['cat', 'dog', 'sat']
    >>> model.transform(["cat, cat; bird"]).toarray().tolist()
    [[2.0, 0.0, 0.0]]
    """

    _: KW_ONLY
    weighting: str = "counts"
    stop_words: Any = None
    stem: str | None = None
    drop_most_frequent: int = 0
    min_count: int = 1
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    ngram_range: tuple[int, int] = (1, 1)
    headers: Any = "keep"
    lowercase: bool = True
    token_pattern: str = WORD

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn the vocabulary of the documents X (n,)."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **fit_params: Any) -> sp.csr_matrix:
        """fit and transform in one scan of the text."""
        return self._weighted(self._learn(X))

    def transform(self, X: Any) -> sp.csr_matrix:
        """Documents X (n,) → CSR (n, words); words not in the vocabulary are left out."""
        check_is_fitted(self, "vocabulary_")
        starts, ids, words, _ = self._scan(X)
        column = np.fromiter((self.vocabulary_.get(w, -1) for w in words), np.int64, len(words))
        return self._weighted(_counted(starts, ids, column, len(self.vocabulary_)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The words, in column order."""
        check_is_fitted(self, "vocabulary_")
        return np.array(list(self.vocabulary_), dtype=object)

    def describe(self) -> list[str]:
        """What was done, in sentences."""
        check_is_fitted(self, "vocabulary_")
        kept = f"{len(self.vocabulary_):,} words from {self.n_documents_:,} documents, as {self.weighting}"
        left = [f"{count:,} {why}" for why, count in self._left_out.items() if count]
        return [kept, *(["left out: " + ", ".join(left)] if left else [])]

    # ------------------------------------------------------------------------------------------ learning

    def _learn(self, X: Any) -> sp.csr_matrix:
        self._check_parameters()
        starts, ids, words, stopped = self._scan(X)
        n, size = len(starts) - 1, len(words)
        if not size:
            raise ValueError(
                f"no document holds a word (of {n}): see token_pattern={self.token_pattern!r}, stop_words, headers"
            )
        counts = _counted(starts, ids, np.arange(size), size)
        total = np.bincount(ids, minlength=size)
        df = np.bincount(counts.indices, minlength=size)
        names = np.array(words, dtype=object)
        alphabetical = np.argsort(names, kind="stable")
        rank = np.empty(size, dtype=np.int64)
        rank[alphabetical] = np.arange(size)
        most_used = np.lexsort((rank, -total))
        low, high = (v if isinstance(v, int) else v * n for v in (self.min_df, self.max_df))
        keep = np.ones(size, dtype=bool)
        keep[most_used[: self.drop_most_frequent]] = False
        left = {"most used": int(size - keep.sum())}
        for why, good in (
            (f"used fewer than {self.min_count} times", total >= self.min_count),
            (f"in fewer than {low:g} documents", df >= low),
            (f"in more than {high:g} documents", df <= high),
        ):
            left[why] = int((keep & ~good).sum())
            keep &= good
        if self.max_features is not None:
            beyond = most_used[keep[most_used]][self.max_features :]
            left[f"beyond the {self.max_features} most used"] = len(beyond)
            keep[beyond] = False
        if not keep.any():
            said = "; ".join(f"{count} {why}" for why, count in left.items() if count)
            raise ValueError(f"no word is left of {size}: {said}; ask less of a word")
        order = alphabetical[keep[alphabetical]]
        column = np.full(size, -1, dtype=np.int64)
        column[order] = np.arange(len(order))
        self.vocabulary_ = dict(zip(names[order].tolist(), range(len(order))))
        self.count_, self.document_frequency_, self.n_documents_ = total[order], df[order], n
        self.idf_ = np.log((1 + n) / (1 + self.document_frequency_)) + 1.0
        self._left_out = {f"stop word{'s' * (stopped != 1)}": stopped} | left
        counts = counts[:, order]
        counts.sort_indices()
        return counts

    def _weighted(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        if self.weighting == "binary":
            counts.data[:] = 1.0
        elif self.weighting == "tf-idf":
            counts.data *= self.idf_[counts.indices]
            squares = (
                np.add.reduceat(np.append(counts.data**2, 0.0), counts.indptr[:-1]) if counts.nnz else 0.0
            )
            used = np.diff(counts.indptr)
            length = np.where(used > 0, np.sqrt(squares), 1.0)
            counts.data /= np.repeat(length, used)
        return counts

    # ------------------------------------------------------------------------------------------ scanning

    def _scan(self, X: Any) -> tuple[np.ndarray, np.ndarray, list[str], int]:
        """Where each document starts among the terms, the terms' numbers, their spelling, stop words met."""
        find, numbers, plain = re.compile(self.token_pattern).findall, _Numbers(), self.token_pattern == WORD
        number, ends, parts = numbers.__getitem__, [0], []
        for text in self._texts(X):
            if self.token_pattern == BLANKS:
                found = text.split()
            elif plain and text.isascii():
                found = text.encode("ascii").translate(PLAIN).decode("ascii").split()
            else:
                found = find(text)
            parts.append(np.fromiter(map(number, found), np.int32, len(found)))
            ends.append(ends[-1] + len(found))
        starts, surface = np.array(ends), list(numbers)
        ids = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
        new, words, stopped = self._terms(surface)
        ids = new[ids] if len(surface) else ids.astype(np.int64)
        kept = ids >= 0
        if not kept.all():
            starts = np.concatenate([[0], np.cumsum(kept)])[starts]
            ids = ids[kept]
        if tuple(self.ngram_range) != (1, 1):
            starts, ids, words = self._grams(starts, ids, words)
        return starts, ids, words, stopped

    def _terms(self, surface: list[str]) -> tuple[np.ndarray, list[str], int]:
        """The number of each distinct word's term (−1: a stop word), the terms, and how many are stop words."""
        stop = _stop_words(self.stop_words)
        kept = (
            [len(w) > 1 and w not in stop for w in surface]
            if self.token_pattern == WORD
            else [w not in stop for w in surface]
        )
        terms = surface if self.stem is None else _stemmer(self.stem).stemWords(surface)
        number = _Numbers()
        new = np.fromiter((number[t] if k else -1 for t, k in zip(terms, kept)), np.int64, len(surface))
        return new, list(number), sum(w in stop for w in surface)

    def _grams(
        self, starts: np.ndarray, ids: np.ndarray, words: list[str]
    ) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Runs of words: the number of a run of n is found from that of its first n − 1 and its last."""
        shortest, longest = self.ngram_range
        document = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        runs, spelling = ids, list(words)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        every: list[str] = []
        for n in range(1, longest + 1):
            if n > 1:
                inside = document[: len(document) - n + 1] == document[n - 1 :]
                first = np.where(inside, runs[: len(inside)], -1)
                key = first * max(len(words), 1) + ids[n - 1 :]
                distinct, code = np.unique(key[inside], return_inverse=True)
                first_run, last_word = (v.tolist() for v in np.divmod(distinct, max(len(words), 1)))
                spelling = [f"{spelling[a]} {words[b]}" for a, b in zip(first_run, last_word)]
                runs = np.full(len(inside), -1, dtype=np.int64)
                runs[inside] = code
            if n >= shortest:
                whole = runs >= 0
                found.append((document[: len(runs)][whole], runs[whole] + len(every)))
                every += spelling
        where = np.concatenate([d for d, _ in found])
        order = np.argsort(where, kind="stable")
        ends = np.cumsum(np.bincount(where, minlength=len(starts) - 1))
        return np.concatenate([[0], ends]), np.concatenate([i for _, i in found])[order], every

    def _texts(self, X: Any) -> Iterable[str]:
        if isinstance(X, (str, bytes)):
            raise ValueError("X is one text: give a list of documents, as [text]")
        if getattr(X, "ndim", 1) == 2 and 1 in np.shape(X)[1:]:
            X = X.iloc[:, 0] if hasattr(X, "iloc") else np.ravel(X)
        if getattr(X, "ndim", 1) != 1:
            raise ValueError(f"X has shape {np.shape(X)}: give one column of documents")
        for i, text in enumerate(X.tolist() if hasattr(X, "tolist") else X):
            if not isinstance(text, str):
                if text is not None and text == text and str(text) != "<NA>":
                    raise ValueError(f"document {i} is {type(text).__name__}, not text: read it as str first")
                text = ""  # a missing document holds no words
            if not (isinstance(self.headers, str) and self.headers == "keep"):
                text = without_headers(text, () if isinstance(self.headers, str) else self.headers)
            yield text.lower() if self.lowercase else text

    def _check_parameters(self) -> None:
        if self.weighting not in WEIGHTINGS:
            raise ValueError(
                f"weighting must be one of {', '.join(map(repr, WEIGHTINGS))}, got {self.weighting!r}"
            )
        for name, least in (("drop_most_frequent", 0), ("min_count", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1
            if not (whole or (isinstance(value, float) and 0 <= value <= 1)):
                raise ValueError(f"{name} must be a number of documents or a share in [0, 1], got {value!r}")
        if self.max_features is not None and not (
            isinstance(self.max_features, (int, np.integer)) and self.max_features >= 1
        ):
            raise ValueError(
                f"max_features must be None or a whole number above 0, got {self.max_features!r}"
            )
        if not (
            isinstance(self.ngram_range, Sequence)
            and len(self.ngram_range) == 2
            and all(isinstance(v, (int, np.integer)) for v in self.ngram_range)
            and 1 <= self.ngram_range[0] <= self.ngram_range[1]
        ):
            raise ValueError(f"ngram_range must be two whole numbers 1 ≤ a ≤ b, got {self.ngram_range!r}")
        if isinstance(self.headers, str) and self.headers not in ("keep", "strip"):
            raise ValueError(f'headers must be "keep", "strip" or names of headers, got {self.headers!r}')
        try:
            groups = re.compile(self.token_pattern).groups
        except (re.error, TypeError) as error:
            raise ValueError(f"token_pattern {self.token_pattern!r} is no pattern: {error}") from None
        if groups:
            raise ValueError(f"token_pattern {self.token_pattern!r} has a group: write (?:…) for (…)")
        _stop_words(self.stop_words)
        if self.stem is not None:
            _stemmer(self.stem)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def without_headers(text: str, keep: Iterable[str] = ()) -> str:
    """The text after its e-mail headers, the contents of the headers named in ``keep`` before it. O(length).

    >>> without_headers("From: a@b\\nSubject: Hello\\n\\nDear all", keep=["subject"])
    'Hello\\nDear all'
    >>> without_headers("Dear all:\\nno header here")
    'Dear all:\\nno header here'
    """
    block = HEADERS.match(text)
    if block is None:
        return text
    wanted = {name.lower() for name in keep}
    kept = (
        [value for name, value in HEADER.findall(block.group()) if name.lower() in wanted] if wanted else []
    )
    return "\n".join([*kept, text[block.end() :]])


class _Numbers(defaultdict[str, int]):
    """A word's number: the count of different words before it."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def _counted(starts: np.ndarray, ids: np.ndarray, column: np.ndarray, width: int) -> sp.csr_matrix:
    """The stream of terms as counts: one row a document, one column a kept term (column ≥ 0)."""
    places = column[ids] if len(ids) else np.empty(0, dtype=np.int64)
    kept = places >= 0
    if not kept.all():
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
        places = places[kept]
    kind = np.int32 if max(width, len(places)) < 2**31 else np.int64
    counts = sp.csr_matrix(
        (np.ones(len(places)), places.astype(kind), starts.astype(kind)), shape=(len(starts) - 1, width)
    )
    counts.sum_duplicates()
    return counts


def _stop_words(given: Any) -> frozenset[str]:
    """The words meant by None, a language, a list of words, or a list of both."""
    if given is None:
        return frozenset()
    parts = [given] if isinstance(given, str) else list(given)
    languages = [
        STOP_WORDS.get(LANGUAGES.get(p.lower(), p.lower())) if isinstance(p, str) else None for p in parts
    ]
    if isinstance(given, str) and languages[0] is None:
        raise ValueError(
            f"stop_words {given!r} is no language here: {', '.join(map(repr, STOP_WORDS))}, or give a list of words"
        )
    for part in parts:
        if not isinstance(part, str):
            raise ValueError(f"stop_words holds {part!r}: give words, or a language such as 'en'")
    return frozenset(chain.from_iterable(known or [word.lower()] for known, word in zip(languages, parts)))


def _stemmer(language: str) -> Any:
    try:
        import Stemmer  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError('stemming needs PyStemmer: pip install "separatrix[text]"') from None
    try:
        return Stemmer.Stemmer({code: name for name, code in LANGUAGES.items()}.get(language, language))
    except (KeyError, TypeError):
        raise ValueError(
            f"stem {language!r} is unknown: it is one of {', '.join(Stemmer.algorithms())}"
        ) from None
