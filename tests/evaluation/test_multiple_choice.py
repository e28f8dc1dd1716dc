"""Multiple choice in text mode: what is asked, how rows are scored, and what a guesser gets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks.medmcqa import prompt as medmcqa_prompt
from healthgym.evaluation.benchmarks.medqa import prompt as medqa_prompt
from healthgym.evaluation.benchmarks.mmlu_medical import prompt as mmlu_prompt
from healthgym.evaluation.benchmarks.multiple_choice import MultipleChoice, of_source, tokens_after
from healthgym.evaluation.benchmarks.my_questions import prompt as own_prompt
from healthgym.evaluation.benchmarks.pubmedqa import prompt as pubmedqa_prompt
from healthgym.evaluation.candidate import Candidate, Options, OptionScores
from healthgym.evaluation.items import Item, attempts_at
from healthgym.evaluation.questions import DECISIONS, question
from healthgym.evaluation.rows import Row
from healthgym.evaluation.summary import summarise_rows
from healthgym.rollout.policy import TurnRequest, TurnResult

FOUR = {"A": "rest", "B": "aspirin", "C": "surgery at once", "D": "none"}


def item(number: int = 0, answer: str = "B", options: Mapping[str, str] = FOUR, context: str | None = None) -> Item:
    return question(
        "here", id=f"q{number}", text=f"What helps case {number}?", options=options, answer=answer, context=context,
        strata={"subset": "anatomy"},
    )  # fmt: skip


def benchmark(items: Sequence[Item], prompt: Any = medqa_prompt) -> MultipleChoice:
    return of_source(Source(), name="own", title="Own", read=lambda source: items, prompt=prompt)


class Characters:
    """A tokenizer whose tokens are characters."""

    def __call__(self, texts: list[str]) -> dict[str, list[list[int]]]:
        return {"input_ids": [self.encode(text) for text in texts]}

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(character) for character in text]


class Template:
    tokenizer = Characters()

    def prompt_ids(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        return self.tokenizer.encode(messages[-1]["content"])


class Writer:
    """Answers every prompt by one function of its text."""

    name = "writer"

    def __init__(self, write: Callable[[str], str], clipped: bool = False, error: str | None = None) -> None:
        self.write, self.clipped, self.error = write, clipped, error
        self.waiting: list[TurnRequest] = []

    def submit(self, request: TurnRequest) -> None:
        self.waiting.append(request)

    def poll(self) -> list[TurnResult]:
        done, self.waiting = self.waiting, []
        return [
            TurnResult(one.key, self.write(one.messages[-1]["content"]), clipped=self.clipped, error=self.error)
            for one in done
        ]

    def cancel(self, key: int) -> None:
        return None


def candidate(
    likes: Callable[[str, str], float] | None = None, write: Callable[[str], str] = lambda text: "B", **words: Any
) -> Candidate:
    """Return one that finds a continuation after a prompt as likely as `likes` says, and writes what `write` says."""

    def score(requests: Sequence[Options], on_done: Callable[[OptionScores], None]) -> None:
        assert likes is not None
        for request in reversed(requests):
            prompt = "".join(map(chr, request.prompt_ids))
            logps = tuple(likes(prompt, "".join(map(chr, one))) for one in request.continuations)
            on_done(OptionScores(request.key, logps))

    limit = words.pop("max_context", None)
    return Candidate(
        name="scripted", engine="test", policy=Writer(write, **words), template=Template(),  # type: ignore[arg-type]
        loglikelihoods=None if likes is None else score, max_context=limit,
    )  # fmt: skip


def rows(items: Sequence[Item], who: Candidate, prompt: Any = medqa_prompt, **options: Any) -> list[Row]:
    kept: list[Row] = []
    settings = Settings(mode="text", options=options)
    benchmark(items, prompt).measure(attempts_at(items, 1), who, settings, None, lambda row, _=None: kept.append(row))
    assert sorted(row.id for row in kept) == sorted(one.id for one in items)
    return kept


def likes_b(prompt: str, continuation: str) -> float:
    return {" B": -1.0, " aspirin": -8.0, " rest": -6.0, " surgery at once": -9.0, " none": -20.0}.get(
        continuation, -2.0
    )


def test_prompts_are_those_of_lm_evaluation_harness():
    content = item(context="A trial.").content
    listed = "A. rest\nB. aspirin\nC. surgery at once\nD. none\nAnswer:"
    assert medqa_prompt(content, True) == f"Question: What helps case 0?\n{listed}"
    assert medmcqa_prompt(content, True) == f"Question: What helps case 0?\nChoices:\n{listed}"
    about = "The following are multiple choice questions (with answers) about anatomy.\n\n"
    assert mmlu_prompt(content, True) == f"{about}What helps case 0?\n{listed}"
    assert pubmedqa_prompt(content, True) == "Abstract: A trial.\nQuestion: What helps case 0?\nAnswer:"


@pytest.mark.parametrize("prompt", [medqa_prompt, medmcqa_prompt, mmlu_prompt, own_prompt])
def test_the_blind_prompt_holds_the_options_and_nothing_of_the_question(prompt: Any):
    blind = prompt(item(context="A trial.").content, False)
    assert "surgery at once" in blind and "helps" not in blind and "trial" not in blind


def test_the_blind_prompt_of_yes_or_no_holds_the_question_without_its_context():
    content = item(options=DECISIONS, answer="no", context="A trial.").content
    for prompt in (pubmedqa_prompt, own_prompt):
        assert prompt(content, False) == "Question: What helps case 0?\nAnswer:"


def test_letter_and_texts_are_scored_in_one_reading():
    (row,) = rows([item()], candidate(likes_b))
    # Letter: B at -1. Text: rest at -6 is likeliest. By length: rest -6 / 4 = -1.5, aspirin -8 / 7 = -1.14, surgery at once
    # -9 / 15 = -0.6, none -20 / 4 = -5.
    assert row.status == "answered" and row.prediction == "B" and row.score == 1.0
    assert row.detail["likeliest"] == {"label": "B", "text": "A", "text_norm": "C"}
    assert row.scores == {"letter": 1.0, "option_text": 0.0, "option_text_norm": 0.0}
    assert row.gold == "B" and row.strata == {"subset": "anatomy"} and row.cluster == "q0"


def test_the_blind_reading_sees_no_question():
    def likes(prompt: str, continuation: str) -> float:
        return float(continuation == (" B" if "helps" in prompt else " D"))

    (row,) = rows([item()], candidate(likes), blind=True, option_text=False)
    assert row.scores == {"letter": 1.0, "blind": 0.0, "no_options": 1.0}
    assert row.detail["likeliest"] == {"label": "B", "blind": "D", "no_options": "B"}


def test_the_reading_without_options_sees_the_question_alone():
    seen: list[str] = []

    def likes(prompt: str, continuation: str) -> float:
        seen.append(prompt)
        return float(continuation == (" C" if "A. rest" not in prompt else " B"))

    (row,) = rows([item()], candidate(likes), blind=True, option_text=False)
    assert "Question: What helps case 0?\nAnswer:" in seen
    assert row.scores == {"letter": 1.0, "blind": 1.0, "no_options": 0.0}
    (row,) = rows(
        [item(options=DECISIONS, answer="no", context="A trial.")], candidate(likes), pubmedqa_prompt, blind=True
    )
    assert set(row.scores) == {"letter", "blind"}


def test_a_floor_that_was_measured_is_a_floor_of_the_result():
    kept = rows([item(number) for number in range(4)], candidate(likes_b), blind=True)
    floors = summarise_rows(kept, floors=benchmark([]).floors([item(number) for number in range(4)])).to_dict()[
        "floors"
    ]
    found = {floor["name"]: (floor["score"], floor["interval_is"]) for floor in floors}
    assert found["blind"] == found["no_options"] == (1.0, "around")


def test_a_written_answer_that_is_none_lowers_no_score():
    (row,) = rows([item()], candidate(likes_b, write=lambda text: "I'm sorry, I can't help with that."), reading="both")
    assert row.status == "answered" and row.detail["written_status"] == "refused" and "generated" not in row.scores


def test_yes_and_no_are_continuations_themselves():
    (row,) = rows([item(options=DECISIONS, answer="no")], candidate(lambda p, c: float(c == " no")), pubmedqa_prompt)
    assert row.prediction == "no" and row.score == 1.0 and row.scores == {"letter": 1.0}


@pytest.mark.parametrize(
    ("written", "clipped", "status", "prediction"),
    [
        ("The answer is B.", False, "answered", "B"), ("The answer is C.", True, "answered", "C"), ("Hmm.", False, "unparsed", None),
        ("Let me think about", True, "truncated", None), ("I'm sorry, I can't help with that.", False, "refused", None),
        ("spam and eggs and " * 40, True, "degenerate", None), ("A or B", False, "unparsed", None), ("", False, "unparsed", None),
    ],
)  # fmt: skip
def test_written_answers_have_their_status(written: str, clipped: bool, status: str, prediction: str | None):
    (row,) = rows([item()], candidate(write=lambda text: written, clipped=clipped), reading="generate")
    assert (row.status, row.prediction) == (status, prediction) and row.output == written
    assert row.score == (None if status != "answered" else float(prediction == "B"))
    assert row.scores == ({"generated": float(prediction == "B")} if status == "answered" else {})


def test_both_readings_keep_one_row_with_the_likelihood_as_headline():
    (row,) = rows([item()], candidate(likes_b, write=lambda text: "C"), reading="both")
    assert row.score == 1.0 and row.prediction == "B" and row.output == "C"
    assert row.scores["letter"] == 1.0 and row.scores["generated"] == 0.0 and row.detail["written"] == "C"


def test_the_model_is_asked_for_a_letter_or_a_word():
    seen: list[str] = []
    items = [item(), item(1, options=DECISIONS, answer="yes")]
    rows(items, candidate(write=lambda text: seen.append(text) or ""), reading="generate")
    assert seen[0].endswith("D. none\n\nAnswer with the letter of the one correct option (A, B, C, D).")
    assert seen[1].endswith("Answer with one word: yes, no, maybe.") and "Answer:" not in seen[1]


def test_rescoring_gives_the_same_row_and_needs_no_model():
    for options in ({"blind": True}, {"reading": "both"}, {"reading": "generate"}):
        (row,) = rows([item()], candidate(likes_b), **options)
        assert benchmark([item()]).rescore(row, item()) == row
        stored = Row.from_record(row.to_record())
        wrong = benchmark([item()]).rescore(stored, item(answer="D"))
        assert wrong.score == 0.0 and wrong.gold == "D"


def test_likelihoods_are_asked_for_in_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("healthgym.evaluation.benchmarks.multiple_choice.BLOCK", 2)
    kept = rows([item(number) for number in range(5)], candidate(likes_b), blind=True)
    # Each block of two comes back to front, as this engine hands it over.
    assert [row.id for row in kept] == ["q1", "q0", "q3", "q2", "q4"]


def test_a_prompt_too_long_and_a_broken_engine_are_errors_of_ours():
    (row,) = rows([item()], candidate(likes_b, max_context=10), blind=True)
    assert row.status == "infra_error" and "do not fit the 10 positions" in row.error
    (row,) = rows([item()], candidate(lambda p, c: float("nan")))
    assert row.status == "infra_error" and "no numbers" in row.error
    (row,) = rows([item()], candidate(error="refused connection"), reading="generate")
    assert row.status == "infra_error" and row.error == "refused connection"
    assert benchmark([item()]).rescore(row, item()) == row


def test_a_question_far_too_long_is_encoded_once_and_not_once_more_for_every_option(monkeypatch: pytest.MonkeyPatch):
    encoded: list[int] = []
    encode = Characters.encode

    def counting(self: Characters, text: str, add_special_tokens: bool = True) -> list[int]:
        encoded.append(len(text))
        return encode(self, text)

    monkeypatch.setattr(Characters, "encode", counting)
    many = item(options={f"L{number}": "rest " * 20 for number in range(100)}, answer="L7")
    (row,) = rows([many], candidate(likes_b, max_context=2000))
    # 100 options of about 105 characters; their 100 labels and 100 texts would have been encoded behind it each.
    assert row.status == "infra_error" and len(encoded) == 1 and encoded[0] > 10_000
    assert f"the prompt's {encoded[0]} tokens do not fit the 2000 positions" in row.error


def test_a_candidate_without_likelihoods_is_told_to_write():
    with pytest.raises(ConfigError, match="--set reading=generate"):
        rows([item()], candidate())


@pytest.mark.parametrize(
    ("options", "word"),
    [({"reading": "guess"}, "likelihood, generate, both"), ({"blind": 3}, "blind must be yes or no")],
)
def test_unknown_readings_are_refused(options: dict[str, Any], word: str):
    with pytest.raises(ConfigError, match=word):
        rows([item()], candidate(likes_b), **options)


def test_floors_are_those_of_guessers():
    # Gold A, A, B, D: A in half. Longest text: C everywhere but in the last, where A and D tie: half of one in four.
    tied = {"A": "long", "B": "no", "C": "no!", "D": "more"}
    items = [item(0, "A"), item(1, "A"), item(2, "B"), item(3, "D", tied)]
    found = {floor.name: floor.score for floor in benchmark(items).floors(items)}
    assert found == {"majority": 0.5, "random": 0.25, "longest_option": 0.125, "no_options": None, "blind": None}
    decisions = [item(0, "yes", DECISIONS), item(1, "no", DECISIONS)]
    assert {floor.name for floor in benchmark(decisions).floors(decisions)} == {"majority", "random", "blind"}
    assert benchmark([]).floors([]) == []


def test_constant_and_longest_guessers_earn_their_floors():
    items = [item(number, answer) for number, answer in enumerate("AABD")]
    for letter, share in (("A", 0.5), ("C", 0.0)):
        kept = rows(items, candidate(lambda p, c, letter=letter: float(c == f" {letter}")))
        assert sum(row.score or 0.0 for row in kept) / 4 == share


def test_agentic_mode_is_a_part_of_its_own():
    plain = MultipleChoice(name="own", title="Own", read=lambda: [item()], prompt=medqa_prompt)
    assert plain.modes == ("text",)
    with pytest.raises(ConfigError, match="no agentic mode"):
        plain.measure([], candidate(likes_b), Settings(mode="agentic"), None, lambda row, _=None: None)
    played: list[int] = []
    part = replace(plain, play=lambda attempts, *rest: played.append(len(attempts)))
    part.measure(attempts_at(part.items(), 2), candidate(), Settings(mode="agentic"), None, lambda row, _=None: None)
    assert part.modes == ("text", "agentic") and played == [2]


def test_continuations_joined_to_the_prompt_are_encoded_alone():
    class Joins(Characters):
        """Merges a colon and what follows into one token."""

        def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
            return super().encode(text.replace(": ", "\u2236"))

    ids, parts = tokens_after(Joins(), "Answer:", [" A"])
    assert "".join(map(chr, ids)) == "Answer:" and "".join(map(chr, parts[0])) == " A"
    assert tokens_after(Characters(), "Answer:", [" A"])[1] == [[32, 65]]
