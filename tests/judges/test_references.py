from __future__ import annotations

from medagentgym.judges.references import ReferenceSummary, most_satisfied


def between(low: float, high: float) -> ReferenceSummary:
    return ReferenceSummary("usable", f"{low} to {high}", low, high)


def test_the_best_constant_lies_where_most_ranges_overlap() -> None:
    assert most_satisfied([between(1, 3), between(2, 4), between(3, 5), between(10, 11)]) == 3


def test_the_commonest_key_counts_where_there_are_no_ranges() -> None:
    assert most_satisfied([ReferenceSummary("usable", key) for key in ("a", "b", "a", "c")]) == 2
    assert most_satisfied([ReferenceSummary("usable", "a"), ReferenceSummary("usable", "a"), between(1, 2)]) == 2


def test_an_answer_satisfies_every_reference_that_has_its_key_among_others() -> None:
    assert most_satisfied([ReferenceSummary("usable", key) for key in ("a|b", "b|c", "c", "a", "b")]) == 3
    assert most_satisfied([ReferenceSummary("usable", key) for key in ("a|b", "b|c", "c", "a", "b")], 2) == 4


def test_several_answers_together_satisfy_more() -> None:
    references = [between(1, 3), between(2, 4), between(10, 11), ReferenceSummary("usable", "a"), between(20, 21)]
    assert [most_satisfied(references, answers) for answers in (1, 2, 3, 4, 9)] == [2, 3, 4, 5, 5]


def test_what_could_not_be_computed_is_satisfied_by_nothing() -> None:
    assert most_satisfied([ReferenceSummary("error", "error")] * 3) == 0
    assert most_satisfied([]) == 0
