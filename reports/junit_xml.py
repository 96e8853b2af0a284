"""JUnit XML from cases, whatever they are about. It holds no time: the same cases give the same bytes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from xml.etree import ElementTree

from .words import plain

Result = Literal["passed", "failure", "error", "skipped"]
_NO_XML: Final = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True)
class Case:
    """One test case. message: why it did not pass, in one line; kind: of what kind that is; told: what else is to be said."""

    name: str
    result: Result = "passed"
    message: str = ""
    kind: str = ""
    told: str = ""


@dataclass(frozen=True)
class Suite:
    """Cases of one kind. classname: how viewers group them; properties: what was found out about the run, not by it."""

    name: str
    classname: str
    cases: Sequence[Case]
    properties: Mapping[str, str] = field(default_factory=dict)

    def count(self, result: Result) -> str:
        """How many cases came out like this."""
        return str(sum(case.result == result for case in self.cases))


def junit_xml(suites: Sequence[Suite]) -> str:
    """The document. Control characters, and the two that XML does not have, are written out."""
    root = ElementTree.Element("testsuites", {"name": "crashwindow", **_counts(suites)})
    for suite in suites:
        made = ElementTree.SubElement(root, "testsuite", {"name": _text(suite.name), **_counts([suite])})
        if suite.properties:
            properties = ElementTree.SubElement(made, "properties")
            for name, value in suite.properties.items():
                ElementTree.SubElement(properties, "property", name=_text(name), value=_text(value))
        for case in suite.cases:
            _case(made, suite.classname, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(suites: Sequence[Suite]) -> dict[str, str]:
    cases = Suite("", "", [case for suite in suites for case in suite.cases])
    return {
        "tests": str(len(cases.cases)),
        "failures": cases.count("failure"),
        "errors": cases.count("error"),
        "skipped": cases.count("skipped"),
    }


def _case(suite: ElementTree.Element, classname: str, case: Case) -> None:
    made = ElementTree.SubElement(suite, "testcase", classname=_text(classname), name=_text(case.name))
    if case.result == "passed":
        if case.told:
            ElementTree.SubElement(made, "system-out").text = _text(case.told)
        return
    why = ElementTree.SubElement(made, case.result, message=_text(case.message))
    if case.kind:
        why.set("type", _text(case.kind))
    if case.told:
        why.text = _text(case.told)


def _text(text: str) -> str:
    return _NO_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", plain(text))
