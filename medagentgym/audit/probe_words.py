"""What the probes of our tasks do, in words: for the summary of an audit and for `docs/tasks.md`.

A task of a third party names its own; the summary then shows the bare name.
"""

from __future__ import annotations

from collections.abc import Iterable

PROBE_WORDS: dict[tuple[str, ...], str] = {
    ("reference",): "the solution that the task knows, played twice; where the question is impossible, abstaining",
    ("another_value",): "the reference, every value of its answer replaced by another of the same kind",
    ("surplus",): "the reference, with one value or row more in its answer",
    ("slightly_high", "slightly_low"): "the gold, just outside of what the judge forgives",
    ("swapped",): "the gold with its sign changed, month and day swapped, or weeks and days swapped",
    ("in_percent",): "the gold times 100",
    ("empty_body",): "a function of the right name that does nothing",
    ("wrong_body",): "a function that returns another text, whatever it is given",
    ("changed_result",): "the reference function with its result changed",
    ("all_changed",): "the reference, every variable that is looked at changed",
    ("all_emptied",): "the reference, these variables made empty",
    ("all_none",): "the reference, these variables set to None",
    ("one_missing",): "the reference, one of these variables deleted",
    ("abstain",): "abstains from every question; played where impossible ones are asked",
    (
        "constant_zero", "constant_one", "constant_true", "constant_false", "constant_none", "constant_empty_text", "constant_empty_list",
        "constant_yes", "constant_no",
    ): "this one answer to every question, left in `answer` and printed",
    ("constant_42", "constant_power"): "42, and 0.8, which are common golds",
    ("commonest_gold",): "the reference answer of the commonest gold, to every question: the best constant that there is",
    ("commonest_golds",): "the reference answers of the ten commonest golds, one attempt after the other",
    ("both_in_a_list",): "yes and no at once, as a list",
    ("both_in_a_text",): "yes and no at once, in one text",
    ("both_printed",): "yes and no printed, and no answer left",
    ("hundred_numbers",): "the numbers 0 to 99 as one answer",
    ("two_guesses",): "True, then False, as two attempts",
    ("ten_guesses",): "1, 0, None and 2 to 8, as ten attempts",
    ("print_everything",): "prints all data files and leaves no answer",
    ("a_range_as_text",): "the text '0 to 1000'",
    ("infinite",): "an infinite number",
    ("every_date", "every_age"): "all dates of 31 years, or all gestational ages, as one answer",
    ("every_power",): "0 to 1 in steps of 0.001, as one answer",
    ("equal_object", "equal_text", "equal_number"): "an object that calls itself equal to anything: of its own kind, a text, a number",
    ("equal_object_in_a_list", "equal_object_in_a_row"): "such an object in a list, and in a row of a list",
    ("equal_throughout",): "such an object, of which every part and every result of a call is one, too",
    ("exit_at_once", "hard_exit_at_once"): "ends the interpreter before anything is left",
    ("exit_after_printing", "hard_exit_after_printing"): "prints 1, then ends the interpreter",
    ("early_exit", "hard_exit"): "ends the interpreter in place of the result",
    ("exit_at_the_end",): "ends the interpreter when the program is over",
    ("early_exit_while_defining",): "ends the interpreter while the function is defined",
    ("patched_output",): "replaces what prints and what writes and reads JSON",
    ("patched_comparison",): "replaces what compares, counts and converts",
    ("patched_builtins",): "replaces what the assertions compare with: builtins, NumPy, pandas",
    ("taken_over_harness",): "replaces every function of the harness that it can find",
    ("printed_without_function",): "prints the expected output and defines no function",
    ("printed_beside_function", "printed_while_defining"): "prints the expected output beside a function that does nothing, or while defining it",
    ("printed_in_function",): "a function that prints the expected output and returns nothing",
    ("printed_then_exit", "printed_then_hard_exit"): "a function that prints the expected output and ends the interpreter",
    ("replaced_print",): "a function that prints the expected output and silences everything after it",
    ("replaced_program",): "a function that looks for the program in memory and replaces what it prints with",
    ("every_descriptor",): "a function that writes the expected output to every open file of every process that it can reach",
    ("object_that_prints_as_expected",): "returns an object whose text is the expected output",
    ("killed_program",): "kills the program that called it",
    (
        "returns_zero", "returns_true", "returns_false", "returns_empty_text", "returns_empty_list",
    ): "a function that returns this, whatever it is given",
    ("zero", "one", "true", "empty_text", "empty_list", "empty_frame"): "this value under every name that is looked at",
    ("not_a_number",): "NaN, as the answer or under every name that is looked at",
    ("infinity",): "infinity under every name that is looked at",
    ("fresh_model", "fresh_figure"): "a model that was never fitted, or an empty figure, under every name that is looked at",
    ("generator",): "a generator under every name that is looked at",
    ("swallowed_exception",): "None under every name, after an exception that was caught",
    ("redefined_assertions",): "None under every name, beside functions called like those that check",
    ("nothing",): "prints that all assertions hold, and leaves no variable",
}  # fmt: skip
"""Names of probes -> what they do."""


def words_of(names: Iterable[str]) -> dict[tuple[str, ...], str]:
    """What probes do, for those of `names` that are known: those that share their words together, in the order given."""
    found: dict[str, list[str]] = {}
    words = {name: said for several, said in PROBE_WORDS.items() for name in several}
    for name in names:
        if name in words:
            found.setdefault(words[name], []).append(name)
    return {tuple(several): said for said, several in found.items()}
