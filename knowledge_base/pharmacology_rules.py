"""Spells interaction rules out into pairs of drugs and checks that they agree with the monographs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from healthgym.content import line_of, read_yaml
from healthgym.errors import ContentError, NotRegistered

from .pharmacology_schema import PATHWAYS, SEVERITIES, Drug, Interaction

Drugs = Mapping[str, Drug]
_NEEDS: dict[str, str] = {
    "bleeding": "bleeding",
    "serotonin_syndrome": "serotonergic",
    "anticholinergic_burden": "anticholinergic",
}
"""Mechanism to the flag that both drugs must carry."""


def expand(rules: Iterable[tuple[Path, Interaction]], drugs: Drugs) -> tuple[Interaction, ...]:
    """Return one interaction for every pair that the rules speak of.

    A rule naming two drugs wins over one naming a drug and a class, and that over one naming two classes; among equals
    the more severe wins, then the earlier.

    Raises:
        ContentError: an unknown drug or class, a drug paired with itself, a pair named twice, or a rule that the
            monographs contradict; names file, line, rule and remedy.
    """
    pairs: dict[frozenset[str], tuple[int, int, Interaction]] = {}
    for path, rule in rules:
        members_a, members_b = _members(rule.a, drugs, path, rule), _members(rule.b, drugs, path, rule)
        exactness = (rule.a in drugs) + (rule.b in drugs)
        if exactness == 2 and rule.a == rule.b:
            raise ContentError(f"{_place(path, rule)}: a drug cannot interact with itself; name another")
        if rule.alternative and rule.alternative not in drugs:
            raise ContentError(
                f"{_place(path, rule)}: alternative: {NotRegistered.named('drug', rule.alternative, drugs)}"
            )
        for a in members_a:
            for b in members_b:
                if a == b:
                    continue
                contradiction = disagreement(rule.mechanism, drugs[a], drugs[b])
                if contradiction:
                    raise ContentError(f"{_place(path, rule)}: {contradiction}; mend the rule or the monograph")
                made = rule.model_copy(update={"a": a, "b": b, "replace": {"a": a, "b": b}.get(rule.replace, "")})
                rank = (exactness, SEVERITIES.index(rule.severity))
                known = pairs.get(made.pair)
                if known and exactness == known[0] == 2:
                    raise ContentError(f"{_place(path, rule)}: this pair stands in another rule too; remove one")
                if not known or rank > known[:2]:
                    pairs[made.pair] = (*rank, made)
    return tuple(interaction for _, _, interaction in pairs.values())


def _place(path: Path, rule: Interaction) -> str:
    """Return file, line and names of a rule: the last in the file that pairs these two, for the earlier one was fine."""
    entries = read_yaml(path) if path.is_file() else []
    lines = [line_of(path, n) for n, entry in enumerate(entries) if (entry["a"], entry["b"]) == (rule.a, rule.b)]
    return f"{path}, line {lines[-1] if lines else 1}, rule {rule.a!r} with {rule.b!r}"


def _members(name: str, drugs: Drugs, path: Path, rule: Interaction) -> tuple[str, ...]:
    if name in drugs:
        return (name,)
    members = tuple(sorted(drug.id for drug in drugs.values() if name in drug.classes))
    if not members:
        classes = {item for drug in drugs.values() for item in drug.classes}
        raise ContentError(f"{_place(path, rule)}: {NotRegistered.named('drug or class', name, {*drugs, *classes})}")
    return members


def disagreement(mechanism: str, a: Drug, b: Drug) -> str:
    """Return how a mechanism contradicts the monographs of its two drugs, or ''.

    An enzyme or transporter needs a substrate on one side and an inhibitor or inducer on the other; bleeding, serotonin
    and anticholinergic effects need their flag on both sides, QT prolongation a CredibleMeds category on both.
    """
    if mechanism in PATHWAYS:
        fits = any(
            x.has_role(mechanism, "substrate") and y.has_role(mechanism, "inhibitor", "inducer")
            for x, y in ((a, b), (b, a))
        )
        return "" if fits else f"{a.id} and {b.id} are not substrate and inhibitor or inducer of {mechanism}"
    if mechanism == "qt_prolongation":
        lacking = [drug.id for drug in (a, b) if drug.qt_risk == "none"]
    elif mechanism == "hypokalaemia":
        lacking = [] if "lowers" in (a.potassium, b.potassium) else [a.id, b.id]
    elif mechanism == "hyperkalaemia":
        lacking = [drug.id for drug in (a, b) if drug.potassium != "raises"]
    elif mechanism in ("respiratory_depression", "sedation"):
        lacking = [drug.id for drug in (a, b) if not drug.sedative]
    elif mechanism in _NEEDS:
        lacking = [drug.id for drug in (a, b) if not getattr(drug, _NEEDS[mechanism])]
    else:
        lacking = []
    return f"{' and '.join(lacking)} have no part in {mechanism} by their monograph" if lacking else ""
