"""Tools to work with evidence: calculate, convert, check a claim against a passage, rule an option out."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import Toolkit, tool

from .arithmetic import evaluate
from .units import convert

_NUMBER = re.compile(r"(?<![A-Za-z\d.])\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"[a-z][a-z0-9-]+")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_PLAIN = frozenset({
    "the", "and", "for", "with", "from", "that", "this", "not", "are", "was", "its", "than", "when",
    "only", "may", "can", "has", "have", "into", "per", "day",
})  # fmt: skip


class WorkingTools(Toolkit):
    """Arithmetic and judgement on what was read."""

    @tool()
    def calculate(self, expression: Annotated[str, Field(max_length=200)]) -> str:
        """Work out an expression of numbers: + - * / ^, brackets, sqrt, ln, log10, exp, abs, min, max, round.

        Args:
            expression: For example (140 - 70) * 60 / (72 * 1.2).
        """
        return f"{evaluate(expression):.6g}"

    @tool()
    def convert_unit(self, value: float, from_unit: str, to_unit: str, analyte: str | None = None) -> str:
        """Convert a value: mass, volume, length, pressure, time, or conventional to SI units of an analyte.

        Args:
            value: The number.
            from_unit: For example mg or umol/L.
            to_unit: For example g or mg/dL.
            analyte: For blood values, for example creatinine.
        """
        return f"{convert(value, from_unit, to_unit, analyte or ''):.4g} {to_unit}"

    @tool()
    def check_claim(self, claim: Annotated[str, Field(max_length=400)], passage_id: str) -> str:
        """Hold a claim against a passage you have read: the closest sentence, and which numbers and words it lacks.

        Args:
            claim: One sentence.
            passage_id: Id of a passage that was read.
        """
        passage = self._read_before(passage_id)
        sentence = max(_SENTENCE.split(passage.text), key=lambda text: _shared(claim, text))
        numbers = [number for number in _numbers(claim) if number not in _numbers(f"{passage.title}. {sentence}")]
        lacking = sorted(_words(claim) - _words(f"{passage.title} {passage.text}"))
        parts = [f"Closest: {sentence}", f"Numbers not in it: {', '.join(numbers) or 'none'}."]
        parts.append(f"Words not in the passage: {', '.join(lacking[:12]) or 'none'}.")
        return "\n".join(parts)

    @tool(effect="write")
    def rule_out_option(
        self,
        letter: Literal["A", "B", "C", "D", "E", "F", "G", "H"],
        fact_id: str,
        reason: Annotated[str, Field(min_length=3, max_length=200)],
    ) -> str:
        """Rule an option out and note why; the evidence must have been looked up before.

        Args:
            letter: The option.
            fact_id: Passage id, or name of the drug or test, that speaks against it.
            reason: Why, in a few words.
        """
        wanted = fact_id.strip(" []").lower().replace(" ", "_")
        if len(wanted) < 3 or not any(wanted in key.lower() for key in self.world.facts if key.startswith("kb.")):
            raise ToolError(
                f"Nothing looked up so far is called {fact_id[:60]!r}. Read it first, then rule {letter} out."
            )
        self.world.state.set(f"ruled_out.{letter}", [wanted, reason])
        gone = sorted(path.rsplit(".", 1)[1] for path, _ in self.world.state.items("ruled_out."))
        return f"Ruled out so far: {', '.join(gone)}."

    def _read_before(self, passage_id: str) -> Any:
        """Return a passage that was read. Raises ToolError when it was not."""
        from healthgym.retrieval.builtin import builtin_retriever

        wanted = passage_id.strip(" []")
        passage = (self.world.services.retriever or builtin_retriever()).passage(wanted)
        if not self.world.knows(f"kb.passage.{wanted}"):
            raise ToolError(f"{wanted} was not read yet. Call read_passage first.")
        return passage


def _numbers(text: str) -> list[str]:
    return [f"{float(found.replace(',', '')):g}" for found in _NUMBER.findall(text)]


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if len(word) > 2 and word not in _PLAIN}


def _shared(claim: str, sentence: str) -> float:
    """Return how much of the claim's words and numbers a sentence has, long sentences not favoured."""
    mine, theirs = _words(claim) | set(_numbers(claim)), _words(sentence) | set(_numbers(sentence))
    return len(mine & theirs) / (1 + 0.1 * len(theirs))
