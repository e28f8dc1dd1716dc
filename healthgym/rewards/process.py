"""Process: was the evidence seen before deciding, in the right order, without wasted calls."""

from healthgym.rewards.record import EpisodeRecord
from healthgym.tasks import Order
from healthgym.world import Fact

REPEAT_PENALTY = 0.1
MAX_REPEAT_PENALTY = 0.5


def evidence_share(record: EpisodeRecord) -> tuple[float, tuple[str, ...]]:
    """Return the share of required evidence that was seen (1 when none is required) and the labels of what was not."""
    required = record.task.criteria.evidence
    known = known_when_deciding(record)
    missing = tuple(item.label for item in required if not item.is_met(known))
    return (1 - len(missing) / len(required) if required else 1.0), missing


def known_when_deciding(record: EpisodeRecord) -> dict[str, Fact]:
    """Return the facts that were known when the last message was written.

    Calls sent in one message with the submission answer too late: the agent had not read them when it decided.
    """
    facts = record.world.facts
    if record.submission is None:
        return facts
    late = {key for call in record.world.calls if call.turn == record.world.turn for key in call.learnt}
    return {key: fact for key, fact in facts.items() if key not in late}


def process(record: EpisodeRecord) -> float:
    """Return the share of evidence and order constraints met, less 0.1 for each repeated call (0.5 at most)."""
    criteria, known = record.task.criteria, known_when_deciding(record)
    met = [item.is_met(known) for item in criteria.evidence]
    met += [_in_order(record, order) for order in criteria.order]
    if not record.world.calls:
        return 0.0
    share = sum(met) / len(met) if met else 1.0
    repeats = sum(call.repeated for call in record.world.calls)
    return max(0.0, share - min(MAX_REPEAT_PENALTY, REPEAT_PENALTY * repeats))


def _in_order(record: EpisodeRecord, order: Order) -> bool:
    """Say whether `first` ran before every `then` on the same patient; a `then` that never ran breaks nothing.

    A call without a patient, such as most submissions, speaks of all of them.
    """
    done: set[str] = set()
    for call in record.world.calls:
        if call.error is not None:
            continue
        patient = str(call.arguments.get("patient_id", ""))
        if call.tool == order.first:
            done.add(patient)
        elif call.tool == order.then and not (done if not patient else done & {patient, ""}):
            return False
    return True
