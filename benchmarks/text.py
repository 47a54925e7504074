"""The sparse text set of L3 and L4: about 20,000 documents × 100,000 words, tf-idf, rows shuffled.

20 Newsgroups (original 19,997 posts) when the shared data are beside the project, otherwise a generated
corpus: word ranks follow Zipf's law, and each of 20 topics reorders the ranks for three words in ten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from benchmarks import shared

WORDS = 100_000
DOCUMENTS = 20_000
TOPICS = 20


@dataclass(frozen=True)
class Corpus:
    """A text source: its name in the cache, a sentence for the table, and how to build its arrays."""

    key: str
    describe: str
    build: Callable[[], dict[str, np.ndarray]]


def corpus() -> Corpus:
    """The real posts when present, the generated ones otherwise."""
    if shared.available():
        return Corpus("20news-v1", "20 Newsgroups, posts without headers, tf-idf of words", _newsgroups)
    return Corpus("zipf-v1", "generated Zipf corpus with 20 topics (no shared data here), tf-idf", _zipf)


def _newsgroups() -> dict[str, np.ndarray]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts, groups = shared.texts("20news/20news-19997")
    # The headers name the newsgroup; what follows the first empty line is the post.
    bodies = [post.partition("\n\n")[2] for post in posts]
    # The bodies hold 168,686 distinct words, so single words reach 100,000 columns without pairs.
    X = TfidfVectorizer(max_features=WORDS).fit_transform(bodies)
    names, y = np.unique(groups, return_inverse=True)
    technical = np.array([name.startswith(("comp.", "sci.")) for name in names])
    return _packed(X, y, technical[y])


def _zipf() -> dict[str, np.ndarray]:
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(0)
    topic = rng.integers(TOPICS, size=DOCUMENTS)
    length = np.maximum(20, rng.lognormal(np.log(150), 0.8, size=DOCUMENTS)).astype(np.int64)
    document = np.repeat(np.arange(DOCUMENTS), length)
    cumulative = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    rank = np.searchsorted(cumulative, rng.random(document.size) * cumulative[-1])
    order = np.stack([rng.permutation(WORDS) for _ in range(TOPICS)])
    on_topic = rng.random(document.size) < 0.3
    word = np.where(on_topic, order[topic[document], rank], rank)
    counts = sp.coo_matrix((np.ones(word.size), (document, word)), shape=(DOCUMENTS, WORDS)).tocsr()
    flipped = rng.random(DOCUMENTS) < 0.05
    y = np.where(flipped, rng.integers(TOPICS, size=DOCUMENTS), topic)
    return _packed(TfidfTransformer().fit_transform(counts), y, y < TOPICS // 2)


def _packed(X: sp.csr_matrix, y: np.ndarray, binary: np.ndarray) -> dict[str, np.ndarray]:
    """CSR parts with rows in a fixed random order: both sources come sorted or grouped by class."""
    order = np.random.default_rng(1).permutation(X.shape[0])
    X = X[order].astype(np.float64)
    X.sort_indices()
    return {
        "data": X.data,
        "indices": X.indices.astype(np.int32),
        "indptr": X.indptr.astype(np.int32),
        "shape": np.array(X.shape),
        "y": y[order].astype(np.int64),
        "binary": binary[order].astype(np.int64),
    }
