"""Tools that look codes up: search of titles, and one code."""

import re
from collections.abc import Mapping
from functools import lru_cache

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base.reading import read_yaml
from healthgym.toolkit import Toolkit, tool

from .admission import FOLDER

MOST_HITS = 8
_WORD = re.compile(r"[a-z0-9]+")
_SKIP = frozenset({"of", "the", "and", "with", "due", "to", "by", "in", "a", "or", "without"})


@lru_cache(maxsize=1)
def codes() -> Mapping[str, tuple[str, str]]:
    """Return title and search words by code."""
    return {str(code): (title, words) for code, title, words in read_yaml(FOLDER / "icd10.yaml")}


@lru_cache(maxsize=1)
def _words() -> Mapping[str, frozenset[str]]:
    return {code: frozenset(_stems(f"{title} {words}")) for code, (title, words) in codes().items()}


def _stems(text: str) -> set[str]:
    """Return the words that count, with British and American spelling made alike."""
    plain = text.lower().replace("ae", "e").replace("oe", "e")
    return {word for word in _WORD.findall(plain) if word not in _SKIP}


def known_code(code: str) -> str:
    """Return a code as the table spells it. Raises ToolError, offering the nearest, for one that is not in it."""
    wanted = code.upper().replace(".", "").strip()
    found = next((name for name in codes() if name.upper().replace(".", "") == wanted), None)
    if found is None:
        raise ToolError(f"No code {code[:20]!r} in this table.{nearest(code[:20].upper(), codes())} Use icd10_search.")
    return found


class CodingTools(Toolkit):
    """ICD-10-CM, fiscal year 2025, as far as this hospital's coders need it."""

    @tool(minutes=1)
    def icd10_search(self, words: str) -> str:
        """Find ICD-10-CM codes by words of their titles, best first.

        Args:
            words: For example acute pyelonephritis.
        """
        asked = _stems(words)
        ranked = sorted((-len(asked & known), len(known), code) for code, known in _words().items() if asked & known)
        if not ranked:
            raise ToolError(f"No title shares a word with {words[:60]!r}. Try other or fewer words.")
        shown = [code for _, _, code in ranked[:MOST_HITS]]
        for code in shown:
            self.world.reveal("kb", f"icd10.{code}")
        return "\n".join(f"{code:<10}{codes()[code][0]}" for code in shown)

    @tool(minutes=1)
    def icd10_code(self, code: str) -> str:
        """Show the title of one ICD-10-CM code and its neighbours in the same category.

        Args:
            code: For example N10.
        """
        name = known_code(code)
        family = [other for other in codes() if other[:3] == name[:3]]
        self.world.reveal("kb", f"icd10.{name}")
        return "\n".join(f"{'> ' if other == name else '  '}{other:<10}{codes()[other][0]}" for other in family)
