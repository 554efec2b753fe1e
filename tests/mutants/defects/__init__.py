"""Defects that the tests find: small wrong changes in every folder of src/headscope, with the tests that find them."""

from .analyses_a_to_e import ANALYSES_A_TO_E
from .analyses_e_to_s import ANALYSES_E_TO_S
from .analyses_why import ANALYSES_WHY
from .defect import Defect
from .models import MODELS
from .pages import PAGES
from .program import PROGRAM
from .reading import READING
from .statistic import STATISTIC

__all__ = ["DEFECTS", "Defect"]

DEFECTS: list[Defect] = [
    *READING,
    *MODELS,
    *STATISTIC,
    *ANALYSES_A_TO_E,
    *ANALYSES_E_TO_S,
    *ANALYSES_WHY,
    *PAGES,
    *PROGRAM,
]
