"""The tables of the effects stage."""

from headscope.analyses.effects.estimates.tables import EFFECT_ESTIMATES
from headscope.analyses.effects.tables import EFFECTS

TABLES = (EFFECTS, EFFECT_ESTIMATES)
