"""What a model of a comparison was judged on, and why that is not all there is. Row V1."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.judge.reasons import folds_in_words, rows_in_words

BEHIND = ("behind", "late")  # kinds of standings: behind on the way, and not followed further


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a model was judged on.

    folds, of_folds : that it has, and those of one repetition
    trained, of_trained : rows of training in a fold, and those there are
    rows, of_rows : that it is fitted to in the end, and those of the table
    judged : rows, over all its folds
    tuned : whether it stands for itself with settings chosen
    kind, why : "behind", "rows", "late" (both), "failed" or "", and in words, where it was not followed to the end
    """

    folds: int
    of_folds: int
    trained: int
    of_trained: int
    rows: int
    of_rows: int
    judged: int
    tuned: bool
    kind: str = ""
    why: str = ""

    @property
    def whole(self) -> bool:
        """Whether it was judged on all folds of a repetition, fitted to all rows of training."""
        return self.folds >= self.of_folds and self.trained >= self.of_trained

    @property
    def words(self) -> str:
        """On what.

        >>> given = dict(of_folds=5, of_trained=26972, rows=33715, of_rows=33715, judged=1, tuned=False)
        >>> Standing(folds=1, trained=4000, **given).words
        '1 fold of 5, 4,000 of 26,972 rows'
        """
        said = [] if self.folds >= self.of_folds else [folds_in_words(self.folds, self.of_folds)]
        said += [] if self.trained >= self.of_trained else [rows_in_words(self.trained, self.of_trained)]
        return ", ".join(said) or folds_in_words(self.folds, self.of_folds)
