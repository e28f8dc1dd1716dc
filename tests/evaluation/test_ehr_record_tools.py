"""The tools: they show one patient's rows, change nothing, and stop what runs on."""

import pytest
from ehr_tables import write_tables

from healthgym.evaluation.ehr.browsing import MAX_ROWS
from healthgym.evaluation.ehr.schema import load_schema
from healthgym.evaluation.ehr.store import build_store
from healthgym.evaluation.ehr.toolkit import toolkit_for
from healthgym.world import Chart, World


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return build_store(write_tables(tmp_path_factory.mktemp("icu"), "mimic3"), load_schema("mimic3"))


@pytest.fixture
def tools(store):
    chart = Chart(
        patient_id="1", age_years=0.0, sex="female", weight_kg=0.0,
        extra={"answer_form": {"kind": "number", "unit": "mmol/L"}},
    )  # fmt: skip
    return toolkit_for(store)(World({"1": chart}))


def said(tools, name, **arguments):
    result = tools.call(name, arguments)
    assert result.error is None, result.error
    return result.content


def refused(tools, name, **arguments):
    result = tools.call(name, arguments)
    assert result.error is not None, result.content
    return result.error


def test_tables_are_listed_with_the_patients_rows_alone(tools):
    listed = said(tools, "list_tables")
    assert "patients (1 rows)" in listed and "labevents (15 rows)" in listed and "d_items (2 rows)" in listed


def test_a_table_is_described_with_examples(tools):
    described = said(tools, "describe_table", table="LABEVENTS")
    assert "valuenum (number), such as" in described and "value (text), such as LESS THAN 0.4" in described
    assert "such as" not in next(line for line in described.splitlines() if line.startswith("flag"))


def test_no_other_patient_can_be_reached(tools):
    assert said(tools, "run_sql", query="SELECT count(*) FROM labevents WHERE subject_id = 2") == "count(*)\n0"
    assert said(tools, "query_table", table="patients", columns=["subject_id"]) == "subject_id\n1"
    assert "no such table" in refused(tools, "run_sql", query="SELECT * FROM store.labevents")


def test_rows_are_filtered_by_column_and_half_open_time_range(tools):
    shown = said(
        tools, "query_table", table="labevents", columns=["charttime", "valuenum"],
        filters=[{"column": "itemid", "value": 50813}], start="2150-01-01 10:00:00", end="2150-01-02 10:00:00",
    )  # fmt: skip
    assert shown.splitlines() == [
        "charttime | valuenum", "2150-01-01 10:00:00 | 4.2", "2150-01-02 09:59:59 | 2.6", "2150-01-02 09:59:59 | 2.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [("min", "1"), ("max", "3.1"), ("count", "4"), ("count_distinct", "4"), ("mean", "1.9"), ("sum", "7.6")],
)
def test_rows_are_aggregated(tools, aggregate, value):
    # Creatinine 1.0, 1.4, 2.1 and 3.1; one row has no number.
    shown = said(
        tools, "query_table", table="labevents", columns=["valuenum"], aggregate=aggregate,
        filters=[{"column": "itemid", "operator": "in", "value": [50912]}],
    )  # fmt: skip
    assert shown.splitlines()[1] == value


def test_items_are_found_by_part_of_their_label(tools):
    shown = said(
        tools, "query_table", table="d_labitems", columns=["itemid"],
        filters=[{"column": "label", "operator": "contains", "value": "lact"}],
    )  # fmt: skip
    assert shown == "itemid\n50813"


def test_a_code_of_digits_is_found_by_number_and_by_text(store):
    tools = toolkit_for(store)(World({"2": Chart(patient_id="2", age_years=0.0, sex="male", weight_kg=0.0)}))
    for code in (486, "486"):
        shown = said(
            tools, "query_table", table="diagnoses_icd", columns=["hadm_id"],
            filters=[{"column": "icd9_code", "value": code}],
        )  # fmt: skip
        assert shown == "hadm_id\n200"


def test_empty_fields_and_order_can_be_asked_for(tools):
    empty = said(
        tools, "query_table", table="labevents", columns=["value"],
        filters=[{"column": "valuenum", "operator": "is_empty"}],
    )  # fmt: skip
    assert empty == "value\nLESS THAN 0.4"
    last = said(
        tools, "query_table", table="icustays", columns=["icustay_id"], order_by="intime", descending=True, limit=1
    )
    assert last == "icustay_id\n1001"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"table": "labs"}, "No table 'labs'. Did you mean"),
        ({"table": "labevents", "columns": ["valuenumm"]}, "no column 'valuenumm'. Did you mean 'valuenum'"),
        ({"table": "labevents", "filters": [{"column": "itemid"}]}, "filter on itemid needs a value"),
        ({"table": "labevents", "filters": [{"column": "itemid", "value": [1, 2]}]}, "use the operator 'in'"),
        ({"table": "patients", "start": "2150-01-01"}, "has no time column"),
        ({"table": "labevents", "limit": 1000}, "limit"),
        ({"table": "labevents; DROP TABLE labevents"}, "No table"),
    ],
)
def test_a_query_that_cannot_be_made_says_what_to_do(tools, arguments, hint):
    assert hint in refused(tools, "query_table", **arguments)


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM labevents", "DROP TABLE labevents", "INSERT INTO patients VALUES (1)", "CREATE TABLE x (y)",
        "ATTACH '/tmp/x' AS x", "PRAGMA query_only = 0", "SELECT load_extension('x')", "SELECT random()",
        "SELECT 1; SELECT 2", "UPDATE labevents SET valuenum = 1", "VACUUM INTO '/tmp/x'", "", "-- nothing", "SELEC 1",
        "WITH x AS (SELECT 1) DELETE FROM labevents", "SELECT printf('%.*c', 100000000, 'x')", "SELECT '\ud800'",
        "SELECT * FROM pragma_database_list", "REPLACE INTO patients VALUES (1)", "BEGIN", "ANALYZE",
    ],
)  # fmt: skip
def test_only_a_single_reading_statement_runs(tools, query):
    refused(tools, "run_sql", query=query)
    assert said(tools, "run_sql", query="SELECT count(*) FROM labevents") == "count(*)\n15"


def test_a_query_that_runs_on_is_stopped(tools, monkeypatch):
    monkeypatch.setattr("healthgym.evaluation.ehr.browsing.MAX_STEPS", 1_000_000)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    assert "takes too long" in refused(tools, "run_sql", query=endless)
    assert said(tools, "run_sql", query="SELECT 7.5 / 60 AS hours") == "hours\n0.125"


def test_rows_and_text_are_cut_with_a_note(tools):
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i FROM n"
    lines = said(tools, "run_sql", query=many).splitlines()
    assert lines[MAX_ROWS] == "100" and lines[-1].startswith("(cut after 100 rows")
    assert said(tools, "run_sql", query="SELECT 1 WHERE 0") == "1\n(no rows)"
    assert said(tools, "run_sql", query="SELECT NULL AS x") == "x\nNULL"


def test_a_submission_is_kept_in_canonical_form(tools):
    said(tools, "submit_answer", value=2.1, unit="mmol/l")
    assert tools.world.value("1.answer") == 2.1
    said(tools, "submit_answer", value="Not measured")
    assert tools.world.value("1.answer") == "not measured"


def test_more_patients_than_are_kept_open_can_be_visited(store, monkeypatch):
    monkeypatch.setattr("healthgym.evaluation.ehr.store.KEPT_OPEN", 1)
    counts = [store.database_of(patient).execute("SELECT count(*) FROM labevents").fetchone()[0] for patient in "1212"]
    assert counts == [15, 2, 15, 2]
