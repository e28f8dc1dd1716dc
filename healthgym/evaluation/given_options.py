"""Options of one benchmark, as `--set name=value` gives them: checked by name, read as yes or no, number or word."""

from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.errors import ConfigError, nearest


def check_options(options: Mapping[str, Any], known: Sequence[str], *, benchmark: str) -> None:
    """Refuse an option that the benchmark does not have. Raises ConfigError, offering the nearest."""
    for name in options:
        if name not in known:
            raise ConfigError(f"{benchmark} has no option {name!r}.{nearest(name, known)}")


def yes_or_no(options: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return an option that is on or off. Raises ConfigError for any other word."""
    given = options.get(name, default)
    word = str(given).strip().lower()
    if word in ("yes", "true", "1", "on"):
        return True
    if word in ("no", "false", "0", "off"):
        return False
    raise ConfigError(f"{name} must be yes or no, got {given!r}")


def whole_number(options: Mapping[str, Any], name: str, default: int, *, least: int = 1) -> int:
    """Return an option that is a whole number of at least `least`. Raises ConfigError otherwise."""
    given = options.get(name, default)
    try:
        number = int(str(given))
    except ValueError:
        raise ConfigError(f"{name} must be a whole number, got {given!r}") from None
    if number < least:
        raise ConfigError(f"{name} must be at least {least}, got {number}")
    return number


def one_of(options: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    """Return an option that is one of some words, the first by default. Raises ConfigError otherwise."""
    given = str(options.get(name, known[0]))
    if given not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known)}, got {given!r}.{nearest(given, known)}")
    return given
