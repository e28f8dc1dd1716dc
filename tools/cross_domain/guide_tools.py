"""Tools that look rules up: pathways, doses, handover headings, and which service can do what now."""

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from .act_tools import ActTools
from .loading import pathways
from .schema import PathwayName, Service


class GuideTools(ActTools):
    """References; none knows the patient."""

    @tool(minutes=1)
    def pathway_guide(self, pathway: PathwayName) -> str:
        """Read a pathway's rules, treatments, decisions and next actions.

        Args:
            pathway: Which pathway.
        """
        found = pathways()[pathway]
        self.world.reveal("kb", f"pathway.{pathway}")
        return "\n".join(
            [
                found.guide.strip(),
                f"Services: {', '.join(found.services)}.",
                f"Drugs: {', '.join(dict.fromkeys(rule.drug for rule in found.doses.values()))}.",
                f"Treatments: {', '.join(found.treatments)}.",
                f"Consults: {', '.join(found.consults)}.",
                f"decision: {', '.join(found.decisions)}.",
                f"next_action: {', '.join(found.next_actions)}.",
                f"Sources: {'; '.join(found.sources)}.",
            ]
        )

    @tool()
    def dose_guide(self, pathway: PathwayName, drug: str) -> str:
        """Look up how a drug is dosed on a pathway.

        Args:
            pathway: Which pathway.
            drug: For example aspirin.
        """
        rules = [rule for rule in pathways()[pathway].doses.values() if rule.drug == drug.strip().lower()]
        if not rules:
            known = list(dict.fromkeys(rule.drug for rule in pathways()[pathway].doses.values()))
            raise ToolError(
                f"No dose of {drug[:60]!r} on {pathway}.{nearest(drug[:60], known)} Known: {', '.join(known)}."
            )
        self.world.reveal("kb", f"dose.{pathway}.{rules[0].drug}")
        return "\n".join(f"{rule.drug}, {rule.use}: {rule.text} ({rule.source})" for rule in rules)

    @tool()
    def handover_template(self, pathway: PathwayName, to: Service) -> str:
        """See the headings that a handover note must cover.

        Args:
            pathway: Which pathway.
            to: Service that takes over.
        """
        headings = pathways()[pathway].headings.get(to)
        if headings is None:
            known = ", ".join(pathways()[pathway].headings)
            raise ToolError(f"No handover to {to} on {pathway}. Known: {known}.")
        self.world.reveal("kb", f"template.{pathway}.{to}")
        return "\n".join(f"- {name}: {what}" for name, what in headings.items())

    @tool(minutes=1)
    def service_directory(self) -> str:
        """Ask switchboard which services are open and how soon."""
        lines = [
            f"{name}: {state}"
            for chart in self.world.charts.values()
            for name, state in chart.extra.get("directory", {}).items()
        ]
        self.world.reveal("hospital", "directory")
        return "\n".join(lines) or "All services are open and staffed."
