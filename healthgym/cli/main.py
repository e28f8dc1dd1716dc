"""Entry point: gathers the commands and turns expected errors into one line and exit code 2."""

import errno
import os
import sys
from io import TextIOWrapper

import typer

import healthgym
from healthgym.cli import (
    catalog,
    compare,
    eval,
    import_cases,
    kb,
    new,
    play,
    quickstart,
    report,
    train,
    validate,
    vllm_serve,
)
from healthgym.cli.output import errors, print_json
from healthgym.errors import HealthgymError, RunStopped
from healthgym.files import FULL
from healthgym.terminated import Terminated, exit_code, sigterm_interrupts

UNUSABLE = frozenset({
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL,
    errno.ENOENT, errno.EEXIST,
})  # fmt: skip
"""Errors that a path given on the command line leads to."""

app = typer.Typer(
    name="healthgym",
    help="Train and measure language-model agents that practise medicine in many turns with tools.\n\n"
    "Start with: healthgym domains, then healthgym play triage_emergency, then healthgym quickstart. "
    "Research software: nothing here is for patient care.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # joins the lines of a docstring's paragraph
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"healthgym {healthgym.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Train and measure language-model agents that practise medicine in many turns with tools."""


app.command("quickstart")(quickstart.quickstart)
app.command("domains")(catalog.domains)
app.command("tools")(catalog.tools)
catalog.tasks_app.command("import")(import_cases.import_tasks)
app.add_typer(catalog.tasks_app, name="tasks")
app.command("play")(play.play)
app.command("validate")(validate.validate)
app.add_typer(new.app, name="new")
app.command("train")(train.train)
app.command("report")(report.report)
app.command("eval")(eval.evaluate)
app.command("compare")(compare.compare)
app.add_typer(kb.app, name="kb")
app.command("vllm-serve", context_settings=vllm_serve.EXTRA)(vllm_serve.vllm_serve)


def main() -> None:
    """Run the command line. Errors healthgym raises on purpose, and files that cannot be used, exit with 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a model may write half a surrogate pair
    try:
        with sigterm_interrupts():
            app()
    except RunStopped as stopped:
        _explain(stopped)
        sys.exit(stopped.exit_code)
    except HealthgymError as error:
        sys.exit(_explain(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.errno in FULL:
            told = HealthgymError(f"The disk is full: {error}. Free space; what was saved before is whole.")
        elif error.filename is not None and error.errno in UNUSABLE:
            told = HealthgymError(
                f"{error.filename2 or error.filename} cannot be used: {error.strerror}. Give another file or folder."
            )
        else:
            raise
        sys.exit(_explain(told))
    except KeyboardInterrupt as stop:
        errors.print("Stopped by SIGTERM." if isinstance(stop, Terminated) else "Interrupted.")
        sys.exit(exit_code(stop))


def _explain(error: HealthgymError) -> int:
    """Print an error on stderr, and as JSON on stdout for scripts that asked for JSON; return the exit code."""
    if "--json" in sys.argv[1:]:
        print_json({"error": str(error), "kind": type(error).__name__})
    errors.print(f"[bold red]{type(error).__name__}[/]: ", end="")
    errors.print(str(error), markup=False, soft_wrap=True)
    return 2
