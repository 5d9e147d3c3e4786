"""Sequences of questions: the last one, made to stand for itself.

What refers back to the patient, to a visit or period, or to another measure of the same value is put in its place. A last question about "them", a
group of patients that the questions before it narrowed down, stays as it is, and the rules for single questions do not understand it.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[?.!])\s+(?=[A-Z])|\n")
_NUMBERED = re.compile(r"\bpatient \d+\b")
_REFERRED = re.compile(r"\b(?:this|that|the same) patient\b", re.IGNORECASE)
_VISIT = re.compile(r"\bon the (?:first|last|current) (?:hospital|icu) (?:visit|stay)\b")
_SAME_VISIT = re.compile(r"\bon th(?:at|e) same (?:visit|stay)\b")
_PERIOD = re.compile(
    r"\b(?:(?:since|until) \d+ (?:year|month|day)s? ago|(?:in|since|until|on) \d[\d/]*(?:/?(?:this|last) (?:year|month))?"
    r"|(?:this|last) (?:year|month)|today|yesterday)"
)
_SAME_PERIOD = re.compile(r"\bin the same period\b")
_MEASURE = re.compile(r"\bthe (?P<measure>minimum|maximum|average|(?:first |last )measured)\b")
_OTHER_MEASURE = re.compile(r"^(?:and )?the (?P<measure>minimum|maximum|average|(?:first |last )measured)(?: value| one)?\?$", re.IGNORECASE)


def last_question(text: str) -> str:
    """The last question of a text of several, standing for itself as far as possible; a text of one line as it is."""
    if "\n" not in text:
        return text
    before = [sentence.strip() for sentence in _SENTENCE.split(text) if sentence and sentence.strip()]
    last = before.pop() if before else text
    if (other := _OTHER_MEASURE.match(last)) and before and _MEASURE.search(before[0]):
        return _MEASURE.sub(f"the {other['measure'].lower()}", before[0], count=1)
    last = re.sub(r"^And ", "", last)
    for pattern, named in ((_REFERRED, _NUMBERED), (_SAME_VISIT, _VISIT), (_SAME_PERIOD, _PERIOD)):
        found = next((match for sentence in reversed(before) if (match := named.search(sentence))), None)
        if found is not None:
            last = pattern.sub(found[0], last)
    return last
