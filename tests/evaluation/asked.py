"""A benchmark of sums and candidates without a model: enough to see what the runner does."""

from collections.abc import Sequence

from healthgym.evaluation.asking import Ask, ask
from healthgym.evaluation.benchmark import Floor
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Item
from healthgym.evaluation.rows import Row
from healthgym.rollout import TurnResult


class Sums:
    """Asks for n + 1; odd n belong to one stratum, even n to another."""

    name, title, modes, scorer = "sums", "Sums", ("text",), "sums-1"

    def __init__(self, count: int = 10, *, lose: Sequence[str] = ()) -> None:
        self.count, self.lose = count, set(lose)
        self.asked: list[tuple[str, int]] = []

    def items(self):
        return [
            Item(id=f"s{n:03d}", content={"n": n, "gold": n + 1}, strata={"parity": "odd" if n % 2 else "even"})
            for n in range(self.count)
        ]

    def floors(self, items):
        return (Floor(name="random", score=0.1, how="guesses a digit"),)

    def measure(self, attempts, candidate, settings, services, keep):
        def take(reply):
            attempt = attempts[reply.key]
            item = attempt.item
            if item.id in self.lose:
                keep(Row(id=item.id, attempt=attempt.number, status="infra_error", error="server gone"))
                return
            self.asked.append(attempt.key)
            keep(self.row(item, attempt.number, reply.text, attempt.seed))

        asks = [
            Ask(place, [{"role": "user", "content": str(one.item.content["n"])}], one.seed)
            for place, one in enumerate(attempts)
        ]
        ask(candidate, asks, take, max_tokens=settings.max_tokens, in_flight=settings.in_flight)

    def row(self, item, number, text, seed):
        if not text.isdigit():
            return Row(id=item.id, attempt=number, status="unparsed", output=text, seed=seed, strata=item.strata)
        gold = str(item.content["gold"])
        return Row(
            id=item.id, attempt=number, status="answered", score=float(text == gold), prediction=text, gold=gold,
            output=text, seed=seed, strata=item.strata,
        )  # fmt: skip

    def rescore(self, row, item):
        return self.row(item, row.attempt, row.output, row.seed)


class Adder:
    """Answers right but for the numbers in `wrong`; `before` is told how many answers came before each."""

    name = "adder"

    def __init__(self, wrong=(), *, before=lambda answers: None) -> None:
        self.wrong, self.before, self.answers, self.waiting = set(wrong), before, 0, []

    def submit(self, request):
        self.waiting.append(request)

    def cancel(self, key):
        self.waiting = [request for request in self.waiting if request.key != key]

    def poll(self):
        request = self.waiting.pop(0)
        self.before(self.answers)
        self.answers += 1
        n = int(request.messages[-1]["content"])
        return [TurnResult(request.key, str(n if n in self.wrong else n + 1))]


def adder(*wrong: int, weights: str = "w1", **options) -> Candidate:
    return Candidate(
        name="adder", engine="scripted 1", policy=Adder(wrong, **options),
        hashes={"weights": weights, "chat_template": "none"}, sampling={"temperature": 0.0},
    )  # fmt: skip
