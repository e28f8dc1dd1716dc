"""Expands interaction rules to pairs of drugs and checks that they agree with the monographs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from healthgym.errors import ContentError, nearest

from .pharmacology_schema import SEVERITIES, Drug, Interaction, Mechanism, Rule

Drugs = Mapping[str, Drug]


def select(tokens: Iterable[str], drugs: Drugs, where: str) -> list[str]:
    """Return the drug ids that one side of a rule names.

    Tokens: a drug id, `class:ID`, `inhibitor:PATHWAY:STRENGTH`, `inducer:PATHWAY:STRENGTH`, `qt:RISK`, and
    `not:TOKEN` to take drugs away again.

    Raises:
        ContentError: a token that selects nothing; names the rule and the nearest id.
    """
    chosen: dict[str, None] = {}
    for token in tokens:
        found = _matches(token.removeprefix("not:"), drugs, where)
        for name in found:
            if token.startswith("not:"):
                chosen.pop(name, None)
            else:
                chosen[name] = None
    return list(chosen)


def _matches(token: str, drugs: Drugs, where: str) -> list[str]:
    kind, *rest = token.split(":")
    if not rest:
        found = [token] if token in drugs else []
    elif kind == "class":
        found = [name for name, drug in drugs.items() if rest[0] in drug.drug_class]
    elif kind == "qt":
        found = [name for name, drug in drugs.items() if drug.qt_risk == rest[0]]
    elif kind in ("inhibitor", "inducer") and len(rest) == 2:
        found = [name for name, drug in drugs.items() if getattr(drug.metabolism, kind).get(rest[0]) == rest[1]]
    else:
        raise ContentError(f"{where}: selector {token!r} is none of DRUG, class:, qt:, inhibitor:, inducer:, not:")
    if not found:
        known = {*drugs, *(f"class:{name}" for drug in drugs.values() for name in drug.drug_class)}
        raise ContentError(f"{where}: {token!r} selects no drug.{nearest(token, known)}")
    return found


def expand(rules: Iterable[tuple[Path, int, Rule]], drugs: Drugs) -> dict[tuple[str, str], Interaction]:
    """Return one interaction for every pair that a rule speaks of.

    A rule that names both drugs replaces rules that reach the pair through a selector; among the rest the most severe
    stands and the others' mechanisms are kept as `also`.

    Raises:
        ContentError: a drug paired with itself, two rules naming one pair, or a rule the monographs contradict.
    """
    named: dict[tuple[str, str], Interaction] = {}
    general: dict[tuple[str, str], list[Interaction]] = {}
    for path, number, rule in rules:
        where = f"{path}, rule {number} ({'/'.join(rule.a)} with {'/'.join(rule.b)})"
        side_a, side_b = select(rule.a, drugs, where), select(rule.b, drugs, where)
        by_name = not any(":" in token for token in (*rule.a, *rule.b))
        if by_name and set(side_a) & set(side_b) and len(side_a) * len(side_b) == 1:
            raise ContentError(f"{where}: a drug cannot interact with itself; name another")
        seen: set[tuple[str, str]] = set()
        for first in side_a:
            for second in side_b:
                pair = (min(first, second), max(first, second))
                if first == second or pair in seen:
                    continue
                seen.add(pair)
                contradiction = disagreement(rule, drugs[first], drugs[second])
                if contradiction:
                    raise ContentError(f"{where}: {contradiction}; mend the rule or the monograph")
                interaction = _interaction(rule, first, second, drugs, where)
                if not by_name:
                    general.setdefault(pair, []).append(interaction)
                elif pair in named:
                    raise ContentError(f"{where}: the pair {interaction.id} stands in another rule too; remove one")
                else:
                    named[pair] = interaction
    pairs = dict(named)
    for pair, found in general.items():
        winner = named.get(pair) or max(found, key=lambda item: item.rank)
        also = tuple(dict.fromkeys(i.mechanism for i in found if i.mechanism != winner.mechanism))
        pairs[pair] = winner.model_copy(update={"also": also})
    return dict(sorted(pairs.items(), key=lambda item: (-SEVERITIES.index(item[1].severity), item[0])))


def _interaction(rule: Rule, first: str, second: str, drugs: Drugs, where: str) -> Interaction:
    one_sided = rule.pathway is not None or rule.mechanism in ("absorption", "renal_excretion", "antagonism")
    alternatives: dict[str, tuple[str, ...]] = {}
    for token, replacements in rule.alternatives.items():
        for replacement in replacements:
            _matches(replacement, drugs, where)
        for name in _matches(token, drugs, where):
            if name in (first, second):
                alternatives[name] = tuple(item for item in replacements if item not in (first, second))
    for name in rule.max_daily_mg:
        _matches(name, drugs, where)
    pair = tuple(sorted((first, second)))
    return Interaction(
        id="+".join(pair),
        drugs=pair,  # type: ignore[arg-type]
        severity=rule.severity,
        mechanism=rule.mechanism,
        pathway=rule.pathway,
        acting=first if one_sided else None,
        affected=second if one_sided else None,
        effect=rule.effect,
        action=rule.action,
        advice=rule.advice,
        change={"a": (first,), "b": (second,), "either": (first, second)}[rule.change],
        max_daily_mg={name: limit for name, limit in rule.max_daily_mg.items() if name in pair},
        monitor=rule.monitor,
        separate_hours=rule.separate_hours,
        alternatives=alternatives,
        source=rule.source,
    )


def disagreement(rule: Rule, first: Drug, second: Drug) -> str:
    """Return how a rule contradicts the monographs of its pair, or ''."""
    if (
        rule.mechanism in ("enzyme_inhibition", "transporter_inhibition")
        and rule.pathway not in first.metabolism.inhibitor
    ):
        return f"{first.id} is no inhibitor of {rule.pathway} in its monograph"
    if rule.mechanism == "enzyme_induction" and rule.pathway not in first.metabolism.inducer:
        return f"{first.id} is no inducer of {rule.pathway} in its monograph"
    if rule.pathway is not None and rule.pathway not in second.metabolism.substrate:
        return f"{second.id} is no substrate of {rule.pathway} in its monograph"
    for drug in (first, second):
        if not _takes_part(rule.mechanism, drug):
            return f"{drug.id} has no part in {rule.mechanism} in its monograph"
    return ""


def _takes_part(mechanism: Mechanism, drug: Drug) -> bool:
    checks = {
        "additive_bleeding": drug.bleeding != "none",
        "additive_qt": drug.qt_risk != "none",
        "serotonin_toxicity": drug.serotonergic,
        "additive_sedation": drug.sedative,
        "hyperkalaemia": drug.potassium == "raises",
        "additive_bradycardia": "bradycardia" in drug.effects,
        "additive_hypotension": "hypotension" in drug.effects,
        "myopathy": "myopathy" in drug.effects,
        "myelosuppression": "myelosuppression" in drug.effects,
        "ototoxicity": "ototoxic" in drug.effects,
        "seizure_threshold": "lowers_seizure_threshold" in drug.effects,
        "anticholinergic_burden": drug.anticholinergic >= 2,
        "hyponatraemia": "hyponatraemia" in drug.effects,
        "intracranial_hypertension": "intracranial_hypertension" in drug.effects,
    }
    return checks.get(mechanism, True)
