"""Tools that every domain shares: look things up, think, and see what time and budget are left."""

import re
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool

from .monograph import known_drug, monograph

SNIPPET_CHARACTERS, TITLE_CHARACTERS = 160, 60
MAX_STATEMENTS = 3
_WORD = re.compile(r"[a-z0-9]+")


class EvidenceToolkit(Toolkit):
    """Evidence search, structured facts, thinking and status. List it in `Toolkit.shared`."""

    @tool(minutes=1)
    def search_evidence(self, query: str, k: Annotated[int, Field(ge=1, le=10)] = 3) -> str:
        """Search the evidence base. Gives id, title, source, score and the start of each passage.

        Args:
            query: A few words, for example warfarin ibuprofen bleeding.
            k: How many passages.
        """
        hits = self._retriever().search(query, k)
        if not hits:
            raise ToolError(f"Nothing in the evidence base shares a word with {query[:60]!r}. Use other words.")
        for hit in hits:
            self.world.reveal("kb", f"found.{hit.id}")
        return "\n".join(
            f"[{hit.id}] {_cut(hit.passage.title, TITLE_CHARACTERS)} ({hit.passage.source}, {hit.score:.2f}): "
            f"{_cut(hit.passage.text, SNIPPET_CHARACTERS)}"
            for hit in hits
        )

    @tool(minutes=1)
    def read_passage(self, passage_id: str) -> str:
        """Read one passage in full, with its source.

        Args:
            passage_id: Id as search_evidence gave it.
        """
        passage = self._retriever().passage(passage_id.strip(" []"))
        self.world.reveal("kb", f"passage.{passage.id}")
        return f"[{passage.id}] {passage.title}: {passage.text} Source: {passage.ref or passage.source}."

    @tool(minutes=1)
    def search_guidelines(self, topic: str) -> str:
        """Find guideline statements on a topic.

        Args:
            topic: A condition or subject, for example sepsis.
        """
        words = set(_WORD.findall(topic.lower()))
        ranked = sorted((-len(words & known), name) for name, known in _guideline_words().items() if words & known)
        if not ranked:
            topics = {item for guideline in load().guidelines.values() for item in guideline.topics}
            raise ToolError(f"No guideline statement on {topic[:60]!r}.{nearest(topic[:60], topics)}")
        lines = []
        for _, name in ranked[:MAX_STATEMENTS]:
            statement = load().guidelines[name]
            self.world.reveal("kb", f"guideline.{name}")
            lines.append(f"[{name}] {statement.statement} ({statement.source})")
        return "\n".join(lines)

    @tool(minutes=1)
    def lookup_drug(self, name: str) -> str:
        """Show a drug's monograph in brief.

        Args:
            name: For example warfarin.
        """
        drug = known_drug(name)
        self.world.reveal("kb", f"drug.{drug.id}")
        return monograph(drug)

    @tool(effect="think")
    def think(self, thought: str) -> str:
        """Write down a thought; nothing else happens.

        Args:
            thought: Your reasoning.
        """
        return "Noted."

    @tool()
    def episode_status(self) -> str:
        """Show the time, cost, turns and calls used so far, with their limits."""
        world = self.world
        used = {"turns": world.turn, "tool_calls": len(world.calls), "minutes": world.minutes, "cost": world.cost}
        parts = []
        for name, value in used.items():
            limit = world.limits.get(name)
            parts.append(f"{name.replace('_', ' ')} {value:g}" + ("" if limit is None else f" of {limit:g}"))
        return ", ".join(parts) + "."

    def _retriever(self) -> Any:
        """Return the episode's retriever, or the one over the built-in passages."""
        from healthgym.retrieval.builtin import builtin_retriever

        return self.world.services.retriever or builtin_retriever()


@lru_cache(maxsize=1)
def _guideline_words() -> dict[str, frozenset[str]]:
    return {
        name: frozenset(_WORD.findall(" ".join((*item.topics, *item.conditions, item.title)).lower().replace("_", " ")))
        for name, item in load().guidelines.items()
    }


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 3].rsplit(" ", 1)[0] + "..."
