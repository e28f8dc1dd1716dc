"""`healthgym kb encoder`: a model in 8 bits, for builds and searches on a CPU."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, console, errors, print_json, table

HELD_OUT = 32
"""Passages beyond those the ranges were set by; the cosine is measured on them."""


def encoder(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the 8-bit encoder: new or empty.")],
    more: Annotated[list[str] | None, typer.Argument(metavar="PATH", help="More corpora.")] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", "-c", help="Passages like those to be encoded, as kb build takes them."),
    ] = None,
    model: Annotated[
        str, typer.Option("--from", "-f", help="minilm, or a sentence-transformers model's name or folder.")
    ] = "minilm",
    as_json: Json = False,
) -> None:
    """Write a sentence encoder in 8 bits, several times as fast on a CPU; give its folder to kb build --encoder.

    The first passages of the corpora, taken in turn from every file, set the ranges; the built-in facts when no corpus is
    given. How far the new vectors are from the model's own is measured on further passages.

    Example: healthgym kb encoder --corpus guidelines/ --out minilm-int8
    """
    import numpy as np

    from healthgym.retrieval import load_encoder
    from healthgym.retrieval.builtin import builtin_passages
    from healthgym.retrieval.int8 import CALIBRATION, write_int8
    from healthgym.retrieval.sampling import sample_texts

    texts = sample_texts([*(corpus or ()), *(more or ())] or [builtin_passages()], CALIBRATION + HELD_OUT)
    held_out = texts[CALIBRATION:] or texts[-HELD_OUT:]
    errors.print(f"Writing {model} in 8 bits by {min(len(texts), CALIBRATION)} passages.", markup=False, soft_wrap=True)
    with redirect_stdout(sys.stderr):  # the quantiser reports its progress on stdout, where --json has its document
        folder = write_int8(model, texts, out)
    written = load_encoder(folder)
    cosines = (written.encode(held_out) * load_encoder(model).encode(held_out)).sum(axis=1)
    described = {
        "out": str(out),
        "from": model,
        "dimension": written.dimension,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "passages": min(len(texts), CALIBRATION),
        "compared": len(held_out),
        "mean_cosine": round(float(np.mean(cosines)), 4),
        "least_cosine": round(float(np.min(cosines)), 4),
    }
    if as_json:
        return print_json(described)
    table(f"8-bit encoder {out}", ["what", "value"], [[key, str(value)] for key, value in described.items()])
    console.print(f"Next: healthgym kb build --encoder {out} --corpus ... --out index", markup=False, soft_wrap=True)
    return None
