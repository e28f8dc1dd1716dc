"""The report is one page that needs no network, shows the numbers, and survives whatever a model writes."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from asked import Sums, adder
from rich.console import Console
from stored_evaluations import row, rows_of, write_evaluation
from typer.testing import CliRunner

from healthgym.authoring.scaffold import new_domain
from healthgym.cli.main import app
from healthgym.evaluation import report_rows
from healthgym.evaluation.axis import Mark, axis
from healthgym.evaluation.benchmark import Floor, Settings
from healthgym.evaluation.comparison import compare_evaluations
from healthgym.evaluation.gym_suite import evaluate_policy
from healthgym.evaluation.items import Item
from healthgym.evaluation.report import write_report
from healthgym.evaluation.report_rows import embedded, shown_rows
from healthgym.evaluation.rows import Row
from healthgym.evaluation.runner import evaluate
from healthgym.evaluation.stored import Stored
from healthgym.evaluation.summary import summarise_rows
from healthgym.evaluation.table import result_table
from healthgym.registry import load_domain
from healthgym.rollout import TurnResult
from healthgym.rollout.traces import TraceWriter
from healthgym.tasks import Suite
from healthgym.validation.replay import as_message

NASTY = [
    "</script><script>alert(1)</script>", "<!--<script>", "\x00\x07\x1b[31m\u2028\u2029", "\u202eمرحبا שלום",
    "👩🏽‍⚕️ \ud83d", "x" * 100_000, "{{ 7*7 }} {% raw %} ${a} `b`", "",
]  # fmt: skip
FLOORS = (
    Floor(name="random", score=0.25, how="draws one of four"),
    Floor(name="blind", score=None, how="sees nothing"),
)


class Page(HTMLParser):
    """Collects tags, addresses and the embedded data of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.scripts, self._open = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action")]
        self._open = tag

    def handle_data(self, data):
        if self._open == "script":
            self.scripts.append(data)

    @property
    def data(self):
        return json.loads(self.scripts[0])


def page_of(folder):
    return Page(write_report(folder).read_text(encoding="utf-8"))


def test_the_page_stands_alone_and_shows_score_interval_floors_counts_and_hashes(tmp_path):
    folder = write_evaluation(tmp_path, rows_of([1.0] * 30 + [0.0] * 10 + [None] * 5), floors=FLOORS)
    text = write_report(folder).read_text(encoding="utf-8")
    page = Page(text)
    assert page.addresses == [] and not re.search(r"https?://|@import|url\(", text)
    # 30 of 40: Wilson 59.8 to 85.8. 30 of 45: 52.1 to 78.6.
    assert "75.0 %" in text and "59.8 to 85.8" in text and "66.7 %" in text and "52.1 to 78.6" in text
    assert "random 25.0%" in text and "draws one of four" in text and "not measured here" in text
    assert "w" * 64 in text and "quiz-1" in text and "Only 88.9% of rows were answered" in text
    assert text.count("<svg") >= 1 and page.tags.count("script") == 2


def test_whatever_a_model_writes_stays_text(tmp_path):
    rows = [
        row(n, 0.0, output=text, prediction=text[:50], strata={"<i>s</i>": text[:9] or "none"})
        for n, text in enumerate(NASTY)
    ]
    write_evaluation(tmp_path, rows)
    text = write_report(tmp_path).read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("script") == 2 and "alert(1)</script>" not in text and "<i>s" not in text
    shown = {each["id"]: each.get("o", "") for each in page.data["rows"]}
    assert shown["q0"] == NASTY[0] and shown["q2"] == NASTY[2] and shown["q3"] == NASTY[3]
    assert shown["q4"] == "👩🏽‍⚕️ ?"  # half a surrogate pair has no character
    assert shown["q5"].endswith("[... 94,000 more characters]") and len(shown["q5"]) < 6100
    assert "the ends of 1 texts" in text


@pytest.mark.parametrize("text", NASTY)
def test_embedded_data_comes_back_as_it_was(text):
    out = embedded({"t": text})
    assert not set("<>&\u2028\u2029") & set(out)
    assert json.loads(out)["t"] == text.encode("utf-8", "replace").decode("utf-8")


def test_rows_that_were_not_right_come_first_and_carry_their_question(tmp_path):
    folder = write_evaluation(tmp_path, rows_of([1.0, 0.0, None, 0.5]))
    items = [Item(id=f"q{n}", content={"question": f"what is {n}\u2028?"}) for n in range(9)]
    write_report(folder, items=items)
    rows = page_of(folder).data["rows"]  # written again without items: the folder keeps them
    assert [(each["id"], each["k"]) for each in rows] == [
        ("q1", "wrong"), ("q2", "unanswered"), ("q3", "partly"), ("q0", "right"),
    ]  # fmt: skip
    assert rows[0]["q"] == {"question": "what is 1\u2028?"}
    assert len((folder / "items.jsonl").read_text().strip().split("\n")) == 4  # only what was asked


def test_thousands_of_rows_are_bounded_and_the_rest_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(report_rows, "MAX_ROWS", 30)
    monkeypatch.setattr(report_rows, "MAX_CHARACTERS", 3000)
    rows = [row(n, float(n >= 20), output="y" * 1000) for n in range(100)]
    found = shown_rows(rows, {}, tmp_path / "none")
    assert len(found.data["rows"]) == 30 and [each["k"] for each in found.data["rows"][:20]] == ["wrong"] * 20
    assert sum(len(each["o"]) for each in found.data["rows"]) < 3000 + 30 * 260
    assert found.left_out[0].startswith("70 of 100 rows")


class Half:
    """Solves every second task and is silent in the others, but for prose that would end a script."""

    name = "half"

    def __init__(self, suite, solves):
        self.suite, self.solves, self.waiting = suite, set(solves), []

    def submit(self, request):
        self.waiting.append(request)

    def cancel(self, key):
        self.waiting = [request for request in self.waiting if request.key != key]

    def poll(self):
        done, self.waiting = [self._answer(request) for request in self.waiting], []
        return done

    def _answer(self, request):
        if request.task_id not in self.solves:
            return TurnResult(request.key, "hm </script>")
        turn = sum(message["role"] == "assistant" for message in request.messages)
        return TurnResult(request.key, as_message(self.suite.task(request.task_id).turns_of_solution()[turn]))


@pytest.fixture
def episodes(tmp_path):
    """Return the folder of a real evaluation of twelve tasks, and its trajectories."""
    new_domain(tmp_path / "fever")
    suite = Suite([load_domain(tmp_path / "fever")])
    ids = suite.ids(split="test")
    done = []
    evaluate_policy(Half(suite, ids[::2]), suite, ids, on_trajectory=done.append)
    rows = [
        Row(
            id=each.task_id, status="answered", score=float(each.grade.success), turns=each.num_turns,
            hazards=len(each.grade.hazards), prediction=each.grade.outcome,
        )
        for each in done
    ]  # fmt: skip
    (tmp_path / "eval").mkdir()
    folder = write_evaluation(tmp_path / "eval", rows, suite="gym", mode="agentic")
    with TraceWriter(folder / "traces.jsonl") as write:
        for each in done:
            write(replace(each, extra={"item": each.task_id, "attempt": 0}))
    return folder, done


def test_failed_episodes_are_there_turn_by_turn_with_their_grade(episodes):
    folder, done = episodes
    data = page_of(folder).data
    failed = [each for each in done if not each.grade.success]
    assert sorted(data["traces"]) == sorted(f"{each.task_id}\t0" for each in failed) and len(failed) == 6
    trace = data["traces"][f"{failed[0].task_id}\t0"]
    assert trace["outcome"] == failed[0].grade.outcome and trace["parts"] == dict(failed[0].grade.parts)
    assert trace["missing"] == list(failed[0].grade.missing_evidence)
    assert any(line["r"] == "assistant" and "hm </script>" in line["t"] for line in trace["lines"])
    assert len(data["systems"]) == 1 and trace["system"] == 0  # one prompt for all, kept once


def test_traces_are_bounded_and_the_rest_is_counted(episodes, monkeypatch):
    folder, _ = episodes
    monkeypatch.setattr(report_rows, "MAX_TRACES", 2)
    found = shown_rows(Stored.load(folder).rows, {}, folder / "traces.jsonl")
    assert len(found.data["traces"]) == 2
    assert any(told.startswith("4 of 6 episodes") for told in found.left_out)


def test_calls_of_a_trace_are_shown_with_their_arguments():
    record = {
        "messages": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "give", "arguments": {"dose_mg": 5}}}],
            },
            {"role": "tool", "name": "give", "content": [{"type": "image"}, {"type": "text", "text": "given"}]},
        ],
        "grade": {"outcome": "wrong"},
    }
    lines = report_rows._trace(record, {})["lines"]
    assert lines[0]["c"] == [["give", "dose_mg=5"]]
    assert (lines[1]["n"], lines[1]["t"]) == ("give", "[image]\ngiven")


def test_a_run_cut_before_its_result_still_gets_a_page(tmp_path):
    write_evaluation(tmp_path, rows_of([1.0, 0.0]), result=False)
    text = write_report(tmp_path).read_text(encoding="utf-8")
    assert "Partial: 2 rows are done" in text and "50.0 %" in text


def test_an_evaluation_without_any_answer_gets_a_page(tmp_path):
    write_evaluation(tmp_path, [row(0, status="refused"), row(1, status="infra_error", error="<gone>")])
    text = write_report(tmp_path).read_text(encoding="utf-8")
    assert "None of 1 row was answered" in text and "<gone>" not in text


def test_an_evaluation_ends_with_its_report_and_two_can_be_compared(tmp_path):
    settings = Settings(mode="text", in_flight=2)
    evaluate(Sums(12), adder(3, 4), settings, tmp_path / "weak")
    evaluate(Sums(12), adder(4), settings, tmp_path / "strong")
    page = Page((tmp_path / "weak" / "report.html").read_text(encoding="utf-8"))
    assert [(each["id"], each["q"]) for each in page.data["rows"][:2]] == [
        ("s003", {"n": 3, "gold": 4}), ("s004", {"n": 4, "gold": 5}),
    ]  # fmt: skip
    weak, strong = (Stored.load(tmp_path / name) for name in ("weak", "strong"))
    found = compare_evaluations([weak], [[strong]])[0]
    assert (found.gained, found.lost) == ([("s003", 0)], [])
    assert not any("candidate" in told for told in found.warnings)


def test_rows_of_an_earlier_larger_run_are_told_of(tmp_path):
    settings = Settings(mode="text")
    evaluate(Sums(12), adder(), settings, tmp_path)
    evaluate(Sums(12), adder(), settings, tmp_path, limit=4)
    assert "holds 8 more rows" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_command_knows_an_evaluation_from_a_training_run(tmp_path):
    write_evaluation(tmp_path, rows_of([1.0, 0.0]))
    shown = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(tmp_path / "page.html")])
    assert shown.exit_code == 0 and (tmp_path / "page.html").is_file() and "answered rows" in shown.output
    told = CliRunner().invoke(app, ["report", str(tmp_path), "--json"])
    assert json.loads(told.output)["score"] == 0.5
    refused = CliRunner().invoke(app, ["report", str(tmp_path), "--compare"])
    assert "healthgym compare" in str(refused.exception)


def test_the_terminal_table_fits_80_columns_and_has_floors_parts_and_counts():
    rows = [row(n, float(n % 2), strata={"step": f"a very long name of a part {n % 3}"}, tokens=n) for n in range(60)]
    result = summarise_rows(
        [*rows, row(60, status="refused")], suite="quiz", mode="text", candidate="m", floors=FLOORS
    ).to_dict()
    console = Console(width=80)
    with console.capture() as shown:
        console.print(result_table(result))
    text = shown.get()
    assert max(map(len, text.splitlines())) <= 80
    for said in ("quiz text: m", "answered rows", "50.0%", "floor: random", "1 refused", "rows needed:", "tokens 29.5"):
        assert said in text


def test_labels_of_floors_never_cross_the_line_of_another():
    drawing = axis([Mark("answered rows", 0.3, (0.28, 0.32), is_main=True)], [("b", 0.27), ("a", 0.25), ("c", 0.9)])
    heights = {name: int(y) for y, name in re.findall(r'y="(\d+)" text-anchor="\w+">(\w) ', drawing)}
    assert heights["a"] < heights["b"] == heights["c"]  # the one further left stands higher


DRIVER = """<script>
const said = [], look = (what) => said.push(what + "|" + document.querySelector("#count").textContent + "|" +
  document.querySelectorAll(".row").length);
const choose = (field, value) => { field.value = value; field.dispatchEvent(new Event("change")); };
const outcome = document.querySelector("#f-outcome"), status = document.querySelector("#f-status");
look("all");
choose(outcome, "wrong"); look("wrong"); choose(outcome, "");
choose(status, "unparsed"); look("unparsed"); choose(status, "");
choose(document.querySelector("[data-stratum=step]"), "two"); look("two");
document.querySelector("#f-clear").click(); look("cleared");
document.querySelector("#more").click(); look("more");
document.querySelector("#f-text").value = "Needle";
document.querySelector("#f-text").dispatchEvent(new Event("input"));
setTimeout(() => {
  look("text");
  const row = document.querySelector(".row");
  row.open = true;
  setTimeout(() => {
    said.push("body|" + row.querySelector(".body").textContent);
    document.title = JSON.stringify(said);
  }, 100);
}, 400);
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_filters_leave_the_rows_they_say_and_rows_unfold(tmp_path):
    rows = [
        row(n, float(n % 2), strata={"step": "one" if n < 100 else "two"}, output="a needle <b>" if n == 70 else "hay")
        for n in range(120)
    ]
    write_evaluation(tmp_path, [*rows, row(120, status="unparsed", strata={"step": "one"})])
    page = write_report(tmp_path)
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", DRIVER), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    shown = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    said = json.loads(unescape(re.search(r"<title>(.*?)</title>", shown, re.DOTALL)[1]))
    found = {what: (int(text.split()[0]), int(drawn)) for what, text, drawn in (one.split("|") for one in said[:-1])}
    assert found == {
        "all": (121, 50), "wrong": (60, 50), "unparsed": (1, 1), "two": (20, 20), "cleared": (121, 50),
        "more": (121, 100), "text": (1, 1),
    }  # fmt: skip
    assert "a needle <b>" in said[-1]
