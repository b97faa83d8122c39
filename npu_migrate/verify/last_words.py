"""What a process printed last, without what TensorFlow always says."""

import collections
import re
from typing import Deque, Tuple

_TAIL = 40
_LONGEST_LINE = 500
_EXCEPTION = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")
_NOISE = re.compile(
    r"WARNING:tensorflow:"
    r"|W\d{4} [\d:.]+ +\d+ (deprecation|module_wrapper|lazy_loader)\w*\.py:\d+\]"
    r"|\S+:\d+: (Pending)?(Future|Deprecation)Warning: "
    r"|[\d-]+ [\d:.]+: ([IW] tensorflow/|E tensorflow/stream_executor/)"
    r"|The TensorFlow contrib module will not be included"
    r"|For more information, please see:$"
    r"|If you depend on functionality not listed there"
)
_ADVICE = "Instructions for updating:"
_LOGGED = re.compile(r"(DEBUG|INFO|WARNING)\b|[DIW]\d{4} ")
"""How lines begin that say how it goes, and not why it ended."""


class LastWords:
    """Takes the lines of one process as they come."""

    def __init__(self) -> None:
        self._lines: Deque[str] = collections.deque(maxlen=_TAIL)
        self._filters = {is_error: _Filter() for is_error in (False, True)}
        self._exception = ""
        self._last_error = ""
        self._has_ended = False

    def line(self, text: str, is_error: bool) -> None:
        """Takes a line."""
        text = text[:_LONGEST_LINE]
        if self._filters[is_error].is_noise(text):
            return
        self._lines.append(text)
        if self._has_ended or not is_error or not text.strip():
            return
        self._last_error = "" if _LOGGED.match(text) else text
        if _EXCEPTION.match(text):
            self._exception = text

    def end(self) -> None:
        """The program has ended: what Python prints while it tidies up is no reason."""
        self._has_ended = True

    @property
    def lines(self) -> Tuple[str, ...]:
        """The last lines."""
        return tuple(self._lines)

    @property
    def exception(self) -> str:
        """The last exception that was printed, or nothing."""
        return self._exception

    @property
    def reason(self) -> str:
        """The same, or else what was said last to standard error, as `sys.exit("...")` does."""
        return self._exception or self._last_error


class _Filter:
    """Tells noise from the rest of a stream; some goes over several lines."""

    def __init__(self) -> None:
        self._is_within = False
        self._is_advice = False

    def is_noise(self, text: str) -> bool:
        is_more = self._is_within and (not text.strip() or text.startswith("  "))
        is_advice = self._is_advice or text.startswith(_ADVICE)
        self._is_advice = text.startswith(_ADVICE)
        self._is_within = is_more or is_advice or _NOISE.match(text) is not None
        return self._is_within
