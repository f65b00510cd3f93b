"""Computes the cost of a request to a model, from its tokens and the configured prices."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.chunks import Usage
from oshaberi.turns.services.model_candidates import ModelCandidate, OperatorModel, is_same_model


def cost_of(used: Usage, candidate: ModelCandidate, links: Sequence[OperatorModel]) -> int:
    """Return the cost in millionths of a dollar. Prices are in dollars per million tokens."""
    price = _price(candidate, links)
    if price is None:
        return 0
    return round(used.input_tokens * price[0] + used.output_tokens * price[1])


def _price(candidate: ModelCandidate, links: Sequence[OperatorModel]) -> tuple[float, float] | None:
    """Return the price that is set with the model's own key, else the operator's."""
    own = candidate.model.params.get("price")
    if own and not candidate.is_operators:
        return own["input"], own["output"]
    prices = (
        link.price
        for link in links
        if link.price is not None and is_same_model(candidate.model, link)
    )
    return next(prices, None)
