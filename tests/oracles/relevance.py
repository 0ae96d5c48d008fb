"""``u = G / Z`` and the losses on it, spelled out with loops: nothing here comes from gbrank."""

import math

import numpy as np

GAINS = {"exp": lambda r: 2.0**r - 1.0, "linear": lambda r: r}
DISCOUNTS = {
    "log": lambda rank: 1.0 / math.log2(1 + rank),
    "power": lambda rank: rank**-0.5,
    "zipf": lambda rank: 1.0 / rank,
    "exp": lambda rank: 0.5**rank,
}


def relevance(labels, gain="exp", discount="log", norm="dcg", norm_at=None, k=None):
    """Return u of one query; gain and discount are names or functions of one number."""
    gain, discount = GAINS.get(gain, gain), DISCOUNTS.get(discount, discount)
    gains = [gain(float(label)) for label in labels]
    if k is not None and k < len(gains):
        threshold = sorted(gains, reverse=True)[k - 1]
        gains = [value if value >= threshold else 0.0 for value in gains]
    if norm is None:
        divisor = 1.0
    elif norm == "l2":
        divisor = math.sqrt(sum(value * value for value in gains))
    else:
        best_first = sorted(gains, reverse=True)
        cut = len(gains) if norm_at is None else min(norm_at, len(gains))
        divisor = sum(best_first[rank] * discount(rank + 1) for rank in range(cut))
    return np.array([value / divisor for value in gains])


def squared(s, u):
    return sum((a - b) ** 2 for a, b in zip(s, u, strict=True))


def kl(s, u):
    base = math.log(sum(u) / len(u))
    total = 0.0
    for a, b in zip(s, u, strict=True):
        total += (b * math.log(b / math.exp(a + base)) if b > 0 else 0.0) - b + math.exp(a + base)
    return total


def bregman(s, u):
    mean = sum(u) / len(u)
    s = [a + math.log(mean / (1.0 - mean)) for a in s]
    return sum(math.log(1.0 + math.exp(a)) - a * b for a, b in zip(s, u, strict=True))


def cosine(s, u, penalty):
    squares = sum(a * a for a in s)
    dot = sum(a * b for a, b in zip(s, u, strict=True))
    return 1.0 - dot / math.sqrt(squares + 1.0) + penalty / 2 * squares


def best_constant(u, q):
    """Return the c for which ``|(c, ..., c)|_q^2 - 2 c sum u`` is least."""
    return sum(u) / len(u) ** (2 / q)


def penalized(s, u, q):
    s = [a + best_constant(u, q) for a in s]
    dot = sum(a * b for a, b in zip(s, u, strict=True))
    return sum(abs(a) ** q for a in s) ** (2 / q) - 2 * dot


def normalized(s, u, q, penalty):
    s = [a + 1.0 for a in s]
    norm = (sum(abs(a) ** q for a in s) + 1.0) ** (1 / q)
    dot = sum(a * b for a, b in zip(s, u, strict=True))
    return -dot / norm + penalty / 2 * (norm**2 - 1.0)


def gradient(loss, s, *arguments, step=1e-6):
    """Return central differences of a loss of one query."""
    s = [float(a) for a in s]
    out = []
    for i in range(len(s)):
        above, below = list(s), list(s)
        above[i] += step
        below[i] -= step
        out.append((loss(above, *arguments) - loss(below, *arguments)) / (2 * step))
    return np.array(out)
