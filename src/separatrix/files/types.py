"""Plain values a model file may hold beside the classes that have a tag (row O8)."""

from __future__ import annotations

from separatrix.files.tags import HOMES, OWN
from separatrix.files.tags import SPARSE as _SPARSE

# built by constructors, which only seal arrays; in older files those of generative models stand by their
# attributes
STATISTICS = frozenset(home for tag, home in OWN.items() if tag.startswith(("statistic.", "generative.")))
SPARSE = frozenset(_SPARSE.values())
OBJECTS = frozenset(  # built by ``__new__`` and attributes
    home for tag, home in HOMES.items() if not tag.startswith(("statistic.", "sparse."))
)

_SIZED = [f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)]
SCALARS = frozenset(("numpy", name) for name in ("bool", "str_", *_SIZED) if name != "float8")
# what turns the text of a key back into the key: a boolean's would not, bool("false") is True
KEYS = (SCALARS - {("numpy", "bool")}) | frozenset(("builtins", name) for name in ("str", "int", "float"))
TYPES = KEYS | SCALARS | frozenset({("builtins", "bool"), ("builtins", "object")})
BIT_GENERATORS = frozenset({"MT19937", "PCG64", "PCG64DXSM", "SFC64"})
