"""Recordings made by hand, of a training that converges."""

import hashlib
from dataclasses import replace

from npu_migrate.verify.experiment import Experiment
from npu_migrate.verify.outcome import Outcome
from npu_migrate.verify.recording import Fact, Recording, Step

NAN, INF = float("nan"), float("inf")
STEPS = 10


def step(number, **values):
    """A step of the training, with other values where they are given."""
    loss = 6.0 / number
    scale = 1024.0 if number <= STEPS / 2 else 2048.0
    found = Step(number, loss, number, scale, 0.1 / number, True, 2.0 / number, 30.0 + loss, "")
    found = replace(found, change_norm=1e-3, change_parts=(6e-4, 8e-4))
    return _signed(replace(found, **values))


def _signed(step):
    """Weights of another norm have another checksum; a given one stays."""
    if step.weights_checksum:
        return step
    checksum = hashlib.md5(repr(step.weights_norm).encode()).hexdigest()
    return replace(step, weights_checksum=checksum)


def recording(rank=0, ranks=1, steps=STEPS, facts=(), end="finished", **changed):
    """A recording; `at3={...}` changes values of step 3."""
    made = [step(number, **changed.pop(f"at{number}", {})) for number in range(1, steps + 1)]
    assert not changed
    facts = tuple(Fact(name, "seen here") for name in facts)
    return Recording(rank, ranks, tuple(made), facts, "loss:0", end)


def outcome(*recordings, **more):
    return Outcome(recordings, **more)


def experiment(original=None, migrated=None, repeated=None, **more):
    """The outcomes of a plain training, where no other is given."""
    plain = outcome(recording())
    original = original or plain
    return Experiment(original, repeated or original, migrated or original, **more)
