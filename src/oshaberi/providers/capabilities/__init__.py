"""What a model can do (`model_capabilities`), as data.

`known_models` finds it by family and name; `learned` remembers what the refusals of an endpoint
taught (`providers.refusals`), and how it counts tokens.
"""

from oshaberi.providers.capabilities.known_models import capabilities_of
from oshaberi.providers.capabilities.learned import LearnedLimits, ModelPlace
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities

__all__ = ["LearnedLimits", "ModelCapabilities", "ModelPlace", "capabilities_of"]
