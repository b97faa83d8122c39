"""What the user asked for."""

from dataclasses import dataclass, field
from typing import Mapping, Tuple


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    select: Tuple[str, ...] = ()
    ignore: Tuple[str, ...] = ()
    removed: str = "comment"
    optimizer: str = "nested"
    estimator: str = "helpers"
    loss_scale: str = ""
    """Loss scaling to add where there is none: ``dynamic``, or a number of 1 or more."""
    jobs: int = 1
    extend_select: Tuple[str, ...] = ()
    precision_mode: str = ""
    """The precision of every session and Estimator, whatever the script has."""
    with_texts: bool = True
    """Whether the new texts are wanted, and not just what would change."""
    ignored_in: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    """Path -> the starts of codes that are ignored in it alone."""
    add_ignores: bool = False
    """Migrate nothing, but write comments that suppress what would be left."""

    for_page: bool = False
    """Whether it is wanted for which findings each line changes, and what is on the NPU already."""

    @property
    def comments_out(self) -> bool:
        """Whether statements that go are commented out, not deleted."""
        return self.removed == "comment"

    @property
    def combines_optimizers(self) -> bool:
        """Whether one ``NPUOptimizer`` does the work of the two nested ones."""
        return self.optimizer == "combined"

    @property
    def prefers_npu_estimators(self) -> bool:
        """Whether Estimators become ``NPUEstimator`` where they can."""
        return self.estimator == "classes"
