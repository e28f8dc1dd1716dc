"""`healthgym kb`: build, describe and search passage indexes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from healthgym.cli.output import Json, console, errors, print_json, table

app = typer.Typer(help="Build, describe and search the passages agents look things up in.", no_args_is_help=True)


@app.command()
def build(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the index: new, empty, or one to replace.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="More corpora.")] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus", "-c", help="Passage file (.jsonl) or folder of texts; the built-in facts when absent."
        ),
    ] = None,
    encoder: Annotated[
        str, typer.Option("--encoder", "-e", help="minilm, hashing, hashing-DIM, or a model's name or folder.")
    ] = "minilm",
    as_json: Json = False,
) -> None:
    """Build a passage index; readers of an index that is there see the old one until the new one is whole.

    Example: healthgym kb build --corpus guidelines/ leaflets.jsonl --out index --encoder hashing
    """
    from healthgym.retrieval import build_index, index_info
    from healthgym.retrieval.builtin import builtin_passages

    stages: list[str] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        if stage not in stages:
            stages.append(stage)
            errors.print(f"{stage} ...")

    corpora = [*(corpus or ()), *(more or ())]
    build_index(corpora or [builtin_passages()], out, encoder, progress=tell)
    described = index_info(out)
    if as_json:
        return print_json({"out": str(out), **described})
    _describe(out, described)
    console.print(f"Next: healthgym kb search QUERY --index {out}", markup=False)
    return None


@app.command()
def info(
    folder: Annotated[Path, typer.Argument(help="Folder of an index.")],
    as_json: Json = False,
) -> None:
    """Describe an index and check every file against its checksum. Exit code 1 when one does not match.

    Example: healthgym kb info index
    """
    from healthgym.retrieval import index_info

    described = index_info(folder)
    if as_json:
        print_json(described)
    else:
        _describe(folder, described)
    if not described["checksum_ok"]:
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A few words.")],
    index: Annotated[
        Path | None, typer.Option("--index", "-i", help="Folder of an index; the built-in facts when absent.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many passages.")] = 5,
    as_json: Json = False,
) -> None:
    """Search passages as an agent would.

    Example: healthgym kb search "warfarin ibuprofen bleeding" -k 3
    """
    from healthgym.retrieval import open_retriever
    from healthgym.retrieval.builtin import builtin_retriever

    hits = (open_retriever(index) if index is not None else builtin_retriever()).search(query, k)
    rows: list[dict[str, Any]] = [
        {
            "id": hit.id,
            "score": float(hit.score),
            "title": hit.passage.title,
            "text": hit.passage.text,
            "source": hit.passage.source,
        }
        for hit in hits
    ]
    if as_json:
        return print_json(rows)
    if not rows:
        console.print("Nothing found; use other words.")
    for row in rows:
        console.print(f"{row['score']:.3f}  {row['title']}  [{row['id']}]", style="bold", markup=False)
        console.print(f"{row['text']} ({row['source']})\n", markup=False)
    return None


def _describe(folder: Path, described: dict[str, Any]) -> None:
    table(f"Index {folder}", ["what", "value"], [[key, str(value)] for key, value in described.items()])
