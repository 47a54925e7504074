"""The HTML page of a comparison or a model, where its drawer and matplotlib are there (row O5)."""

from __future__ import annotations

import os
import traceback
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from separatrix.app.say import Say

if TYPE_CHECKING:
    from separatrix.judge.comparison import Comparison


def page_of(say: Say, comparison: Comparison | None = None, **given: Any) -> str | None:
    """The page, or None with a sentence that says why there is none: an answer is not lost for want of a picture."""
    if find_spec("matplotlib") is None:
        say.note('no report: pictures need matplotlib, pip install "separatrix[plot]"', "yellow")
        return None
    try:
        return str(import_module("separatrix.show.report").report_html(comparison, **given))
    except Exception as error:
        if os.environ.get("SEPARATRIX_DEBUG") == "1":
            traceback.print_exc()
        say.note(f"no report: {type(error).__name__}: {error}", "yellow")
        return None
