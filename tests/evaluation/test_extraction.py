"""The answer read from free text: every form of an answer, whatever stands around it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthgym.evaluation.extraction import extract

OPTIONS = {"A": "Aspirin", "B": "Beta blocker", "C": "Metformin 500 mg", "D": "Insulin"}
VITAMINS = {"A": "Vitamin K", "B": "Vitamin A", "C": "Hepatitis B", "D": "B12 deficiency"}
SHIFTED = {"A": "B", "B": "C", "C": "D", "D": "A"}
NUMBERS = {"A": "2", "B": "4", "C": "4.5", "D": "10"}
DECISIONS = {"yes": "yes", "no": "no", "maybe": "maybe"}

ANSWERS = (
    "C", "(C)", "C.", "**C**", "[C]", "`C`", "c", "(c)", "### C", "> C", "- C", "Option C", "Answer C.", "C because it works",
    "C, because A is wrong", "C. because A is wrong", "Answer: C", "Answer: (C)", "**Answer:** C", "Answer:\n\nC", "answer: c",
    "ANSWER: C", "Final answer: C", "The final answer is: C", "the answer is C. because A is wrong", "The answer is C",
    "The correct answer is option C.", "The best option here is C", "The answer to this question is C.", "So the answer is therefore C!",
    "The answer is C, since the others do harm.", "The answer is C: Metformin", "The answer is C - Metformin 500 mg",
    "I would choose C.", "I'll go with option C", "I'm not sure, but the answer is C.", "There is no doubt that the answer is C",
    "C is correct.", "Option C is the best answer.", "I think that C is the most likely option.", "\\boxed{C}", "$\\boxed{\\text{C}}$",
    "<answer>C</answer>", "Metformin 500 mg", "metformin 500 mg.", "The answer is metformin 500 mg.", "Answer: **Metformin 500 mg**",
    "Metformin 500 mg is the correct answer.", "C. Metformin 500 mg", "C) Metformin 500 mg is first-line.", "(C) metformin 500 mg",
    "C: Metformin 500", "Ａｎｓｗｅｒ： Ｃ", "（Ｃ）", "答案是C", "正确答案：C", "答案选Ｃ。", "故选C。", "Ответ: С", "Правильный ответ — С",
    "La respuesta correcta es la C.", "A resposta correta é a C", "La réponse est C", "Die richtige Antwort lautet C", "Antwort: C",
    "<think>The answer is A. No, B.</think>\nThe answer is C", "maybe it is A</think>C",
)  # fmt: skip
PADDING = (
    "A patient with this presentation needs a careful history. I would look at the chart first.",
    "It could be many things, and I am not a doctor.",
    "Some might say the answer is A.", "If the answer is A, the pressure would fall.", "The answer is not B.", "Is the answer D?",
    "I don't think the answer is D.", "It would be wrong to say that the answer is B.", "A was considered. B or D may help some people.",
    "Option A is incorrect. Option B is not correct either.", "Vitamin A and hepatitis B were discussed; so was protein C.",
    "Aspirin is a drug. Insulin lowers glucose, and a beta blocker slows the heart.",
    "Answer with the letter of the one correct option (A, B, C, D).", "Which of the following is the next step? Options: A, B, C, D",
    "A. Aspirin\nB. Beta blocker\nC. Metformin 500 mg\nD. Insulin", "(D) Insulin (A) Aspirin (C) Metformin 500 mg (B) Beta blocker",
    "Question: Which drug?\nA) Aspirin B) Beta blocker C) Metformin 500 mg D) Insulin", "Insulin\nAspirin\nMetformin 500 mg\nBeta blocker",
    "A\nB\nC\nD", "I cannot provide medical advice, but I will try.", "The answer is A matter of debate.", "根据病史，需要进一步检查。",
    "Это вопрос о лекарствах.", "", "...", "---", "**Reasoning**", "1. Read the question\n2. Think", "I. Introduction", "x" * 300,
)  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_every_form_of_an_answer_is_read(answer: str):
    assert extract(answer, OPTIONS)[0] == "C"


@pytest.mark.parametrize("padding", PADDING)
def test_padding_claims_nothing(padding: str):
    assert extract(padding, OPTIONS)[0] is None


@settings(max_examples=400, deadline=None)
@given(
    answer=st.sampled_from(ANSWERS),
    before=st.lists(st.sampled_from(PADDING), max_size=4),
    after=st.lists(st.sampled_from(PADDING), max_size=4),
)
def test_padding_before_and_after_changes_nothing(answer: str, before: list[str], after: list[str]):
    if "think>" in answer and any(before):
        return  # what stands before reasoning is not an answer to it
    assert extract("\n\n".join([*before, answer, *after]), OPTIONS)[0] == "C"


@settings(max_examples=150, deadline=None)
@given(
    answer=st.sampled_from([*ANSWERS[:60], "It depends.", "The answer is A or B."]),
    order=st.permutations(sorted(OPTIONS)),
    form=st.sampled_from(["{}. {}", "({}) {}", "{}) {}", "**{}**: {}"]),
    joint=st.sampled_from(["\n", " ", "\n\n"]),
    first=st.booleans(),
)
def test_shuffling_a_list_of_the_options_changes_nothing(
    answer: str, order: list[str], form: str, joint: str, first: bool
):
    listed = joint.join(form.format(label, OPTIONS[label]) for label in order)
    text = f"{listed}\n\n{answer}" if first else f"{answer}\n\n{listed}"
    assert extract(text, OPTIONS)[0] == extract(answer, OPTIONS)[0]


@settings(max_examples=150, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["A", "B", "patient", "with", "I", "C", "fever", "and", "D", "the"]), min_size=2, max_size=12
    )
)
def test_letters_among_words_are_no_answer(words: list[str]):
    assert extract("Well, " + " ".join(words) + " or so it seems", OPTIONS)[0] is None


@pytest.mark.parametrize(
    "text",
    ["The answer is A. No, the answer is C.", "Answer: A\nAnswer: C", "\\boxed{A} and \\boxed{B}", "The answer is A or C",
     "Answer: A, C", "The answer is A/B", "A\n\nThe answer is C", "A\nC", "A. Aspirin\nB. Beta blocker", "Aspirin\nInsulin",
     "The answer is C. Aspirin", "The answer is aspirin or insulin", "Answer: aspirin/insulin", "The answer is A or maybe C",
     'The answer is "Aspirin" and perhaps the beta blocker.', "The correct option is (A) or possibly (C)"],
)  # fmt: skip
def test_claims_that_disagree_are_no_answer(text: str):
    assert extract(text, OPTIONS) == (None, "conflict")


@pytest.mark.parametrize(
    ("text", "label"),
    [("Answer: A is incorrect because of the bleeding. B is right.", "B"), ("Answer: A is wrong", None),
     ("Choice: A is not the answer", None), ("The answer is aspirin and insulin is wrong", "A"),
     ("The answer is aspirin, not insulin", "A"), ("Answer: aspirin or beta blocker or metformin 500 mg or insulin", None)],
)  # fmt: skip
def test_what_is_denied_right_after_it_is_no_claim_and_what_is_denied_beside_it_no_second_one(
    text: str, label: str | None
):
    assert extract(text, OPTIONS)[0] == label


def test_one_option_beyond_a_whole_list_is_a_claim():
    dump = "A. Aspirin\nB. Beta blocker\nC. Metformin 500 mg\nD. Insulin\n"
    assert extract(dump + "C. Metformin 500 mg", OPTIONS) == ("C", "labelled")
    assert extract("C. Metformin 500 mg\n" + dump, OPTIONS) == ("C", "labelled")
    assert extract(dump, OPTIONS) == (None, "none")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Vitamin A", "B"), ("The answer is Vitamin A.", "B"), ("The answer is A", "A"), ("Hepatitis B is correct.", "C"),
        ("Answer: Hepatitis B", "C"), ("The answer is B12 deficiency", "D"), ("The answer is vitamin K", "A"), ("Vitamin", None),
        ("The answer is hepatitis", None), ("The answer is C. difficile", None),
    ],
)  # fmt: skip
def test_letters_inside_options_are_text(text: str, label: str | None):
    assert extract(text, VITAMINS)[0] == label


def test_a_letter_is_a_label_even_where_it_is_the_text_of_another_option():
    assert extract("The answer is B", SHIFTED) == ("B", "stated")
    assert extract("B", SHIFTED) == ("B", "alone")


@pytest.mark.parametrize(
    ("text", "label"),
    [("4", "B"), ("The answer is 4", "B"), ("The answer is 4.5", "C"), ("4.5", "C"), ("The answer is 42", None), ("B", "B"), ("10", "D"),
     ("Answer: 4.", "B")],
)  # fmt: skip
def test_numbers_are_read_whole(text: str, label: str | None):
    assert extract(text, NUMBERS)[0] == label


def test_the_longest_text_is_meant():
    options = {"A": "hepatitis B", "B": "hepatitis B vaccine", "C": "rest"}
    assert extract("The answer is hepatitis B vaccine.", options)[0] == "B"
    assert extract("The answer is hepatitis B.", options)[0] == "A"


def test_a_label_before_the_text_of_another_option_is_no_answer():
    assert extract("A. Insulin", OPTIONS) == (None, "none")
    assert extract("A. Insulin\n\nThe answer is A. Insulin", OPTIONS) == (None, "conflict")


def test_full_stops_at_the_end_of_options_may_be_left_out():
    options = {"A": "Bruxism.", "B": "Nail biting."}
    assert extract("A. Bruxism", options) == ("A", "labelled")
    assert extract("Bruxism", options) == ("A", "text")
    assert extract("The answer is nail biting", options) == ("B", "stated")


def test_options_with_one_text_are_told_apart_by_their_labels_only():
    options = {"A": "None", "B": "none", "C": "all"}
    assert extract("The answer is none", options)[0] is None
    assert extract("The answer is B", options)[0] == "B"


@pytest.mark.parametrize(
    ("text", "label"),
    [("Yes", "yes"), ("**No**", "no"), ("Maybe.", "maybe"), ("Yes, the trial showed it.", "yes"), ("The answer is no.", "no"),
     ("Answer: maybe", "maybe"), ("No effect was seen in the trial.", None), ("Answer with one word: yes, no, maybe.", None),
     ("The answer is yes or no", None), ("Yes\nNo", None), ("yesterday", None), ("Yes\nNo\nMaybe\n\nNo", "no"), ("结论：\n答案是yes", "yes")],
)  # fmt: skip
def test_yes_no_and_maybe_are_read(text: str, label: str | None):
    assert extract(text, DECISIONS)[0] == label


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't help with that.",
        "I cannot provide medical advice.",
        "As an AI language model, I have no opinion.",
    ],
)
def test_refusals_are_told(text: str):
    assert extract(text, OPTIONS) == (None, "refusal")


def test_a_label_and_a_text_in_two_paragraphs_are_no_pair():
    lists = (
        "A. Aspirin\nB. Beta blocker\nC. Metformin 500 mg\nD. Insulin",
        "Insulin\nAspirin\nMetformin 500 mg\nBeta blocker",
    )
    text = f"C. Metformin 500 mg\n\n{lists[0]}\n\nI don't think the answer is D.\n\n{lists[1]}"
    assert extract(text, OPTIONS)[0] == "C"


def test_an_answer_with_an_apology_is_an_answer():
    assert extract("I'm sorry, I am not a doctor. The answer is C.", OPTIONS)[0] == "C"


@pytest.mark.parametrize("text", ["", " \n\t", "<think>The answer is C", "**"])
def test_nothing_written_is_empty(text: str):
    assert extract(text, OPTIONS) == (None, "empty")


@pytest.mark.parametrize(
    ("unit", "label"),
    [("The answer is C. ", "C"), ("answer is ", None), (" ", None), ("((((", None), ("A or ", None), ("C\n", "C"), ("not ", None),
     ("<think>", None), ("\\boxed{", None), ("----", None), ("respuesta ", None), ("A. Aspirin ", "A")],
)  # fmt: skip
def test_a_hundred_thousand_characters_are_read(unit: str, label: str | None):
    assert extract(unit * (100_000 // len(unit)), OPTIONS)[0] == label


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(max_size=300),
    options=st.dictionaries(st.sampled_from("ABCDE"), st.text(min_size=1, max_size=20), min_size=2),
)
def test_any_text_and_options_are_accepted(text: str, options: dict[str, str]):
    label, rule = extract(text, options)
    assert (label is None) == (rule in ("empty", "conflict", "refusal", "none"))
    assert label is None or label in options
