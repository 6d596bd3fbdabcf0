"""Feature maps φ: what takes the place of the exponential. A kernel is φ(q)·φ(k)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import at_least
from attnlab.precision import unit


def elu_plus_one(x: Tensor) -> Tensor:
    """Make every number positive: x + 1 above zero, exp(x) below (the Linear Transformer's map).

    It estimates nothing: φ(q)·φ(k) is a kernel of its own, exact, without randomness.

    Args:
        x: queries or keys (..., n, d).

    Returns:
        Features (..., n, d), positive.

    References:
        Katharopoulos et al. 2020, equation 7.

    >>> elu_plus_one(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [0.3678794503211975, 1.0, 3.0]
    """
    if torch.is_grad_enabled() and x.requires_grad:
        return F.elu(x).add_(1)  # one pass in the backward pass
    above = x.relu()  # the same in other words, x - relu(x) being min(x, 0): exp is quicker than expm1
    return (x - above).exp_().add_(above)


def orthogonal_gaussian(rows: int, d: int, *, generator: torch.Generator | None = None) -> Tensor:
    """Draw normal vectors that are orthogonal in blocks of d, each on its own from N(0, I).

    Args:
        rows: how many vectors.
        d: their width.
        generator: source of randomness; torch's global one unless given.

    Returns:
        Matrix (rows, d).

    References:
        Yu et al. 2016, section 3; Choromanski et al. 2021, section 2.4.

    >>> w = orthogonal_gaussian(3, 3)
    >>> gram = w @ w.T
    >>> bool((gram - gram.diag().diag()).abs().max() < 1e-5)
    True
    """
    blocks = []
    for _ in range(-(-rows // d)):
        q, r = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64))
        blocks.append(q.T * r.diagonal().sign()[:, None])  # the signs make the rotation uniform
    # Length of a normal vector in d dimensions, drawn for each row on its own.
    length = torch.randn(rows, d, generator=generator, dtype=torch.float64).norm(dim=-1, keepdim=True)
    return (torch.cat(blocks)[:rows] * length).float()


def _draw(d: int, n_features: int, orthogonal: bool, generator: torch.Generator | None) -> Tensor:
    at_least(1, d=d, n_features=n_features)
    if orthogonal:
        return orthogonal_gaussian(n_features, d, generator=generator)
    return torch.randn(n_features, d, generator=generator)


class _RandomFeatures(nn.Module):
    """A map with a random matrix, which is saved with the layer that holds the map.

    Args:
        projection: (m, d). A buffer, unless it is a parameter: then it learns.
    """

    def __init__(self, projection: Tensor):
        super().__init__()
        if isinstance(projection, nn.Parameter):
            self.projection = projection
        else:
            self.register_buffer("projection", projection)

    def scaled(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return features and the logarithm (..., n, 1) of what they were divided by, None for nothing."""
        raise NotImplementedError

    def products(self, x: Tensor) -> Tensor:
        """Return the products (..., n, m) of vectors (..., n, d) with the rows of the matrix."""
        d = self.projection.shape[1]
        if x.shape[-1] != d:
            raise ValueError(f"the features were drawn for vectors of width d = {d}, got {tuple(x.shape)}")
        return x @ self.projection.to(x).T

    def forward(self, x: Tensor) -> Tensor:
        """Return the features (..., n, m or 2m) of queries or keys (..., n, d), as the formula says."""
        features, scale = self.scaled(x)
        return features if scale is None else features * scale.exp()

    def extra_repr(self) -> str:
        m, d = self.projection.shape
        return f"d={d}, m={m}"


class PositiveFeatures(_RandomFeatures):
    """FAVOR+: φ(q)·φ(k) estimates exp(q·k / √d), without bias and always positive.

    φ(x) = exp(w·x' - ‖x'‖²/2) / √m for each of the m rows w of a random matrix, with x' = x / d^¼. Averaged
    over w ~ N(0, I), φ(q)·φ(k) is exp(q'·k'). The spread around it grows fast with ‖q' + k'‖: see `variance`.

    Args:
        projection: (m, d), rows from N(0, I). A buffer, so `state_dict` holds it; a parameter learns.

    References:
        Choromanski et al. 2021, sections 2.3 and 2.4.

    >>> features = PositiveFeatures.draw(4, 4000, generator=torch.Generator().manual_seed(0))
    >>> q, k = torch.full((1, 4), 0.5), torch.full((1, 4), -0.5)
    >>> round(float(features(q) @ features(k).T), 2), round(math.exp(-1 / math.sqrt(4)), 2)
    (0.61, 0.61)
    """

    @classmethod
    def draw(
        cls,
        d: int,
        n_features: int,
        *,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> PositiveFeatures:
        """Draw a map for vectors of width d.

        Args:
            d: width of queries and keys.
            n_features: number of features m; the error falls as 1/√m.
            orthogonal: draw the rows orthogonal in blocks, which lowers the error; else independent.
            generator: source of randomness; torch's global one unless given.

        Raises:
            ValueError: a number is smaller than 1.
        """
        return cls(_draw(d, n_features, orthogonal, generator))

    def scaled(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return features no larger than 1 and the logarithm (..., n, 1) of what they were divided by."""
        x = x * x.shape[-1] ** -0.25
        angles = self.products(x)  # (..., n, m)
        # The largest exponent is taken out here and put into the scale: as a constant, it has no gradient.
        top = angles.detach().amax(dim=-1, keepdim=True)
        scale = top - x.square().sum(dim=-1, keepdim=True) / 2
        return angles.sub_(top).exp_(), scale - math.log(self.projection.shape[0]) / 2

    def variance(self, q: Tensor, k: Tensor) -> Tensor:
        """Return the variance of φ(q)·φ(k) over draws of independent rows; orthogonal rows have no more.

        One feature's product is exp(w·s - (‖q'‖² + ‖k'‖²)/2) with s = q' + k', and E exp(w·s) = exp(‖s‖²/2).
        So its variance is exp(2 q'·k') (exp(‖s‖²) - 1), and m features divide it by m.

        Args:
            q: queries (..., n_q, d).
            k: keys (..., n_k, d).

        Returns:
            Variances (..., n_q, n_k) of the estimates of exp(q·k / √d).
        """
        q, k = (x * x.shape[-1] ** -0.25 for x in (q, k))
        product = q @ k.mT
        squares = q.square().sum(-1, keepdim=True) + k.square().sum(-1, keepdim=True).mT + 2 * product
        return (2 * product).exp() * squares.expm1() / self.projection.shape[0]


class FourierFeatures(_RandomFeatures):
    """Random Fourier features: φ(x)·φ(y) estimates the *Gaussian* kernel exp(-‖x - y‖² / 2σ²).

    That is not exp(x·y/σ²): the two differ by exp((‖x‖² + ‖y‖²) / 2σ²). Random feature attention therefore
    gives every query and key length 1, and the factor becomes a constant, which the division removes. The
    features take both signs, so an estimate of a small weight can come out negative.

    Args:
        projection: (m, d), rows from N(0, I/σ²). A buffer, so `state_dict` holds it; a parameter learns.
        unit: divide every vector by its length first, as random feature attention does.

    References:
        Rahimi and Recht 2007; Peng et al. 2021, section 3.1.

    >>> features = FourierFeatures.draw(2, 4000, generator=torch.Generator().manual_seed(0))
    >>> x, y = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> round(float(features(x) @ features(y).T), 1), round(math.exp(-1), 1)
    (0.4, 0.4)
    """

    def __init__(self, projection: Tensor, unit: bool = True):
        super().__init__(projection)
        self.unit = unit

    @classmethod
    def draw(
        cls,
        d: int,
        n_features: int,
        *,
        sigma: float = 1.0,
        unit: bool = True,
        orthogonal: bool = False,
        generator: torch.Generator | None = None,
    ) -> FourierFeatures:
        """Draw a map for vectors of width d.

        Args:
            d: width of queries and keys.
            n_features: number of rows m; the map has 2m features, a sine and a cosine for each.
            sigma: width of the kernel, positive. Small values attend sharply.
            unit: give every vector length 1 first.
            orthogonal: draw the rows orthogonal in blocks.
            generator: source of randomness; torch's global one unless given.

        Raises:
            ValueError: a number is smaller than 1, or sigma is not positive.
        """
        if not sigma > 0:
            raise ValueError(f"sigma must be positive, got {sigma}")
        return cls(_draw(d, n_features, orthogonal, generator) / sigma, unit)

    def scaled(self, x: Tensor) -> tuple[Tensor, None]:
        """Return the features (..., n, 2m) of queries or keys (..., n, d); none is ever larger than 1."""
        x = unit(x) if self.unit else x
        angles = self.products(x)  # (..., n, m)
        return torch.cat((angles.sin(), angles.cos()), dim=-1) / math.sqrt(self.projection.shape[0]), None
