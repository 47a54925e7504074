"""Words that say little about a document's subject: articles, pronouns, prepositions, auxiliary verbs (row T1).

Short lists in the manner of Snowball's, as a word is found (letters only: "don't" is read as "don"). stop_words.txt
holds a paragraph for each language, its mark first.
"""

from __future__ import annotations

from importlib.resources import files

LANGUAGES = dict(
    english="en", german="de", french="fr", spanish="es", italian="it", dutch="nl", portuguese="pt"
)
_LISTS = files("separatrix.tables").joinpath("stop_words.txt").read_text("utf-8").split("\n\n")
STOP_WORDS = {mark: frozenset(words) for mark, *words in map(str.split, _LISTS)}
