"""Writes a recording while it happens."""

import json
import os
from dataclasses import asdict
from typing import Any, Iterable, Set, Tuple

from npu_migrate.verify.recording import Fact, Step, step_line


class Journal:
    """The file of one rank. Processes that the script forks write nothing.

    Args:
      path: of the file, which is made anew.
    """

    def __init__(self, path: str):
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115  for all of the process
        self._process = os.getpid()
        self._facts: Set[Fact] = set()
        self._state: Set[str] = set()
        self._has_loss = False

    def start(self, rank: int, ranks: int) -> None:
        """Says whose recording this is."""
        self._write(kind="start", rank=rank, ranks=ranks)

    def step(self, step: Step) -> None:
        """Notes a step."""
        self._line(step_line(step))

    def fact(self, name: str, detail: str, places: Tuple[str, ...] = ()) -> None:
        """Notes a fact, the first time that it is told."""
        fact = Fact(name, detail, places)
        if fact not in self._facts:
            self._facts.add(fact)
            self._write(kind="fact", **asdict(fact))

    def loss(self, name: str) -> None:
        """Notes which tensor is taken for the loss; the first one counts."""
        if not self._has_loss:
            self._has_loss = True
            self._write(kind="loss", name=name)

    def state(self, names: Iterable[str]) -> None:
        """Notes which variables the training keeps besides weights and slots, each once."""
        new = sorted(set(names) - self._state)
        if new:
            self._state.update(new)
            self._write(kind="state", names=new)

    def checkpoint(self, use: str, file: str) -> None:
        """Notes a file that was `wrote` or `read`."""
        self._write(kind="checkpoint", use=use, file=file)

    def end(self, reason: str) -> None:
        """Says why there are no more steps."""
        self._write(kind="end", reason=reason)

    def _write(self, **entry: Any) -> None:
        self._line(json.dumps(entry))

    def _line(self, text: str) -> None:
        if os.getpid() == self._process:
            self._file.write(text + "\n")
            self._file.flush()
