"""Repeats are left out only where nothing is lost with them."""

import numpy as np
import pytest

from healthgym.errors import ConfigError
from healthgym.retrieval import HashingEncoder, Passage, build_index, open_retriever
from healthgym.retrieval.dedupe import Signer, find_duplicates, is_near_duplicate, similarity

TEXT = (
    "Warfarin is monitored with the international normalised ratio. Give vitamin K when the ratio is above 10 without "
    "bleeding, and repeat the test after one day. Patients on amiodarone need a lower dose because metabolism is slowed. "
    "Tell the patient to report any bleeding at once and to keep the diet steady."
)


def passage(name, text=TEXT, title="Warfarin", **more):
    return Passage(id=name, title=title, text=text, source="s", licence="CC0-1.0", **more)


def duplicates(passages, mode="near"):
    return find_duplicates(Signer().sign(passages), passages.__getitem__, mode)


def test_case_and_spaces_do_not_make_a_text_another():
    assert duplicates([passage("a"), passage("b", TEXT.upper().replace(" ", "\n"))], "exact") == {1: (0, "exact")}


def test_a_text_without_a_closing_remark_is_a_near_duplicate_of_the_whole():
    # 56 words against 51: the 5 words at the end take 5 of 56 shingles with them and the padding differs in 2.
    short = TEXT.removesuffix(" and to keep the diet steady.") + "."
    assert duplicates([passage("whole"), passage("short", short)]) == {1: (0, "near")}
    assert duplicates([passage("whole"), passage("short", short)], "exact") == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("above 10", "above 9"),
        ("above 10", "above >10"),
        ("vitamin K", "vitamin C"),
        ("amiodarone", "phenytoin"),
        ("is monitored", "is not monitored"),
        ("without bleeding", "with bleeding"),
        ("one day", "one day and one week"),
    ],
)
def test_another_dose_drug_negation_or_addition_is_never_a_duplicate(old, new):
    assert old in TEXT
    assert duplicates([passage("a"), passage("b", TEXT.replace(old, new))]) == {}
    assert not is_near_duplicate(passage("a"), passage("b", TEXT.replace(old, new)))


def test_the_same_words_under_another_title_say_something_else():
    assert duplicates([passage("a", title="Disease A"), passage("b", title="Disease B")]) == {}


def test_a_sign_is_part_of_an_exact_text():
    assert duplicates([passage("a", "Give if K < 3.5"), passage("b", "Give if K > 3.5")]) == {}


def test_similarity_is_shared_shingles_over_all():
    # "a b c d": abc bcd cd. d..; "a b c e": abc bce ce. e..; 1 shared of 7.
    assert similarity(["a", "b", "c", "d"], ["a", "b", "c", "e"]) == pytest.approx(1 / 7)
    assert similarity(["a"], ["a"]) == 1.0


def test_the_first_of_many_repeats_stays():
    passages = [passage(str(number)) for number in range(40)]
    assert duplicates(passages) == dict.fromkeys(range(1, 40), (0, "exact"))


def test_band_keys_find_pairs_above_the_threshold_and_do_not_change_with_the_batch():
    rng = np.random.default_rng(3)
    words = ["".join("abcdefghij"[int(digit)] for digit in str(number)) for number in range(10_000, 13_000)]
    texts = [list(rng.choice(words, 100)) for _ in range(200)]
    passages = [passage(str(n), " ".join(text)) for n, text in enumerate(texts)]
    # Leaving out 5 words at the end keeps 93 of 102 shingles: candidates with probability 1 - (1 - 0.912^5)^12 > 0.9999.
    passages += [passage(f"{n}-cut", " ".join(text[:95])) for n, text in enumerate(texts)]
    whole = Signer().sign(passages)
    parts = np.concatenate([Signer().sign(passages[:7]), Signer().sign(passages[7:])])
    assert (whole == parts).all()
    assert find_duplicates(whole, passages.__getitem__) == {200 + n: (n, "near") for n in range(200)}


def test_an_index_without_repeats_counts_them_and_names_them(tmp_path):
    pytest.importorskip("faiss")
    pytest.importorskip("bm25s")
    short = TEXT.removesuffix(" and to keep the diet steady.") + "."
    rows = [passage("a"), passage("a"), passage("c", short), passage("d", "Another text.")]
    manifest = build_index([rows], tmp_path / "out", HashingEncoder(64), duplicates="near")
    assert manifest.passages == 2
    assert manifest.parameters["duplicates"] == {"exact": 1, "near": 1}
    listed = next((tmp_path / "out").rglob("duplicates.jsonl")).read_text().splitlines()
    assert listed == ['{"id": "a", "repeats": "a", "kind": "exact"}', '{"id": "c", "repeats": "a", "kind": "near"}']
    assert [hit.id for hit in open_retriever(tmp_path / "out").search("another text", 5, mode="lexical")] == ["d"]


def test_an_unknown_mode_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="near, exact, keep"):
        build_index([[passage("a")]], tmp_path / "out", HashingEncoder(64), duplicates="fuzzy")
