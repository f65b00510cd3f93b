"""What a model can do, as data, and what its refusals taught.

`capability_table` knows models by family and name, `learned_limits` remembers what an endpoint
refused, and `refusal_rules` says what a refusal teaches. `token_calibration` knows
how an endpoint counts tokens.
"""

from oshaberi.providers.capabilities.capability_table import capabilities_of
from oshaberi.providers.capabilities.learned_limits import LearnedLimits, ModelPlace
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities

__all__ = ["LearnedLimits", "ModelCapabilities", "ModelPlace", "capabilities_of"]
