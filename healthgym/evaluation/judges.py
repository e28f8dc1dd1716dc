"""Judges of statements: a natural-language-inference model in this process, and any candidate that chats."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, GraderError, MissingDependency
from healthgym.evaluation.asking import Ask, ask_all
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.closed_set import read_choice
from healthgym.evaluation.facts import VERDICTS, Judge, Verdict

_LABELS: tuple[tuple[str, Verdict], ...] = (
    ("entail", "entails"),
    ("contradict", "contradicts"),
    ("neutral", "neutral"),
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORDS: Mapping[str, Verdict] = {
    "entails": "entails",
    "entailed": "entails",
    "entailment": "entails",
    "contradicts": "contradicts",
    "contradicted": "contradicts",
    "contradiction": "contradicts",
    "neutral": "neutral",
}


class NliJudge:
    """Judges with a sequence classifier trained for natural-language inference: the answer is premise, a statement hypothesis.

    An answer longer than the model's positions is read in windows of whole sentences: a statement is entailed when one
    window entails it, contradicted when one contradicts it and none entails it.

    Args:
        model: A transformers model for sequence classification with three labels.
        tokenizer: Its tokenizer.
        name: Names the judge in results.
        batch_size: Pairs of one pass.

    Raises:
        ConfigError: The model's labels are not entailment, contradiction and neutral by name.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, batch_size: int = 16) -> None:
        self.model, self.tokenizer, self.name, self.batch_size = model.eval(), tokenizer, name, batch_size
        self._verdicts = _verdict_by_label(model.config.id2label, name)
        positions = getattr(model.config, "max_position_embeddings", None) or 512
        self.max_tokens = min(int(positions), int(min(tokenizer.model_max_length, 10**6)))

    @classmethod
    def load(cls, path: str | Path) -> "NliJudge":
        """Return the judge of a model folder or hub name.

        Raises:
            MissingDependency: transformers is missing.
            ConfigError: There is no such model, or it is no NLI model.
        """
        try:
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise MissingDependency.extra("An NLI judge", "train") from error
        try:
            model = AutoModelForSequenceClassification.from_pretrained(path)
            return cls(model, AutoTokenizer.from_pretrained(path), name=f"nli:{path}")
        except (OSError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"judge: no NLI model at {path}: {error}") from error

    def __call__(self, question: str, answer: str, statements: Sequence[str]) -> list[Verdict]:
        """Return one verdict for each statement."""
        pairs = [(place, window) for place, text in enumerate(statements) for window in self.windows(answer, text)]
        found: list[set[Verdict]] = [set() for _ in statements]
        for start in range(0, len(pairs), self.batch_size):
            batch = pairs[start : start + self.batch_size]
            labels = self._labels([window for _, window in batch], [statements[place] for place, _ in batch])
            for (place, _), label in zip(batch, labels, strict=True):
                found[place].add(self._verdicts[label])
        return [next(verdict for verdict in VERDICTS if verdict in verdicts) for verdicts in found]

    def windows(self, answer: str, statement: str) -> list[str]:
        """Return the answer in pieces of whole sentences that leave room for the statement; a longer sentence is cut."""
        room = self.max_tokens - self._length(statement) - self.tokenizer.num_special_tokens_to_add(pair=True)
        pieces: list[list[str]] = [[]]
        used = 0
        for sentence in filter(str.strip, _SENTENCE_END.split(answer)):
            length = self._length(sentence)
            if used + length > room and pieces[-1]:
                pieces.append([])
                used = 0
            pieces[-1].append(sentence)
            used += length
        return [" ".join(piece) for piece in pieces]

    def _length(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _labels(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[int]:
        import torch

        encoded = self.tokenizer(
            list(premises), list(hypotheses), truncation="only_first", max_length=self.max_tokens, padding=True,
            return_tensors="pt",
        )  # fmt: skip
        with torch.no_grad():
            logits = self.model(**encoded.to(self.model.device)).logits  # (B, labels)
        return [int(label) for label in logits.argmax(-1)]


def _verdict_by_label(names: Mapping[int, str], judge: str) -> dict[int, Verdict]:
    verdicts: dict[int, Verdict] = {}
    for label, name in names.items():
        for stem, verdict in _LABELS:
            if str(name).lower().startswith(stem):
                verdicts[int(label)] = verdict
    if len(verdicts) != len(names) or set(verdicts.values()) != set(VERDICTS):
        raise ConfigError(
            f"{judge} has the labels {', '.join(map(str, names.values()))}; a judge needs entailment, contradiction and "
            "neutral, named so in its config.json (id2label)"
        )
    return verdicts


class ChatJudge:
    """Judges with a candidate that chats, such as a model behind an endpoint: one short question for each statement.

    Args:
        candidate: Who judges; never the one that is judged.
        max_tokens: Most tokens of one verdict, thinking included.
        in_flight: Verdicts asked for at a time.
    """

    def __init__(self, candidate: Candidate, *, max_tokens: int = 256, in_flight: int = 16) -> None:
        self.candidate, self.max_tokens, self.in_flight = candidate, max_tokens, in_flight
        self.name = f"chat:{candidate.name}"

    def __call__(self, question: str, answer: str, statements: Sequence[str]) -> list[Verdict]:
        """Return one verdict for each statement.

        Raises:
            GraderError: The judge failed, or said neither of the three.
        """
        asks = [
            Ask(key, [{"role": "user", "content": _judge_prompt(question, answer, statement)}])
            for key, statement in enumerate(statements)
        ]
        verdicts: list[Verdict] = []
        for reply in ask_all(self.candidate, asks, max_tokens=self.max_tokens, in_flight=self.in_flight):
            if reply.error is not None:
                raise GraderError(f"{self.name} failed: {reply.error}")
            said = _verdict_in(reply.text)
            if said is None:
                raise GraderError(f"{self.name} said {reply.text[:200]!r}; expected entails, contradicts or neutral")
            verdicts.append(said)
        return verdicts


def _judge_prompt(question: str, answer: str, statement: str) -> str:
    return (
        "A patient asked a question and was given an answer. Say what the answer makes of a statement.\n\n"
        f"Question: {question}\n\nAnswer: {answer}\n\nStatement: {statement}\n\n"
        "entails: whoever reads the answer learns that the statement is true, in whatever words.\n"
        "contradicts: the answer says what cannot be true together with the statement.\n"
        "neutral: neither.\n\n"
        "Reply with one word: entails, contradicts or neutral."
    )


def _verdict_in(text: str) -> Verdict | None:
    """Return the verdict that a reply commits to; several words for one verdict agree."""
    named = {_WORDS[word] for word in _WORDS if read_choice(text, [word]) is not None}
    if len(named) == 1:
        return named.pop()
    said = read_choice(text, list(_WORDS))
    return None if said is None else _WORDS[said]


def open_judge(given: str) -> Judge:
    """Return the judge of an option: nli:FOLDER_OR_NAME, or endpoint:URL#MODEL for an OpenAI-compatible server.

    Raises:
        ConfigError: The option is of another form, or the judge cannot be opened.
    """
    kind, _, place = given.partition(":")
    if kind == "nli" and place:
        return NliJudge.load(place)
    if kind == "endpoint" and place:
        from healthgym.evaluation.openai_candidate import open_endpoint

        return ChatJudge(open_endpoint(place))
    raise ConfigError(f"judge must be nli:FOLDER_OR_NAME or endpoint:URL#MODEL, got {given!r}")
