"""`healthgym play`: a person plays an episode in the terminal."""

import json
import shlex
from typing import Annotated, Any

import typer
from rich.markdown import Markdown

from healthgym import screen
from healthgym.cli.output import Json, console, print_json
from healthgym.envs import ClinicalEnv
from healthgym.errors import HealthgymError, nearest

HELP = "Type a tool with its arguments ({example}), or: rules, tools, help TOOL, status, quit."


def play(
    domain: Annotated[str, typer.Argument(help="Registered name or folder of the domain.")],
    task: Annotated[str | None, typer.Option("--task", "-t", help="Task id; drawn by the seed when absent.")] = None,
    split: Annotated[str, typer.Option("--split", "-s", help="Split to draw from.")] = "train",
    seed: Annotated[int, typer.Option(help="Draws the task.")] = 0,
    as_json: Json = False,
) -> None:
    """Play one episode yourself: read the case, call tools, submit, see the scores.

    Example: healthgym play triage_emergency --seed 7
    """
    env = ClinicalEnv(domain, split=split)
    _, info = env.reset(seed=seed, options={"task_id": task} if task else None)
    colour = console.is_terminal and not console.no_color
    if not as_json and env.episode is not None:
        console.print(screen.opening(env.episode, colour=colour))
        console.print(how_to(env), markup=False)
    while True:
        line = _ask()
        if line is None or line in ("quit", "exit", "q"):
            break
        if not line:
            continue
        if _answered_locally(line, env, info):
            continue
        try:
            call = read_call(line, env)
        except HealthgymError as error:
            console.print(str(error), style="yellow", markup=False)
            continue
        observation, reward, terminated, truncated, info = env.step({"content": "", "tool_calls": [call]})
        if not as_json and observation and env.episode is not None:
            console.print(screen.reply(observation, env.episode, colour=colour))
        if terminated or truncated:
            return _finish(env, info, reward, as_json)
    if as_json:
        print_json({"task_id": info["task_id"], "stop_reason": None, "success": None})
    else:
        console.print("Stopped before the end; nothing was scored.")
    return None


def how_to(env: ClinicalEnv) -> str:
    """Return how to play, with a call of this task's own tools as the example."""
    permitted = env.episode.permitted if env.episode is not None else env.domain.tools
    own = [spec for spec in permitted.values() if spec.domain == env.domain.name and spec.effect == "read"]
    shown = sorted(own, key=lambda spec: list(spec.parameters["properties"]) != ["patient_id"])
    arguments = " patient_id=P1" if shown and "patient_id" in shown[0].parameters["properties"] else ""
    return HELP.format(example=f"{shown[0].name}{arguments}" if shown else "TOOL argument=value")


def read_call(line: str, env: ClinicalEnv) -> dict[str, Any]:
    """Read `tool key=value ...` or `tool {"key": value}` into a structured call."""
    name, _, rest = line.partition(" ")
    rest = rest.strip()
    known = env.episode.permitted if env.episode is not None else env.domain.tools
    if name not in known:
        raise HealthgymError(f"No tool {name[:60]!r} here.{nearest(name[:60], known)} Nothing was played.")
    if rest.startswith("{"):
        try:
            return {"function": {"name": name, "arguments": json.loads(rest)}}
        except json.JSONDecodeError as error:
            raise HealthgymError(f"The arguments are not valid JSON: {error}") from None
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise HealthgymError(f"Could not read the line: {error}. Quote texts: question='Any allergies?'") from None
    arguments: dict[str, Any] = {}
    names = iter(_argument_names(env, name))
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            key, value = next((free for free in names if free not in arguments), ""), word
            if not key:
                raise HealthgymError(f"{word!r} has no argument name; write {name} key=value")
        arguments[key] = _value(value)
    return {"function": {"name": name, "arguments": arguments}}


def _argument_names(env: ClinicalEnv, tool: str) -> list[str]:
    spec = env.domain.tools.get(tool)
    return list(spec.parameters["properties"]) if spec else []


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.split(",") if "," in text and " " not in text else text


def _ask() -> str | None:
    try:
        return console.input("[bold]> [/]").strip()
    except EOFError:
        return None


def _answered_locally(line: str, env: ClinicalEnv, info: dict[str, Any]) -> bool:
    episode = env.episode
    if episode is None:
        return False
    if line in ("tools", "help", "?"):
        console.print(screen.tool_list(episode))
        console.print(how_to(env), markup=False)
        return True
    if line == "rules":
        console.print(Markdown(env.domain.guideline))
        return True
    if line.startswith("help "):
        spec = episode.permitted.get(line.removeprefix("help ").strip())
        if spec is None:
            console.print(f"No such tool here. {how_to(env)}", markup=False)
        else:
            console.print(screen.tool_help(spec))
        return True
    if line == "status":
        console.print(screen.known(episode))
        return True
    return False


def _finish(env: ClinicalEnv, info: dict[str, Any], reward: float, as_json: bool) -> None:
    grade = info["grade"]
    if as_json:
        return print_json(
            {
                "task_id": info["task_id"],
                "stop_reason": info["stop_reason"],
                "success": grade.success,
                "reward": reward,
                "scores": dict(grade.scores),
                "hazards": [hit.label for hit in grade.hazards],
                "missing_evidence": list(grade.missing_evidence),
            }
        )
    if env.episode is not None:
        console.print(screen.ending(env.episode, grade, reward))
    return None
