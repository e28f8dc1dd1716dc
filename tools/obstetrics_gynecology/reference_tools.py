"""Reference tools: protocols, drug choices, safety by trimester, timing of birth, contraceptive eligibility."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import find_drug
from healthgym.knowledge_base.schema import Sign, Symptom
from healthgym.toolkit import Toolkit, tool

from .action_tools import known_drug
from .tables import table


def trimester(weeks: float) -> int:
    """Return the trimester: first below 14 weeks, third from 28. Source: ACOG, How your fetus grows, 2024."""
    return 1 if weeks < 14 else 2 if weeks < 28 else 3


def _row(name: str, key: str) -> dict[str, object]:
    rows = table(name)
    wanted = key.strip().lower().replace(" ", "_")
    if wanted not in rows:
        raise ToolError(f"Nothing on {key[:40]!r}.{nearest(wanted[:40], rows)} Known: {', '.join(rows)}.")
    return rows[wanted]


class ReferenceTools(Toolkit):
    """Looking up what the department has written down; nothing here looks at a patient."""

    @tool()
    def protocol(self, topic: str) -> str:
        """Read a department protocol in brief.

        Args:
            topic: For example hypertension, postpartum_haemorrhage, ctg, induction.
        """
        row = _row("protocols", topic)
        self.world.reveal("kb", f"protocol.{row['id']}")
        return f"{row['text']} ({row['source']})"

    @tool()
    def drug_choices(self, indication: str) -> str:
        """Read which drugs serve an indication in pregnancy or after birth, in order, with their limits.

        Args:
            indication: For example urinary_infection, severe_hypertension, second_uterotonic.
        """
        row = _row("choices", indication)
        self.world.reveal("kb", f"choices.{row['id']}")
        parts = []
        for item in row["drugs"]:  # type: ignore[attr-defined]
            limit = f" ({item['limit']})" if item.get("limit") else ""
            parts.append(f"{item['drug']}{limit}")
        return f"{row['id']}: {', else '.join(parts)}. {row['source']}"

    @tool()
    def drug_in_pregnancy(self, drug: str, weeks: Annotated[int, Field(ge=0, le=42)]) -> str:
        """Look up whether a drug is safe at this point of pregnancy, and while breastfeeding.

        Args:
            drug: For example warfarin.
            weeks: Completed weeks.
        """
        found, third = find_drug(known_drug(drug)), trimester(weeks)
        self.world.reveal("kb", f"pregnancy.{found.id}")
        advice, milk = found.pregnancy, found.lactation
        if advice is None:
            said = "no advice on record"
        else:
            level = "avoid" if found.avoid_in_trimester(third) else advice.level
            level = "caution" if level == "avoid" and not found.avoid_in_trimester(third) else level
            said = f"{level} ({advice.reason})" if advice.reason else level
        nursing = f"; breastfeeding: {milk.level}" if milk is not None else ""
        return f"{found.id}, trimester {third}: {said}{nursing}"

    @tool()
    def delivery_timing(self, reason: str) -> str:
        """Look up at which week birth is advised for a reason.

        Args:
            reason: For example preeclampsia, late_term, growth_below_3rd.
        """
        row = _row("timing", reason)
        self.world.reveal("kb", f"timing.{row['id']}")
        return f"{row['id']}: {row['weeks']} ({row['source']})"

    @tool()
    def condition_list(self, finding: str = "") -> str:
        """List the emergencies of this room by id, with what points to them; with a finding only those it fits.

        Args:
            finding: A word or two, for example fever, bleeding, sudden.
        """
        kb, words = load(), set(finding.lower().replace("_", " ").split())
        findings: dict[str, Symptom | Sign] = {**kb.symptoms, **kb.signs}
        lines = []
        for name in table("presentations"):
            condition = kb.conditions[name]
            signs = [findings[key].text.rstrip(".").lower() for key in condition.key_findings]
            text = f"{name}: {'; '.join(signs)}"
            if not words or words & set(text.replace(";", " ").replace(":", " ").replace("_", " ").split()):
                lines.append(text)
        if not lines:
            raise ToolError(f"No condition here fits {finding[:40]!r}. Leave finding empty to see all.")
        return "\n".join(lines)

    @tool()
    def contraception_category(self, method: str, condition: str) -> str:
        """Look up the US medical eligibility category (1 no limit to 4 unacceptable risk) of a contraceptive.

        Args:
            method: For example combined_pill, copper_iud, implant.
            condition: For example migraine_with_aura, none.
        """
        row = _row("contraception", condition)
        methods = [name for name in row if name not in ("id", "note")]
        wanted = method.strip().lower().replace(" ", "_")
        if wanted not in methods:
            raise ToolError(f"No method {method[:40]!r}.{nearest(wanted[:40], methods)} Known: {', '.join(methods)}.")
        self.world.reveal("kb", f"contraception.{row['id']}")
        return f"{wanted} with {row['id']}: category {row[wanted]}"
