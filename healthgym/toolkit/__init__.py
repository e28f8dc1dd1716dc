"""Tools an agent can call: declared by a typed function, described by its docstring, validated by pydantic."""

from healthgym.errors import ToolError
from healthgym.toolkit.decorator import tool
from healthgym.toolkit.pictures import Picture, Shown
from healthgym.toolkit.spec import Effect, ToolSpec
from healthgym.toolkit.toolkit import Toolkit, ToolResult

__all__ = ["Effect", "Picture", "Shown", "ToolError", "ToolResult", "ToolSpec", "Toolkit", "tool"]
