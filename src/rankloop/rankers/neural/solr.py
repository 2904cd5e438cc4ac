"""Networks as Solr's NeuralNetworkModel."""

from typing import Any

import numpy as np

from rankloop._arrays import Floats

__all__ = ["network_to_solr"]

_ACTIVATIONS = ("relu", "tanh")  # those that both have


def network_to_solr(ranker: Any, complete: bool) -> tuple[Floats, Floats, list[dict[str, Any]]]:
    """Mean and scale of each feature, and the layers; what Solr cannot compute is an error."""
    ranker._check_fitted()
    if ranker.scorer != "mlp":
        raise ValueError(
            f"Solr's networks are plain layers, not {ranker.scorer!r}; train with scorer='mlp', or distil "
            "this ranker"
        )
    if ranker.activation not in _ACTIVATIONS:
        raise ValueError(
            f"Solr has no activation {ranker.activation!r}; train with activation={' or '.join(_ACTIVATIONS)}"
        )
    if ranker.feature_transform not in (None, "standard"):
        raise ValueError(
            f"Solr cannot compute feature_transform={ranker.feature_transform!r}; train with 'standard' or "
            "None"
        )
    transform, scorer = ranker.module_.transform, ranker.module_.scorer
    if len(transform.flagged):
        raise ValueError("Solr has no flags of missing values; train with missing='mean'")
    mean, scale = (part.detach().cpu().double().numpy().copy() for part in (transform.mean, transform.scale))
    if mean.any() and not complete:
        raise ValueError(
            "here a missing feature counts as its mean, in Solr as 0; pass complete=True (--complete) if no "
            "feature is ever missing, or train with feature_transform=None"
        )
    linear = [layer for layer in scorer.body if hasattr(layer, "weight")] + [scorer.head]
    layers = [
        {
            "matrix": layer.weight.detach().cpu().double().numpy(),
            "bias": np.zeros(len(layer.weight))
            if layer.bias is None
            else layer.bias.detach().cpu().double().numpy(),
            "activation": ranker.activation,
        }
        for layer in linear
    ]
    layers[-1]["activation"] = "identity"
    dead = np.isinf(scale)  # features that did not vary: always 0 here
    layers[0]["matrix"] = np.where(dead, 0.0, layers[0]["matrix"])
    mean[dead], scale[dead] = 0.0, 1.0
    return (
        mean,
        scale,
        [
            {name: value if isinstance(value, str) else value.tolist() for name, value in layer.items()}
            for layer in layers
        ],
    )
