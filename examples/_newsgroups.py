"""Posts of the Twenty Newsgroups, read from ../shared/data; where that is absent, twelve typed documents.

(texts, y), (later, y_later), title = by_date(groups, title)     some groups, headers cut off, earlier and later posts
texts, y, title = all_posts()                                    19,997 posts as they are
"""

import re
import sys

import numpy as np
from _plot import ROOT

TYPED = {
    "cooking": ["boil the rice and fry the onion", "fry fish in oil then boil rice", "bake bread with salt and oil",
                "salt the onion soup and bake bread"],
    "sailing": ["the wind fills the sail", "reef the sail when the wind is strong", "the boat heels in a strong wind",
                "steer the boat to harbour"],
    "chess": ["castle early and guard the king", "trade the queen for a rook", "the rook takes the queen and checks",
              "push the pawn and check the king"],
}  # fmt: skip


def by_date(groups, title):
    """((texts, labels) to learn from, the same to try on, what they are)."""
    parts = stored("20news", "20news/20news-bydate-test")
    if parts is None:
        return typed(), typed(), "Twelve typed documents"

    def of_groups(texts, labels):
        kept = [i for i, label in enumerate(labels) if label in groups]
        return [re.split(r"\n\s*\n", texts[i], maxsplit=1)[-1] for i in kept], labels[kept]

    return *(of_groups(*part) for part in parts), title


def all_posts():
    """(texts, labels, what they are)."""
    parts = stored("20news/20news-19997")
    if parts is None:
        return *typed(4), "Twelve typed documents, four times"
    texts, labels = parts[0]
    return texts, np.asarray(labels), "Twenty Newsgroups, all 19,997 posts"


def stored(*names):
    """(texts, labels) of each part; None, and a line that says so, where they are not here."""
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks import shared

        return [shared.texts(name) for name in names]
    except (ImportError, FileNotFoundError) as why:
        print(f"(the newsgroups are not here, so twelve typed documents are used: {why})\n")
        return None


def typed(times=1):
    """(texts, labels) of the typed documents, so many times over."""
    texts = [text for group in TYPED.values() for text in group] * times
    return texts, np.tile(np.repeat(list(TYPED), 4), times)
