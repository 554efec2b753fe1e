"""What is worked out of a study once, however often page, atlas and terminal ask for it."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from headscope.study.study import Study

Made = TypeVar("Made")


def once_a_study(make: Callable[[Study], Made]) -> Callable[[Study], Made]:
    """Let a function of a study be called once a study; what it returned is returned again, and nobody may change it.

    What it returns must not hold the study itself, which would be kept for ever.

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
