"""What real expressions compute, as polynomials.

Two expressions that differ only in the order of operands, in brackets and in constants that were
multiplied out have one polynomial. Functions that are no polynomials stand in it as a whole, with
their argument: ``0.5 * x * (1 + tanh(y))`` is a half ``x`` and a half ``x`` times ``tanh(y)``.
"""

import math
from dataclasses import dataclass
from typing import Dict, FrozenSet, Hashable, List, Optional, Set, Tuple

_LARGEST_POWER = 8
_MOST_TERMS = 32
"""What is larger is nothing that people write by hand."""


class NoPolynomial(Exception):
    """An expression that can't be told in this way."""


@dataclass(frozen=True)
class Applied:
    """A function of a polynomial."""

    function: str
    argument: "Polynomial"


Factors = FrozenSet[Tuple[Hashable, int]]
"""Names and functions, each with its power."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products, each with its coefficient."""

    terms: FrozenSet[Tuple[Factors, float]]

    @classmethod
    def constant(cls, value: float) -> "Polynomial":
        return _of({frozenset(): value})

    @classmethod
    def name(cls, name: Hashable) -> "Polynomial":
        return _of({frozenset(((name, 1),)): 1.0})

    def applied(self, function: str) -> "Polynomial":
        """A function of this."""
        return Polynomial.name(Applied(function, self))

    @property
    def value(self) -> Optional[float]:
        """The number that this is; ``None`` where names are left in it."""
        if not self.terms:
            return 0.0
        ((factors, coefficient), *others) = self.terms
        return coefficient if not others and not factors else None

    @property
    def names(self) -> FrozenSet[Hashable]:
        """The names in this, also below functions."""
        found: Set[Hashable] = set()
        for factors, _ in self.terms:
            for factor, _ in factors:
                found |= factor.argument.names if isinstance(factor, Applied) else {factor}
        return frozenset(found)

    def __add__(self, other: "Polynomial") -> "Polynomial":
        sums = dict(self.terms)
        for factors, coefficient in other.terms:
            sums[factors] = sums.get(factors, 0.0) + coefficient
        return _of(sums)

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        sums: Dict[Factors, float] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                factors = _product(left, right)
                sums[factors] = sums.get(factors, 0.0) + a * b
        return _of(sums)

    def power(self, exponent: float) -> "Polynomial":
        """This to the power of a number."""
        if self.value is not None:
            return Polynomial.constant(_real(self.value, exponent))
        if exponent not in range(_LARGEST_POWER + 1):
            raise NoPolynomial(f"a power of {exponent}")
        result = Polynomial.constant(1.0)
        for _ in range(int(exponent)):
            result = result * self
        return result

    def is_close(self, other: "Polynomial") -> bool:
        """Whether both are the same, to the accuracy with which people write constants down."""
        left: List[Tuple[Factors, float]] = list(other.terms)
        for term in self.terms:
            twin = next((one for one in left if _close_terms(term, one)), None)
            if twin is None:
                return False
            left.remove(twin)
        return not left


def _of(sums: Dict[Factors, float]) -> Polynomial:
    if len(sums) > _MOST_TERMS or not all(map(math.isfinite, sums.values())):
        raise NoPolynomial("too large")
    return Polynomial(frozenset((f, c) for f, c in sums.items() if c))


def _product(left: Factors, right: Factors) -> Factors:
    powers = dict(left)
    for factor, power in right:
        powers[factor] = powers.get(factor, 0) + power
    return frozenset(powers.items())


def _real(base: float, exponent: float) -> float:
    try:
        return float(math.pow(base, exponent))
    except (ValueError, OverflowError) as error:
        raise NoPolynomial(f"{base} to the power of {exponent}") from error


def _close_terms(one: Tuple[Factors, float], other: Tuple[Factors, float]) -> bool:
    return math.isclose(one[1], other[1], rel_tol=1e-6) and _close_factors(one[0], other[0])


def _close_factors(one: Factors, other: Factors) -> bool:
    return len(one) == len(other) and all(
        any(power == p and _close(factor, f) for f, p in other) for factor, power in one
    )


def _close(one: Hashable, other: Hashable) -> bool:
    if isinstance(one, Applied) and isinstance(other, Applied):
        return one.function == other.function and one.argument.is_close(other.argument)
    return one == other
