"""LiveQA (medical): consumers' questions to the National Library of Medicine, with reference answers.

Source: Ben Abacha et al., TREC 2017, Overview of the Medical Question Answering Task. The test file is XML: NLM-QUESTION with
qid, Original-Question (SUBJECT and MESSAGE), NIST-PARAPHRASE, NLM-Summary where summaries were added, ANNOTATIONS with
TYPE, and an ANSWER in each ReferenceAnswer. The training files have SUBJECT and MESSAGE in NLM-QUESTION itself and an ANSWER in
each SUB-QUESTION. --set question=paraphrase or question=summary asks in those words.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, ParseError, parse

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.given_options import one_of
from healthgym.evaluation.long_form import LongFormBenchmark, LongQuestion, about_long_form, long_form_benchmark
from healthgym.evaluation.records import find_file, given_path

HOW = (
    "LiveQA is public (TREC 2017, or the repository abachaa/LiveQA_MedicalTask_TREC2017): give --data its test file, "
    "TREC-2017-LiveQA-Medical-Test-Questions-w-summaries.xml"
)
ASKED = {
    "original": ("SUBJECT", "MESSAGE"),
    "paraphrase": ("NIST-PARAPHRASE",),
    "summary": ("NLM-Summary", "NLM-SUMMARY"),
}


def load(source: Source) -> Sequence[LongQuestion]:
    """Return the questions of the file."""
    path = find_file(
        given_path(source, HOW),
        "*LiveQA*Test*summaries*.xml",
        "*LiveQA*Test*.xml",
        "med-qs-and-reference-answers.xml",
        "*.xml",
    )
    try:
        root = parse(path).getroot()
    except ParseError as error:
        raise ConfigError(f"{path} is no whole XML file: {error}") from error
    elements = list(root.iter("NLM-QUESTION"))
    if not elements:
        raise ConfigError(f"{path} has no NLM-QUESTION under its {root.tag}. {HOW}")
    asked = one_of(source.options, "question", tuple(ASKED))
    return [_question(element, place, ASKED[asked]) for place, element in enumerate(elements, 1)]


def _question(element: Element, place: int, tags: Sequence[str]) -> LongQuestion:
    parts = [text for tag in tags for each in element.iter(tag) if (text := _text(each))]
    kind = next((_text(each) for each in element.iter("TYPE")), "")
    return LongQuestion(
        id=element.get("qid") or element.get("questid") or f"question-{place}",
        question="\n".join(parts),
        references=tuple(_text(each) for each in element.iter("ANSWER")),
        strata={"type": kind.lower()} if kind else {},
    )


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def make(source: Source) -> LongFormBenchmark:
    """Return the benchmark."""
    title = "LiveQA medical (TREC 2017), ROUGE-L"
    return long_form_benchmark(source, name="live_qa", title=title, load=load, needs=HOW, options=("question",))


ABOUT = {
    "live_qa": about_long_form(
        "LiveQA medical (TREC 2017), ROUGE-L", HOW, options={"question": "original (default), paraphrase or summary"}
    )
}
BENCHMARKS = {"live_qa": make}
