"""The answer: whether a migration kept the training the same, and all that speaks for it."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Optional, Tuple

from npu_migrate.findings import Finding
from npu_migrate.verify.audits import Fault
from npu_migrate.verify.comparison import Comparison
from npu_migrate.verify.known import KnownDifference
from npu_migrate.verify.migration import Departure
from npu_migrate.verify.outcome import FailureKind, RunFailure


class Answer(Enum):
    """Whether a migration kept the training the same."""

    SAME = "same"
    DIFFERENT = "different"
    KNOWN = "different, as is known"
    WRONG = "wrong"
    """The numbers are the same, and yet the graph is wrong."""
    UNKNOWN = "no answer"

    @property
    def exit_code(self) -> int:
        return {Answer.SAME: 0, Answer.UNKNOWN: 2}.get(self, 1)


@dataclass(frozen=True)
class Failed:
    """A run that failed: which, why, and the last lines of the rank that failed first."""

    run: str
    failure: RunFailure
    tail: Tuple[str, ...]

    @property
    def reason(self) -> str:
        """What it failed with, as a sentence."""
        message = _RUN.sub("", self.failure.message)
        return message if message.endswith((".", "!", "?")) else f"{message}."


_RUN = re.compile(r"^(original|repeated|migrated): ")


@dataclass(frozen=True)
class Verdict:
    """The answer, and all that speaks for it.

    Attributes:
      answer: in a word.
      paragraph: in a few sentences.
      comparison: of the recordings.
      failures: for each run that failed, its name, why, and its last lines.
      known: known differences that concern the training.
      faults: of the migrated graph.
      wrong: findings of npu-migrate in the migrated script that speak of a wrong migration.
      concerned: findings of npu-migrate in the original that may be why the trainings differ.
      departures: where the migrated script is not what npu-migrate writes.
      cautions: what limits the answer.
      adjusted: compares the migrated training with an original in which the known differences were
        made; None where there was no need to, or it failed.
    """

    answer: Answer
    paragraph: str
    comparison: Comparison
    failures: Tuple[Failed, ...] = ()
    known: Tuple[KnownDifference, ...] = ()
    faults: Tuple[Fault, ...] = ()
    wrong: Tuple[Finding, ...] = ()
    concerned: Tuple[Finding, ...] = ()
    departures: Tuple[Departure, ...] = ()
    cautions: Tuple[str, ...] = ()
    adjusted: Optional[Comparison] = None

    @property
    def last_words(self) -> Tuple[Failed, ...]:
        """The failures whose last lines tell something: not of those that failed as another did."""
        told = [f for f in self.failures if f.failure.kind is not FailureKind.SHARED_OUTPUT]
        firsts = {one.reason: one for one in reversed(told)}
        return tuple(one for one in told if one is firsts[one.reason])

    @property
    def faults_of_migration(self) -> Tuple[Fault, ...]:
        """The faults that the original does not have."""
        return tuple(fault for fault in self.faults if not fault.is_original)

    @property
    def known_besides(self) -> Tuple[KnownDifference, ...]:
        """The known differences that are not the answer."""
        is_known = self.answer is Answer.KNOWN
        return tuple(known for known in self.known if not (known.explains and is_known))

    @property
    def is_wrong(self) -> bool:
        """Whether the migrated script is wrong, whatever its numbers say."""
        return bool(self.faults_of_migration or self.wrong)
