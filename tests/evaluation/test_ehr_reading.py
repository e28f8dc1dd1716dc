"""Tables that cannot be used are refused by file, line and remedy, before any item is made."""

import functools
import gzip
import operator

import pytest
from ehr_tables import eicu_rows, mimic3_rows, write_tables

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.ehr.schema import load_schema
from healthgym.evaluation.ehr.store import build_store

MIMIC3 = load_schema("mimic3")


def plain(tmp_path, **changed):
    """Write plain CSV with the rows of some tables changed."""
    return write_tables(tmp_path, "mimic3", zipped=False, rows={**mimic3_rows(), **changed})


def test_the_store_holds_every_row_of_the_drawn_patients(tmp_path):
    store = build_store(write_tables(tmp_path, "mimic3"), MIMIC3)
    expected = {name: len(rows) for name, rows in mimic3_rows().items()}
    assert store.counts == expected
    assert {name: store.query(f"SELECT count(*) FROM {name}")[0][0] for name in expected} == expected
    assert store.rows_of("2", "labevents")[1]["valuenum"] == 11.1


def test_only_as_many_patients_are_read_as_asked_for(tmp_path):
    store = build_store(write_tables(tmp_path, "mimic3"), MIMIC3, most=1)
    (patient,) = store.patients
    assert store.query("SELECT DISTINCT subject_id FROM labevents") == [(int(patient),)]
    assert store.counts["d_items"] == 2  # dictionaries belong to nobody and come whole


def test_splits_share_no_patient_and_together_hold_all(tmp_path):
    rows = dict.fromkeys(mimic3_rows(), ())
    rows["patients"] = [{"subject_id": number, "gender": "F", "expire_flag": 0} for number in range(40)]
    rows["admissions"] = [{"subject_id": number, "hadm_id": 100 + number} for number in range(40)]
    rows["icustays"] = [{"subject_id": number, "hadm_id": 100 + number, "icustay_id": number} for number in range(40)]
    folder = write_tables(tmp_path, "mimic3", rows=rows)
    drawn = [build_store(folder, MIMIC3, split=split).patients for split in ("train", "val", "test")]
    assert sorted(functools.reduce(operator.iadd, drawn, [])) == sorted(map(str, range(40))) and all(drawn)
    assert build_store(folder, MIMIC3, split="val", seed=7).patients == drawn[1]


def test_a_missing_table_is_named_with_where_to_get_it(tmp_path):
    (plain(tmp_path) / "labevents.csv").unlink()
    with pytest.raises(ConfigError, match=r"lacks labevents\.csv\[\.gz\] of MIMIC-III\. Give --data"):
        build_store(tmp_path, MIMIC3)


def test_a_missing_folder_and_no_folder_at_all_say_how_to_get_the_data(tmp_path):
    with pytest.raises(ConfigError, match=r"No folder .*Demo v1.4"):
        build_store(tmp_path / "absent", MIMIC3)
    with pytest.raises(ConfigError, match=r"ehr_eicu needs tables, which do not come with healthgym. Give --data"):
        load_benchmark("ehr_eicu")


def test_the_other_database_is_recognised(tmp_path):
    write_tables(tmp_path / "e", "eicu")
    write_tables(tmp_path / "m", "mimic3", upper=True)
    with pytest.raises(ConfigError, match="eICU tables; use the benchmark ehr_eicu"):
        build_store(tmp_path / "e", MIMIC3)
    with pytest.raises(ConfigError, match="MIMIC-III tables; use the benchmark ehr_mimic3"):
        build_store(tmp_path / "m", load_schema("eicu"))


def test_a_table_that_is_there_twice_is_refused(tmp_path):
    folder = plain(tmp_path)
    (folder / "LABEVENTS.csv.gz").write_bytes(gzip.compress((folder / "labevents.csv").read_bytes()))
    with pytest.raises(ConfigError, match=r"LABEVENTS\.csv\.gz and labevents\.csv are the same table"):
        build_store(folder, MIMIC3)


def test_a_missing_column_is_named_beside_the_header(tmp_path):
    path = plain(tmp_path) / "labevents.csv"
    path.write_text(path.read_text().replace("valuenum", "valuenumber", 1))
    with pytest.raises(ConfigError, match=r"labevents\.csv lacks the column valuenum; its header is row_id"):
        build_store(tmp_path, MIMIC3)


def test_duplicate_rows_are_refused_by_their_key(tmp_path):
    rows = mimic3_rows()["labevents"]
    plain(tmp_path, labevents=[*rows, {**rows[0], "row_id": 5}])
    with pytest.raises(ConfigError, match=r"labevents\.csv: row_id 5 stands twice"):
        build_store(tmp_path, MIMIC3)


def test_an_empty_event_table_means_nothing_was_measured_but_empty_stays_are_refused(tmp_path):
    assert build_store(plain(tmp_path, labevents=[]), MIMIC3).counts["labevents"] == 0
    with pytest.raises(ConfigError, match=r"icustays\.csv has no row of the 2 drawn patients"):
        build_store(plain(tmp_path, icustays=[]), MIMIC3)
    with pytest.raises(ConfigError, match=r"patients\.csv has a header but no rows"):
        build_store(plain(tmp_path, patients=[]), MIMIC3)


def test_a_file_without_a_header_is_refused(tmp_path):
    (plain(tmp_path) / "labevents.csv").write_text("")
    with pytest.raises(ConfigError, match=r"labevents\.csv is empty: not even a header"):
        build_store(tmp_path, MIMIC3)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"no gzip at all", lambda data: b""]
)
def test_a_damaged_gzip_file_is_refused_by_name(tmp_path, damage):
    path = write_tables(tmp_path, "mimic3") / "labevents.csv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ConfigError, match=r"labevents\.csv\.gz (cannot be unpacked|is empty)"):
        build_store(tmp_path, MIMIC3)


@pytest.mark.parametrize(
    ("find", "put", "message"),
    [
        ("4.2", "high", r"line 2: valuenum must be a number, got 'high'"),
        ("4.2", "nan", r"line 2: valuenum must be a number, got 'nan'"),
        (
            "2150-01-01 10:00:00",
            "01/01/2150 10:00",
            r"line 2: charttime must be a time as YYYY-MM-DD HH:MM:SS, got '01/01",
        ),
        ("50813", "5081.3", r"line 2: itemid must be a whole number"),
        (",4.2,", ",4.2,,", r"line 2: 10 fields where the header has 9"),
    ],
)
def test_a_broken_value_is_named_by_line_and_column(tmp_path, find, put, message):
    path = plain(tmp_path) / "labevents.csv"
    path.write_text(path.read_text().replace(find, put, 1))
    with pytest.raises(ConfigError, match=message):
        build_store(tmp_path, MIMIC3)


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = plain(tmp_path) / "prescriptions.csv"
    path.write_bytes(path.read_bytes().replace(b"Aspirin", b"Asp\xffrin"))
    with pytest.raises(ConfigError, match=r"prescriptions\.csv is not UTF-8 text"):
        build_store(tmp_path, MIMIC3)


def test_ages_above_89_are_kept_as_the_text_they_are(tmp_path):
    store = build_store(write_tables(tmp_path, "eicu", rows=eicu_rows()), load_schema("eicu"))
    assert store.query("SELECT age FROM patient ORDER BY patientunitstayid") == [("70",), ("70",), ("> 89",)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"options": {"patient": 3}}, "no option 'patient'. Did you mean 'patients'"),
        ({"options": {"per_template": 0}}, "per_template must be a whole number of at least 1, got 0"),
        ({"options": {"draw_seed": "x"}}, "draw_seed must be a whole number of at least 0, got 'x'"),
    ],
)
def test_unknown_or_unusable_options_are_refused(tmp_path, source, message):
    with pytest.raises(ConfigError, match=message):
        load_benchmark("ehr_mimic3", Source(path=tmp_path, **source))


def test_an_unknown_split_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"No split 'tset'. Did you mean 'test'"):
        build_store(plain(tmp_path), MIMIC3, split="tset")
