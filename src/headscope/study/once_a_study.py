"""A cache of results per study, shared by page, atlas and terminal."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from headscope.study.study import Study

Made = TypeVar("Made")


def once_a_study(make: Callable[[Study], Made]) -> Callable[[Study], Made]:
    """Cache a function of a study: it is called once per study, and its result is reused and must not be changed.

    The result must not refer to the study itself, which would then never be freed.

    Args:
        make: the function.
    """
    results: WeakKeyDictionary[Study, Made] = WeakKeyDictionary()

    @wraps(make)
    def result_of(run: Study) -> Made:
        if run not in results:
            results[run] = make(run)
        return results[run]

    return result_of
