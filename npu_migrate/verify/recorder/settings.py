"""What a recorder is told by the process that starts it."""

import json
import os
from dataclasses import asdict, dataclass
from typing import Optional, Tuple

from npu_migrate.verify.overflows import Overflows, overflows_of


@dataclass(frozen=True)
class Settings:
    """Passed as JSON, on the command line.

    Attributes:
      folder: where each rank leaves its recording.
      is_original: whether the script is the original, which runs without the stand-in.
      steps: after how many steps to stop.
      overflows: steps that are made to overflow.
      loss: name of the tensor to take for the loss.
      tree: folder that holds the working copy, in which paths go on as they are outside.
      roots: folders of the user's that are copied.
      is_shaken: whether the first weights are changed in their last bit.
      adjustments: names of facts whose known differences are made in the original.
    """

    folder: str
    is_original: bool
    steps: Optional[int] = None
    overflows: Overflows = Overflows()
    loss: Optional[str] = None
    tree: str = ""
    roots: Tuple[str, ...] = ()
    is_shaken: bool = False
    adjustments: Tuple[str, ...] = ()

    def recording(self, rank: int) -> str:
        """Path of the recording of a rank."""
        return os.path.join(self.folder, f"rank{rank}.jsonl")

    def to_json(self) -> str:
        """The settings as one word of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """Reads what `to_json` wrote."""
        values = json.loads(text)
        tuples = {name: tuple(values[name]) for name in ("roots", "adjustments")}
        return cls(**{**values, **tuples, "overflows": overflows_of(values["overflows"])})
