"""`healthgym kb`: build, extend, describe, check, search and audit passage indexes; write 8-bit encoders."""

from pathlib import Path
from typing import Annotated, Any

import typer

from healthgym.cli.kb_encoder import encoder as write_encoder
from healthgym.cli.kb_progress import StageLines
from healthgym.cli.output import Json, console, errors, print_json, table

app = typer.Typer(help="Build, check, search and audit the passages agents look things up in.", no_args_is_help=True)
app.command("encoder")(write_encoder)

Corpora = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus", "-c", help="File or folder of .jsonl(.gz), .txt, .md, .pdf; or hf:NAME[@REVISION][:CONFIG][:SPLIT]."
    ),
]
More = Annotated[list[str] | None, typer.Argument(metavar="PATH", help="More corpora.")]
Source = Annotated[str | None, typer.Option(help="Source of passages that state none.")]
Licence = Annotated[
    str | None, typer.Option(help="Licence of passages that state none, as SPDX writes it; NOASSERTION when unknown.")
]
Fields = Annotated[
    list[str] | None, typer.Option("--field", help="PART=KEY: a part of a passage under another key, text=body.")
]
OnBadRow = Annotated[
    str, typer.Option(help="stop at the first row that cannot be used, or skip such rows and count them.")
]
Duplicates = Annotated[str, typer.Option(help="near: leave out exact and near repeats; exact; or keep.")]
EncoderName = Annotated[
    str, typer.Option("--encoder", "-e", help="minilm, hashing, hashing-DIM, or a model's name or folder.")
]
Exclude = Annotated[Path | None, typer.Option(help="File of passage ids never to return, as kb audit writes it.")]
OtherEncoder = Annotated[
    str | None,
    typer.Option("--encoder", "-e", help="The encoder it was built with, when its name alone does not find it."),
]
BUILT_IN = "Folder of an index; the built-in facts when absent."


@app.command()
def build(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the index: new, empty, or one to replace.")],
    more: More = None,
    corpus: Corpora = None,
    encoder: EncoderName = "minilm",
    kind: Annotated[str, typer.Option(help="auto, exact or hnsw.")] = "auto",
    source: Source = None,
    licence: Licence = None,
    field: Fields = None,
    on_bad_row: OnBadRow = "stop",
    duplicates: Duplicates = "near",
    as_json: Json = False,
) -> None:
    """Build a passage index, of the built-in facts when no corpus is given.

    Readers of an index that is there see the old one until the new one is whole. After a kill or on a full disk, the
    same command goes on where the build stopped.

    Example: healthgym kb build --corpus guidelines/ leaflets.jsonl --out index --encoder hashing
    """
    from healthgym.retrieval import build_index, index_info
    from healthgym.retrieval.builtin import builtin_passages

    corpora = [*(corpus or ()), *(more or ())]
    with StageLines(errors) as lines:
        build_index(
            corpora or [builtin_passages()], out, encoder, kind=kind, source=source, licence=licence,
            fields=_fields(field), skip_bad=_skips(on_bad_row), duplicates=duplicates, progress=lines.tell, notice=lines.note,
        )  # fmt: skip
    described = index_info(out)
    if as_json:
        return print_json({"out": str(out), **described})
    _describe(out, described)
    console.print(f"Next: healthgym kb search QUERY --index {out}", markup=False, soft_wrap=True)
    return None


@app.command()
def add(
    index: Annotated[Path, typer.Option("--index", "-i", help="Folder of the index to add to.")],
    more: More = None,
    corpus: Corpora = None,
    source: Source = None,
    licence: Licence = None,
    field: Fields = None,
    on_bad_row: OnBadRow = "stop",
    duplicates: Duplicates = "near",
    encoder: OtherEncoder = None,
    as_json: Json = False,
) -> None:
    """Add passages to an index without encoding the old ones again. Readers see the old index until it is done.

    Example: healthgym kb add --corpus new_leaflets.jsonl --index index
    """
    from healthgym.retrieval import add_passages, index_info

    with StageLines(errors) as lines:
        add_passages(
            [*(corpus or ()), *(more or ())], index, encoder, source=source, licence=licence, fields=_fields(field),
            skip_bad=_skips(on_bad_row), duplicates=duplicates, progress=lines.tell, notice=lines.note,
        )  # fmt: skip
    described = index_info(index)
    if as_json:
        return print_json({"out": str(index), **described})
    _describe(index, described)
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
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of an index.")],
    as_json: Json = False,
) -> None:
    """Check every file, every passage and that the tables agree; exit code 1 when something is wrong.

    Example: healthgym kb verify index
    """
    from healthgym.retrieval import verify_index

    found = verify_index(folder)
    whole = set(found.values()) == {"ok"}
    if as_json:
        print_json({"ok": whole, "files": found})
    else:
        table(f"Index {folder}", ["file", "state"], list(found.items()))
    if not whole:
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A few words.")],
    index: Annotated[Path | None, typer.Option("--index", "-i", help=BUILT_IN)] = None,
    k: Annotated[int, typer.Option("-k", help="How many passages, 1 to 100.")] = 5,
    source: Annotated[list[str] | None, typer.Option(help="Passages of this source only; may be repeated.")] = None,
    licence: Annotated[
        list[str] | None, typer.Option(help="Passages under this licence only; may be repeated.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="Passages dated this year, month or day, or later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="Passages dated this year, month or day, or earlier.")
    ] = None,
    exclude: Exclude = None,
    mode: Annotated[str, typer.Option(help="fused, dense or lexical.")] = "fused",
    encoder: OtherEncoder = None,
    as_json: Json = False,
) -> None:
    """Search passages as an agent would.

    Example: healthgym kb search "warfarin ibuprofen bleeding" -k 3
    """
    from healthgym.retrieval.exclusions import read_exclusions

    hits = _retriever(index, encoder).search(
        query, k, sources=source or None, licences=licence or None, since=since, until=until,
        exclude=read_exclusions(exclude) if exclude else frozenset(), mode=mode,
    )  # fmt: skip
    rows: list[dict[str, Any]] = [
        {
            "id": hit.id,
            "score": float(hit.score),
            "title": hit.passage.title,
            "text": hit.passage.text,
            "source": hit.passage.source,
            "licence": hit.passage.licence,
            "date": hit.passage.date,
        }
        for hit in hits
    ]
    if as_json:
        return print_json(rows)
    if not rows:
        console.print("Nothing found; use other words.")
    for row in rows:
        console.print(f"{row['score']:.3f}  {row['title']}  [{row['id']}]", style="bold", markup=False)
        origin = ", ".join(row[key] for key in ("source", "licence", "date") if row[key])
        console.print(f"{row['text']} ({origin})\n", markup=False)
    return None


@app.command()
def audit(
    against: Annotated[
        list[Path], typer.Option("--against", "-a", help="Evaluation file: JSON lines with question, context, options.")
    ],
    more: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="More evaluation files.")] = None,
    index: Annotated[Path | None, typer.Option("--index", "-i", help=BUILT_IN)] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for audit.json, audit.md and exclude.txt.")] = Path(
        "audit"
    ),
    words: Annotated[int, typer.Option(help="Neighbouring words in common that count, at least 8.")] = 13,
    similarity: Annotated[float, typer.Option(help="Cosine of vectors that counts; 0 compares words alone.")] = 0.95,
    encoder: OtherEncoder = None,
    as_json: Json = False,
) -> None:
    """Find passages that repeat an evaluation set, and list them for --exclude. Exit code 1 when there are any.

    Example: healthgym kb audit --index index --against medqa_test.jsonl --out audit
    """
    from healthgym.retrieval.audit import audit as run_audit
    from healthgym.retrieval.audit_report import EXCLUSIONS, audit_text, write_audit

    with StageLines(errors) as lines:
        found = run_audit(
            _retriever(index, encoder),
            [*against, *(more or ())],
            words=words,
            similarity=similarity or None,
            progress=lines.tell,
        )
    written = write_audit(found, out)
    if as_json:
        print_json({**found.as_dict(), "written": [str(path) for path in written.values()]})
    else:
        console.print(audit_text(found), markup=False, soft_wrap=True)
        console.print(
            f"Written to {out}; leave the passages out with --exclude {written[EXCLUSIONS]}",
            markup=False,
            soft_wrap=True,
        )
    if found.excluded:
        raise typer.Exit(1)


def _retriever(index: Path | None, encoder: str | None) -> Any:
    from healthgym.retrieval import open_retriever
    from healthgym.retrieval.builtin import builtin_retriever

    return open_retriever(index, encoder) if index is not None else builtin_retriever()


def _fields(pairs: list[str] | None) -> dict[str, str]:
    fields = {}
    for pair in pairs or ():
        part, equals, key = pair.partition("=")
        if not (part and equals and key):
            raise typer.BadParameter(f"expected PART=KEY, for example text=body; got {pair!r}", param_hint="--field")
        fields[part] = key
    return fields


def _skips(choice: str) -> bool:
    if choice not in ("stop", "skip"):
        raise typer.BadParameter(f"expected stop or skip, got {choice!r}", param_hint="--on-bad-row")
    return choice == "skip"


def _describe(folder: Path, described: dict[str, Any]) -> None:
    table(f"Index {folder}", ["what", "value"], [[key, str(value)] for key, value in described.items()])
    if described.get("unknown_licence"):
        errors.print(
            f"{described['unknown_licence']:,} passages are under an unknown licence: check before you pass them on.",
            soft_wrap=True,
        )
