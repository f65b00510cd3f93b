"""What a model can do, as data.

`capability_table` finds the `model_capabilities` by family and name: `openai_models`,
`anthropic_models`, `google_models`. `learned_limits` remembers what the refusals of an endpoint
taught (`providers.refusals`), `token_calibration` how it counts tokens.
"""

from oshaberi.providers.capabilities.capability_table import capabilities_of
from oshaberi.providers.capabilities.learned_limits import LearnedLimits, ModelPlace
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities

__all__ = ["LearnedLimits", "ModelCapabilities", "ModelPlace", "capabilities_of"]
