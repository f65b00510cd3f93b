"""What a model can do, as data, and what its refusals taught.

`capability_table` finds the `model_capabilities` by family and name: `openai_models`,
`anthropic_models`, `google_models`. A `refusal` teaches by `refusal_rules`, `thinking_lessons` and
`named_parameters`; `learned_limits` remembers it. `token_calibration` knows how an endpoint counts
tokens.
"""

from oshaberi.providers.capabilities.capability_table import capabilities_of
from oshaberi.providers.capabilities.learned_limits import LearnedLimits, ModelPlace
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities

__all__ = ["LearnedLimits", "ModelCapabilities", "ModelPlace", "capabilities_of"]
