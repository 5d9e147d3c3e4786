"""Reference programs made wrong: what every task's judges must reject."""

from __future__ import annotations

_ANOTHER_VALUE = '''

def another_value(value):
    """The same shape, every value another one."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: another_value(item) for key, item in value.items()} or [1]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [another_value(item) for item in value] or [1]
    if isinstance(value, bool):
        return not value
    if value is None or value != value:
        return 1
    if isinstance(value, (int, float)):
        return 2 * value + 987654321
    return f"another {value}"

'''

_SURPLUS = '''
def with_surplus(value):
    """Everything that was there, and one thing more of the same shape."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {**value, "surplus": 987654321}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [*value, another_value(next(iter(value)))] if value else [1]
    return [value, another_value(value)]

'''


def another_answer(program: str) -> str:
    """`program`, with every value of its `answer` replaced by another of the same kind."""
    return f"{program}{_ANOTHER_VALUE}\nanswer = another_value(answer)\n"


def surplus_answer(program: str) -> str:
    """`program`, with one value or row more in its `answer`."""
    return f"{program}{_ANOTHER_VALUE}{_SURPLUS}\nanswer = with_surplus(answer)\n"
