"""Tools that look things up; nothing here looks at a patient."""

from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import interaction_between
from healthgym.toolkit import Toolkit, tool

from ..evidence.monograph import known_drug
from .instruments import instruments
from .qt import fridericia_ms
from .switching import washout_days
from .tables import table

InstrumentName = Literal["phq9", "gad7", "epds", "audit", "dast10", "cage", "ybocs", "pcl5", "mdq"]
Topic = Literal[
    "suicide_risk", "safety_plan", "alcohol_withdrawal", "violence", "rapid_tranquillisation", "lithium", "clozapine",
    "capacity", "differential", "first_drugs", "wash_out",
]  # fmt: skip


class ReferenceTools(Toolkit):
    """What the service has written down."""

    @tool()
    def instrument_guide(self, instrument: InstrumentName) -> str:
        """List an instrument's items, by the names used for item_scores, and its scale.

        Args:
            instrument: Which one.
        """
        form = instruments()[instrument]
        lines = [f"{form.title}, {form.period}. Scores: {form.scale['legend']}"]
        lines += [f"{number:2d} {item.id}: {item.text}" for number, item in enumerate(form.items, 1)]
        return "\n".join([*lines, form.closing] if form.closing else lines)

    @tool()
    def service_guide(self, topic: Topic) -> str:
        """Read the service's rules on one topic, with their source.

        Args:
            topic: Which topic.
        """
        self.world.reveal("kb", f"service.{topic}")
        steps = "; ".join(f"{name}: {row['action']}" for name, row in table("first_steps").items())
        orders = "; ".join(f"{name}: {', '.join(row['drugs'])}" for name, row in table("first_drugs").items())
        text = str(table("service_guide")[topic]).strip()
        return text.replace("{first_steps}", steps).replace("{first_drugs}", orders)

    @tool()
    def condition_features(self, condition: str) -> str:
        """List what a psychiatric condition shows, its key findings first.

        Args:
            condition: For example delirium.
        """
        kb, name = load(), condition.strip().lower().replace(" ", "_")
        known = [row for row in table("first_steps") if row in kb.conditions]
        if name not in known:
            raise ToolError(f"No condition {condition[:40]!r} in this service.{nearest(name[:40], known)}")
        profile = kb.conditions[name]
        texts = {**{k: v.text for k, v in kb.symptoms.items()}, **{k: v.text for k, v in kb.signs.items()}}
        key = ", ".join(texts[item].rstrip(".").lower() for item in profile.key_findings)
        often = [item for item, share in {**profile.symptoms, **profile.signs}.items() if share >= 0.5]
        also = ", ".join(texts[item].rstrip(".").lower() for item in often if item not in profile.key_findings)
        self.world.reveal("kb", f"condition.{name}")
        return f"{name}: key {key}; also {also or 'nothing typical'}. Source: {profile.source}."

    @tool()
    def check_interactions(self, drugs: Annotated[list[str], Field(min_length=2, max_length=12)]) -> str:
        """List the interactions between drugs, two by two.

        Args:
            drugs: Generic names, for example lithium and ibuprofen.
        """
        names = list(dict.fromkeys(known_drug(drug).id for drug in drugs))
        lines = []
        for a, b in combinations(names, 2):
            self.world.reveal("kb", "interactions." + ".".join(sorted((a, b))))
            found = interaction_between(a, b)
            if found is not None:
                lines.append(f"{a} + {b}: {found.severity}, {found.effect} ({found.source})")
        return "\n".join(lines) or "no interaction known"

    @tool()
    def wash_out(self, stopped: str, next_drug: str) -> str:
        """Give the days that must pass between the last dose of one antidepressant and the first of another.

        Args:
            stopped: The drug that was stopped, for example phenelzine.
            next_drug: The drug to start, for example sertraline.
        """
        first, second = known_drug(stopped).id, known_drug(next_drug).id
        days = washout_days(first, second)
        self.world.reveal("kb", f"washout.{first}.{second}", days, "days")
        return f"{first} to {second}: {days} days" if days else f"{first} to {second}: no wash-out on record"

    @tool()
    def corrected_qt(
        self, qt_ms: Annotated[int, Field(ge=200, le=800)], heart_rate_per_min: Annotated[int, Field(ge=20, le=250)]
    ) -> str:
        """Correct a QT interval for heart rate by Fridericia; 500 ms or more is high risk.

        Args:
            qt_ms: Measured QT in milliseconds.
            heart_rate_per_min: Beats per minute.
        """
        return f"QTcF {fridericia_ms(qt_ms, heart_rate_per_min):.0f} ms"
