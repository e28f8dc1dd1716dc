"""What single answers are sampled with: another seed for every item and attempt, whatever else is asked beside them."""

import json

import pytest
from answering import AnsweringPolicy

from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import attempts_at


class Noting(AnsweringPolicy):
    """Notes the seed of every prompt."""

    def __init__(self):
        super().__init__(lambda messages: "A")
        self.seeds = {}

    def submit(self, request):
        self.seeds[request.messages[-1]["content"]] = request.seed
        super().submit(request)


def long_form(path):
    (path / "qa.csv").write_text("Question,Answer\nWhat is it?,a drug\nIs it safe?,mostly\n")
    return load_benchmark("medication_qa", Source(path=path / "qa.csv"))


def multiple_choice(path):
    rows = [
        {"id": name, "question": f"{name}?", "options": ["pain", "fever"], "answer": "A"} for name in ("one", "two")
    ]
    (path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_benchmark("my_questions", Source(path=path / "own.jsonl"))


def safety_prompts(path):
    rows = [{"id": name, "prompt": f"Tell me {name}.", "expected": "comply"} for name in ("one", "two")]
    (path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_benchmark("safety_prompts", Source(path=path / "prompts.jsonl"))


@pytest.mark.parametrize("make", [long_form, multiple_choice, safety_prompts])
def test_items_of_one_attempt_are_drawn_with_seeds_of_their_own_that_a_resumed_run_keeps(make, tmp_path):
    benchmark = make(tmp_path)

    def seeds(attempts):
        policy = Noting()
        settings = Settings(mode="text", options={"reading": "generate"})
        benchmark.measure(
            attempts, Candidate(name="n", engine="test", policy=policy), settings, None, lambda *row: None
        )
        return policy.seeds

    attempts = attempts_at(benchmark.items(), 2)  # one 0, one 1, two 0, two 1
    first, second = seeds(attempts[::2]), seeds(attempts[1::2])
    assert len({*first.values(), *second.values()}) == 4
    assert seeds(attempts[2:3]).items() < first.items()
