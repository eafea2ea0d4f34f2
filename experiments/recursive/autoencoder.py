"""A small variational autoencoder of images, as features for clustering (section 4.3).

References
----------
Kingma and Welling (2014). Auto-encoding variational Bayes.
"""

import numpy as np

__all__ = ["encode", "torch_is_there"]

HIDDEN, BATCH, RATE = 300, 128, 1e-3


def torch_is_there() -> bool:
    """Whether PyTorch can be imported."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def encode(images: np.ndarray, features: int, epochs: int, seed: int = 0) -> np.ndarray:
    """Return the posterior means (N, features) of images (N, pixels) in [0, 1]."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    x = torch.as_tensor(images, dtype=torch.float32)
    encoder = _perceptron(nn, x.shape[1], 2 * features)
    decoder = _perceptron(nn, features, x.shape[1])
    weights = [*encoder.parameters(), *decoder.parameters()]
    optimiser = torch.optim.Adam(weights, lr=RATE)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(BATCH):
            mean, log_variance = encoder(x[rows]).chunk(2, dim=1)
            z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
            misfit = nn.functional.binary_cross_entropy_with_logits(
                decoder(z), x[rows], reduction="sum"
            )
            gap = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum()
            optimiser.zero_grad()
            (loss := (misfit + gap) / len(rows)).backward()
            optimiser.step()
            total += loss.item() * len(rows)
        print(f"autoencoder, epoch {epoch + 1}: bound {-total / len(x):.1f} per image", flush=True)
    with torch.no_grad():
        return encoder(x)[:, :features].numpy().astype(np.float64)


def _perceptron(nn, inputs: int, outputs: int):
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, outputs),
    )
