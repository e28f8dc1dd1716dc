"""Proof that every tool can be called: on every patient with good arguments, and with every kind of bad ones."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from healthgym.registry import Domain
from healthgym.tasks import Call, Case
from healthgym.toolkit import ToolResult, ToolSpec
from healthgym.validation.arguments import ValuePool, bad_calls, draw_arguments, names_patient
from healthgym.validation.failures import FailureLog, describe
from healthgym.validation.replay import Played
from healthgym.world import Services, World

BAD_CASES = 6
"""Patients that bad arguments are tried on; the schema is the same for all, and so are the slips."""
_KNOWN = re.compile(r"Known: ([^.]+)")
_ID = re.compile(r"(?:\bid[\"']?\s*[:=]\s*[\"']?|\[)([\w:./#-]+)")
"""Ids as tools print them: "[kb-12]", "id: kb-12"."""
LONG_WAIT_MINUTES = 24 * 60.0
MAX_IDS = 12
"""Most ids of one tool's showing that are tried on a tool which has not run yet."""


class ToolTrials:
    """Tries every tool of a domain and counts the calls."""

    def __init__(self, domain: Domain, pool: ValuePool, log: FailureLog, services: Services | None = None) -> None:
        self.domain, self.pool, self.log, self.services = domain, pool, log, services
        self.calls = 0
        self._ran: set[str] = set()
        self._refusals: dict[str, str] = {}
        self._writes: dict[str, bool] = {}
        self._seen_ids: dict[str, dict[str, None]] = {}

    def observe(self, played: Played) -> None:
        """Take in an oracle's replay: which tools ran, which changed the state."""
        self.calls += len(played.touches)
        for touch in played.touches:
            if touch.error is None:
                self._ran.add(touch.tool)
                self._check_effect(touch.tool, touch.effect, touch.changed, played.episode.task.id)
                if touch.effect == "write":
                    self._writes[touch.tool] = self._writes.get(touch.tool, False) or touch.changed

    def try_patient(self, case: Case, played: Played | None, rng: np.random.Generator, *, bad: bool) -> None:
        """Call every permitted tool on this case's fresh world and on the world that its oracle left."""
        worlds = [World(case.charts, services=self.services)]
        if played is not None:
            worlds.append(played.episode.world)
        own = {call.tool: call for call in case.task.solution}
        names = case.task.tools or tuple(self.domain.tools)
        for spec in (self.domain.tools[name] for name in names if name in self.domain.tools):
            for world in worlds:
                for arguments in self._good_arguments(spec, case, own.get(spec.name), rng):
                    self._good(spec, arguments, world, case)
            if bad:
                good = (
                    dict(own[spec.name].arguments)
                    if spec.name in own
                    else self._good_arguments(spec, case, None, rng)[0]
                )
                for slip in bad_calls(spec, good):
                    self._bad(spec, slip.slip, slip.argument, slip.arguments, slip.must_refuse, worlds[0], case)

        if any(name in self.domain.tools and name not in self._ran for name in names):
            self._try_late(case, names, rng)

    def _try_late(self, case: Case, names: Iterable[str], rng: np.random.Generator) -> None:
        """Call tools that have not run yet where much has been done and a day has passed, with ids that were shown."""
        specs = [self.domain.tools[name] for name in names if name in self.domain.tools]
        world = World(case.charts, services=self.services)
        for spec in [spec for spec in specs if spec.effect == "write"]:
            arguments = draw_arguments(spec, case, rng, self.pool)
            self._run(spec, arguments, world, f"after other changes, with valid arguments {_short(arguments)}", case)
        world.advance(LONG_WAIT_MINUTES)
        for spec in [spec for spec in specs if spec.name not in self._ran]:
            for arguments in self._good_arguments(spec, case, None, rng):
                self._good(spec, arguments, world, case)
                for shown in self._shown_ids() if spec.name not in self._ran else ():
                    ids = {name: shown for name in arguments if name.endswith("_id") and not names_patient(name)}
                    if ids:
                        self._call(spec, {**arguments, **ids}, world, f"an id that was shown {_short(ids)}", case)

    def _shown_ids(self) -> list[str]:
        """Return ids that tools have shown, some of every tool, so that one which shows many hides no other's."""
        return list(dict.fromkeys(shown for seen in self._seen_ids.values() for shown in list(seen)[:MAX_IDS]))

    def conclude(self) -> None:
        """Log tools that never ran, and write tools that never wrote."""
        for name in self.domain.tools:
            if name not in self._ran:
                self.log.add(
                    "tool", name, f"no valid call ever ran; the last answer was: {self._refusals.get(name, '(never called)')}",
                    "Give an example value in the argument's description (\"For example warfarin.\"), use the tool in an "
                    "oracle, or mend it.",
                )  # fmt: skip
        for name, wrote in self._writes.items():
            if not wrote:
                self.log.add(
                    "tool", name, "is declared a write tool, and no oracle's call of it changed the state",
                    "Write through self.world.state or self.world.order, or declare effect='read'.",
                )  # fmt: skip

    def _good_arguments(
        self, spec: ToolSpec, case: Case, own: Call | None, rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        drawn = [draw_arguments(spec, case, rng, self.pool), draw_arguments(spec, case, rng, self.pool, use_pool=False)]
        return [*drawn, dict(own.arguments)] if own is not None else drawn

    def _good(self, spec: ToolSpec, arguments: dict[str, Any], world: World, case: Case) -> None:
        result = self._call(spec, arguments, world, f"valid arguments {_short(arguments)}", case)
        if result is None or result.error is None or spec.name in self._ran:
            return
        self._refusals[spec.name] = result.error[:200]
        for repaired in _as_suggested(spec, arguments, result.error):
            self._call(spec, repaired, world, f"the values its own message offers {_short(repaired)}", case)

    def _bad(
        self,
        spec: ToolSpec,
        slip: str,
        argument: str,
        arguments: dict[str, Any],
        must_refuse: bool,
        world: World,
        case: Case,
    ) -> None:
        result = self._call(spec, arguments, world, f"{slip} for {argument!r}", case)
        if result is not None and result.error is None and must_refuse:
            self.log.add(
                "tool", spec.name, f"accepted {slip} for {argument!r}",
                "Declare the type and its bounds in the signature, or raise ToolError saying what is expected.",
                example=f"{case.task.id}: {_short({argument: arguments.get(argument)})} gave {result.content[:80]!r}",
            )  # fmt: skip

    def _call(
        self, spec: ToolSpec, arguments: Mapping[str, Any], world: World, how: str, case: Case
    ) -> ToolResult | None:
        """Call a tool on a copy of the world; log a change of state that its effect does not allow."""
        copy = world.fork()
        before = copy.state.hash()
        result = self._run(spec, arguments, copy, how, case)
        if result is None:
            return None
        changed = copy.state.hash() != before
        if result.error is not None:
            if changed:
                self.log.add(
                    "tool", spec.name, "changed the state and then refused the call",
                    "Check everything before the first write.", example=f"{case.task.id}: {how}",
                )  # fmt: skip
            return result
        self._ran.add(spec.name)
        seen = self._seen_ids.setdefault(spec.name, {})
        if len(seen) < MAX_IDS:
            seen.update(dict.fromkeys(_ID.findall(result.content)))
        self._check_effect(spec.name, spec.effect, changed, case.task.id)
        return result

    def _run(
        self, spec: ToolSpec, arguments: Mapping[str, Any], world: World, how: str, case: Case
    ) -> ToolResult | None:
        """Call a tool on this very world; log what it raises and return None then."""
        self.calls += 1
        try:
            return self.domain.toolkit(world).call(spec.name, arguments)
        except Exception as error:  # whatever an author's tool raises; finding these is the purpose
            self.log.add(
                "tool", spec.name, f"raised {describe(error)}",
                "Raise ToolError for an agent's mistake, saying what is expected; mend the tool for anything else.",
                example=f"{case.task.id}: {how}", key=f"raised {type(error).__name__}",
            )  # fmt: skip
            return None

    def _check_effect(self, name: str, effect: str, changed: bool, example: str) -> None:
        if changed and effect in ("read", "think"):
            self.log.add(
                "tool", name, f"is declared {effect!r} and changed the state",
                "Declare effect='write', or keep what is learnt in world.reveal.", example=example,
            )  # fmt: skip


def _as_suggested(spec: ToolSpec, arguments: Mapping[str, Any], message: str) -> Iterable[dict[str, Any]]:
    """Yield the call again with each text argument set to the first names that the refusal itself offers."""
    found = _KNOWN.search(message)
    if not found:
        return
    for known in [part.strip() for part in found[1].split(",") if "..." not in part][:2]:
        for name, schema in spec.parameters["properties"].items():
            if name in arguments and not names_patient(name):
                if schema.get("type") == "string":
                    yield {**arguments, name: known}
                elif schema.get("type") == "array":
                    yield {**arguments, name: [known] * max(1, int(schema.get("minItems", 1)))}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
