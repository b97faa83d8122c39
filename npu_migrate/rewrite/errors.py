"""What can go wrong while editing."""


class RewriteError(Exception):
    """The file as a whole can't be edited; the message says why."""


class CannotPlace(Exception):
    """One edit has no certain place, or would not make sense there; the message says why."""
