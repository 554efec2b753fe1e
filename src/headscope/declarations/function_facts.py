"""Facts that identify a user's function, for the signature of a run."""

from functools import partial
from types import CodeType, FunctionType
from typing import Any


def function_facts(value: Any) -> Any:
    """Return facts that identify a function, the same in every process.

    They cover its code, defaults, closure and bound arguments, but not values that it reads from elsewhere.
    """
    if isinstance(value, FunctionType):
        inside = [function_facts(cell.cell_contents) for cell in value.__closure__ or ()]
        return function_facts(value.__code__), value.__defaults__, inside
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, [function_facts(each) for each in value.co_consts]
    if isinstance(value, partial):
        arguments = [function_facts(each) for each in value.args]
        return function_facts(value.func), arguments, sorted(value.keywords.items())
    method = type(value).__call__ if callable(value) else None
    if isinstance(method, FunctionType):
        return type(value).__qualname__, function_facts(method), sorted(vars(value).items())
    return repr(value)
