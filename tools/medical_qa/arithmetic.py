"""Arithmetic that an agent may type: parsed into numbers and a few operations, never run as code."""

import ast
import math
import operator
from collections.abc import Callable

from healthgym.errors import ToolError

MAX_CHARACTERS = 200
MAX_POWER = 100.0
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: lambda base, power: math.pow(base, power),
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "ln": math.log,
    "log10": math.log10,
    "exp": math.exp,
    "abs": abs,
    "min": min,
    "max": max,
    "round": lambda value, digits=0.0: round(value, int(digits)),
}


def evaluate(expression: str) -> float:
    """Return the value of an arithmetic expression of numbers, + - * / ^, brackets and a few functions.

    Raises:
        ToolError: it is too long, holds anything else, or has no finite value.
    """
    text = expression.strip().replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-")
    if not text or len(text) > MAX_CHARACTERS:
        raise ToolError(f"expression must have 1 to {MAX_CHARACTERS} characters, got {len(text)}.")
    try:
        value = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError, ValueError, OverflowError, ZeroDivisionError, TypeError) as error:
        raise ToolError(
            f"Cannot work out {expression[:60]!r} ({type(error).__name__}). Write numbers, + - * / ^ and brackets."
        ) from None
    if not math.isfinite(value):
        raise ToolError(f"{expression[:60]!r} has no finite value.")
    return value


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _value(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > MAX_POWER:
            raise ToolError(f"A power of {right:g} is too large; at most {MAX_POWER:g}.")
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS:
            raise ToolError(f"No function {node.func.id[:20]!r}. Known: {', '.join(_FUNCTIONS)}.")
        return float(_FUNCTIONS[node.func.id](*map(_value, node.args)))
    raise ToolError("Only numbers, + - * / ^, brackets and " + ", ".join(_FUNCTIONS) + " are understood.")
