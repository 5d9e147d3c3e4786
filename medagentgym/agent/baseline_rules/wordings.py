"""Other wordings of the same thing: each is replaced by the one that the rules know."""

from __future__ import annotations

import re

_REPLACEMENTS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # what stands before a question
        (r"^(?:please |kindly )?(?:(?:can|could|would) you )?(?:please )?(?:tell|give|show) me[:,]? (?!the ids)", ""),
        (r"^(?:please )?(?:(?:can|could|would) you )?(?:find out|calculate|determine|compute|let me know),? ", ""),
        (r"^(?:what (?:is|was) )?(?:the |count the )?(?:total )?(?:number|count) of ", "how many "),
        (r"^count (?:how many |(?:the )?number of |the )?", "how many "),
        (r"^(?:what (?:is|was) |give )?the (?:time|moment) (?:at which|when|that) ", "when was the time that "),
        (r"^(?:at )?(?:what|which) time (?:did|was|has) ", "when was the time that "),
        # words of the hospital
        (r"\bintensive care(?: units?)?\b", "icu"),
        (r"\bstays in icu\b", "icu stays"),
        (r"\b(?:people|persons|individuals)\b", "patients"),
        (r"\bhospital (?:encounter|stay)\b(?! (?:of|of patient|last|did))", "hospital visit"),
        (r"\b(?:ordered|given a prescription of|receive a prescription of)\b", "prescribed"),
        (r"\b(?:an|the) orders? of\b", "a prescription of"),
        (r"\borders of\b", "prescriptions of"),
        (r"\bcultures?\b(?= (?:of|grow|grew))", "microbiology tests"),
        (r"\bleft? the hospital\b", "discharged from the hospital"),
        # words of the question
        (r"\b(?:is|are) charged for (?:ordering|a prescription of) ", "does a prescription cost of "),
        (r"\b(?:is|are) charged for diagnosing ", "does it cost, diagnosing "),
        (r"\b(?:is|are) charged for ", "does it cost, "),
        (r"^add up the ", "what is the total of the "),
        (r"\bas of now\b|\bby now\b|\bon record\b", ""),
        (r"\bduring the previous\b", "last"),
    )
)


def known_wording(text: str) -> str:
    """A question in lower case, in the wording that the rules know."""
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
