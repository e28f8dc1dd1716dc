"""`healthgym kb` on good and bad input: exit codes, messages that say what to do, nothing half done."""

import fcntl
import json
import shutil

import pytest

from healthgym.retrieval.manifest import MANIFEST, read_manifest

pytest.importorskip("faiss")
pytest.importorskip("bm25s")

ROWS = [
    {"id": "old", "title": "Measles", "text": "Measles vaccine advice of 1989.", "source": "mmwr", "licence": "CC0-1.0", "published": 1989},
    {"id": "new", "title": "Measles", "text": "Measles vaccine advice of 2020.", "source": "mmwr", "licence": "CC0-1.0", "published": "2020-03"},
    {"id": "gout", "title": "Gout", "text": "Colchicine eases the pain of gout.", "source": "wiki", "licence": "CC-BY-4.0"},
]  # fmt: skip
QUESTION = (
    "Which measles vaccine schedule did the advisory committee recommend for infants in the outbreak of 1989 and after?"
)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Index of ROWS; copied before it is changed."""
    from healthgym.retrieval import build_index

    folder = tmp_path_factory.mktemp("kb")
    build_index([write_rows(folder / "rows.jsonl", ROWS)], folder / "index", "hashing")
    return folder / "index"


@pytest.fixture
def index(made, tmp_path):
    return shutil.copytree(made, tmp_path / "index")


def refused(ran, *words):
    assert ran.code == 2
    message = " ".join(ran.err.split())
    assert "Traceback" not in message
    for word in words:
        assert word in message, message


def test_search_filters_by_source_licence_date_and_list(run, index, tmp_path):
    def ids(*options):
        return {hit["id"] for hit in run("kb", "search", "measles gout vaccine", "-i", index, *options, "--json").json}

    assert ids() == {"old", "new", "gout"}
    assert ids("--source", "wiki") == {"gout"} == ids("--licence", "CC-BY-4.0")
    assert ids("--from", "1990") == {"new"} == ids("--from", "2020-03", "--to", "2020-03-31")
    (tmp_path / "x.txt").write_text("old\n")
    assert ids("--exclude", tmp_path / "x.txt", "--source", "mmwr") == {"new"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([" "], ["query is empty"]),
        (["x" * 50_000], ["50000 characters", "at most 2000"]),
        (["gout", "-k", "0"], ["1 to 100", "got 0"]),
        (["gout", "-k", "10000"], ["1 to 100", "got 10000"]),
        (["gout", "--source", "wikis"], ["Did you mean 'wiki'"]),
        (["gout", "--licence", "MIT"], ["CC0-1.0"]),
        (["gout", "--from", "soon"], ["YYYY-MM-DD"]),
        (["gout", "--mode", "fast"], ["fused"]),
        (["gout", "--exclude", "no-such-file"], ["no-such-file", "kb audit"]),
    ],
)
def test_a_search_that_cannot_be_run_says_what_to_change(run, made, arguments, words):
    refused(run("kb", "search", *arguments, "--index", made), *words)


def test_a_missing_index_names_the_build_command_everywhere(run, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    evaluation = write_rows(tmp_path / "eval.jsonl", [{"question": QUESTION}])
    none = tmp_path / "none"
    for command in (
        ("search", "gout", "--index", none),
        ("info", none),
        ("verify", none),
        ("add", rows, "--index", none),
        ("audit", "--index", none, "--against", evaluation),
    ):
        refused(run("kb", *command), "healthgym kb build --corpus")
    assert not none.exists()


def test_verify_names_every_damaged_file(run, index):
    whole = run("kb", "verify", index, "--json").json
    assert whole["ok"] and set(whole["files"].values()) == {"ok"}
    data = index / read_manifest(index).data
    (data / "passages.jsonl").write_bytes((data / "passages.jsonl").read_bytes()[:-1])
    flipped = bytearray((data / "dense.faiss").read_bytes())
    flipped[-1] ^= 1
    (data / "dense.faiss").write_bytes(flipped)
    ran = run("kb", "verify", index, "--json")
    assert ran.code == 1
    assert {name for name, state in ran.json["files"].items() if state != "ok"} == {
        "passages.jsonl",
        "dense.faiss",
        "index",
    }
    refused(run("kb", "search", "gout", "--index", index), "Build it again")
    assert run("kb", "info", index, "--json").code == 1


def test_another_encoder_is_refused_with_both_names_everywhere(run, index, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    evaluation = write_rows(tmp_path / "eval.jsonl", [{"question": QUESTION}])
    for command in (
        ("search", "gout", "-i", index),
        ("add", rows, "-i", index),
        ("audit", "-i", index, "-a", evaluation),
    ):
        refused(run("kb", *command, "-e", "hashing-64"), "'hashing'", "'hashing-64'")
    assert run("kb", "search", "gout", "-i", index, "-e", "hashing").code == 0


def test_an_edited_manifest_is_refused(run, index):
    (index / MANIFEST).write_text((index / MANIFEST).read_text().replace('"hashing"', '"hashing-64"'))
    refused(run("kb", "search", "gout", "--index", index), "changed after the build")


def test_two_builders_at_once_are_told_apart(run, index, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    with (index / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(run("kb", "build", rows, "--out", index, "-e", "hashing"), "another build is writing")
        refused(run("kb", "add", rows, "--index", index), "another build is writing")
    assert run("kb", "verify", index).code == 0


def test_rows_that_cannot_be_used_stop_the_build_or_are_counted(run, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        json.dumps(ROWS[2]).encode() + b'\n{"id": "\xe9"}\n' + json.dumps({**ROWS[0], "licence": ""}).encode()
    )
    build = ("kb", "build", path, "--out", tmp_path / "index", "-e", "hashing")
    refused(run(*build), "rows.jsonl:2", "not UTF-8")
    ran = run(*build, "--on-bad-row", "skip", "--json")
    assert (ran.json["passages"], ran.json["skipped_rows"]) == (1, 2)
    assert "rows.jsonl:2" in ran.err and "licence missing" in ran.err
    assert run(*build, "--on-bad-row", "perhaps").code == 2


def test_a_missing_licence_is_asked_for_and_an_unknown_one_shown(run, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [{**ROWS[2], "licence": None}])
    build = ("kb", "build", path, "--out", tmp_path / "index", "-e", "hashing")
    refused(run(*build), "rows.jsonl:1: licence missing", "--licence")
    ran = run(*build, "--licence", "NOASSERTION")
    assert ran.code == 0 and "1 passages are under an unknown licence" in " ".join(ran.err.split())
    assert run("kb", "info", tmp_path / "index", "--json").json["unknown_licence"] == 1
    assert run(*build, "--licence", "CC-BY-4.0", "--json").json["licences"] == {"CC-BY-4.0": 1}


def test_empty_and_enormous_passages_are_refused_and_cut(run, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [{**ROWS[2], "text": ""}])
    build = ("kb", "build", path, "--out", tmp_path / "index", "-e", "hashing")
    refused(run(*build), "rows.jsonl:1", "text missing or empty")
    write_rows(path, [{**ROWS[2], "text": "Gout is painful. " * 20_000}])
    # 60,000 words in sentences of 3: 40 sentences fill the 120 words of a passage, so 500 equal ones, of which 1 stays.
    assert run(*build, "--duplicates", "keep", "--json").json["passages"] == 500
    assert run(*build, "--json").json["passages"] == 1


def test_passages_are_added_once(run, index, tmp_path):
    new = {**ROWS[2], "id": "zebra", "title": "Zebra", "text": "Zebra fever is rare."}
    path = write_rows(tmp_path / "more.jsonl", [*ROWS, new])
    ran = run("kb", "add", "--corpus", path, "--index", index, "--json")
    assert (ran.json["passages"], ran.json["duplicates_left_out"]["exact"]) == (4, 3)
    assert [hit["id"] for hit in run("kb", "search", "zebra", "-i", index, "-k", 1, "--json").json] == ["zebra"]
    assert "in the index already" in run("kb", "add", path, "--index", index).err


def test_fields_and_source_of_a_foreign_corpus_can_be_named(run, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [{"key": "a", "headline": "Gout", "body": "Painful."}])
    build = ("kb", "build", path, "--out", tmp_path / "index", "-e", "hashing", "--licence", "MIT")
    names = [option for pair in ("id=key", "title=headline", "text=body") for option in ("--field", pair)]
    assert run(*build, "--source", "own", *names, "--json").json["sources"] == {"own": 1}
    assert run(*build, "--field", "text").code == 2
    refused(run(*build, "--field", "txt=body"), "Did you mean 'text'")


def test_an_audit_finds_what_was_planted_and_its_list_keeps_it_out(run, index, tmp_path):
    planted = {**ROWS[2], "id": "leak", "title": "Quiz", "text": f"Exam: {QUESTION} Think of gout."}
    run("kb", "add", write_rows(tmp_path / "leak.jsonl", [planted]), "--index", index)
    evaluation = write_rows(tmp_path / "eval.jsonl", [{"id": "q1", "question": QUESTION, "options": {"A": "one"}}])
    ran = run("kb", "audit", "-i", index, "--against", evaluation, "--out", tmp_path / "audit", "--json")
    assert (ran.code, ran.json["excluded"]) == (1, ["leak"])
    shown = run("kb", "audit", "-i", index, "-a", evaluation, "--out", tmp_path / "audit", "--similarity", 0)
    assert "| leak | q1 | question | 18 | 1.00 |" in shown.out
    listed = tmp_path / "audit" / "exclude.txt"
    hits = run("kb", "search", "measles vaccine schedule gout", "-i", index, "--exclude", listed, "--json").json
    assert "leak" not in {hit["id"] for hit in hits} and hits
    clean = write_rows(tmp_path / "clean.jsonl", [{"question": "Who discovered the spleen?"}])
    assert run("kb", "audit", "-i", index, "-a", clean, "--out", tmp_path / "audit").code == 0
    refused(run("kb", "audit", "-i", index, "-a", tmp_path / "none.jsonl"), "none.jsonl")
