"""Lines that tell how far a training run is."""

from collections.abc import Callable, Mapping, Sequence

Print = Callable[[str], None]
SHOWN = ("reward", "success", "tool_calls", "length", "loss", "kl", "lambda", "hints_fired")
"""Quantities of the progress line, as `healthgym.diagnostics.names.NAMES` finds them."""
WARM_START_LINES = 20
"""At most this many lines on a warm start."""


def progress_line(step: int, steps: int, row: Mapping[str, float]) -> str:
    """Return one line on a step."""
    parts = [f"step {step}/{steps}", *shown_values(row, SHOWN)]
    if "eval/success" in row:
        parts.append(f"held-out success {row['eval/success']:.4g}")
    if row.get("robust/bad_step"):
        parts.append("skipped: loss or gradient not finite")
    return "  ".join(parts)


def shown_values(row: Mapping[str, float], quantities: Sequence[str]) -> list[str]:
    """Return name and value of the quantities that a row has."""
    from healthgym.diagnostics.names import NAMES

    found = {quantity: next((row[name] for name in NAMES[quantity] if name in row), None) for quantity in quantities}
    return [f"{quantity} {value:.4g}" for quantity, value in found.items() if value is not None]


def tell_steps(steps: int, tell: Print) -> Callable[[int, Mapping[str, float]], None]:
    """Return an `on_step` that tells every step."""
    return lambda step, row: tell(progress_line(step, steps, row))


def tell_warm_start(steps: int, tell: Print) -> Callable[[int, float], None]:
    """Return an `on_warm_start` that tells the loss at regular steps and at the last."""
    every = max(1, steps // WARM_START_LINES)

    def on_loss(step: int, loss: float) -> None:
        if step % every == 0 or step == steps:
            tell(f"warm start: step {step}/{steps}  loss {loss:.3f} nats a token")

    return on_loss
