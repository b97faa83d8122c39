"""The processes of a run. Each keeps its own share of the files, with all that it read, from pass
to pass: what one pass made of a file need not be made again by the next.
"""

from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Sequence,
    Tuple,
)

from npu_migrate.reader import Reader
from npu_migrate.sources import Source

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Work = Callable[[Reader, Source], Any]
"""What a pass does with each file; another process must be able to load it (``pickle``)."""

Each = Callable[[Work, Sequence[Source]], Iterator[Any]]
"""Does work for each of the files, and gives what comes of it in their order."""


@contextmanager
def crew(jobs: int, reader: Reader, sources: Sequence[Source]) -> Iterator[Each]:
    """As many processes as ``jobs`` for the passes over ``sources``; for one, this process."""
    jobs = min(jobs, len(sources))
    if jobs < 2:
        yield lambda work, items: map(partial(work, reader), items)
        return
    members = _Crew(jobs, reader, sources)
    try:
        yield members.each
    finally:
        members.dismiss()


class _Failed(NamedTuple):
    """What a process answers in place of a result: the error that ended its work."""

    error: str


class _Crew:
    """Processes that wait for work; files are dealt out so that all have as much to read."""

    def __init__(self, jobs: int, reader: Reader, sources: Sequence[Source]) -> None:
        import multiprocessing  # which one process does without

        shares = _shares(jobs, sources)
        self._member_of = {
            source.path: member for member, share in enumerate(shares) for source in share
        }
        self._pipes: List[Connection] = []
        self._processes: List[BaseProcess] = []
        for share in shares:
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(
                target=_serve, args=(theirs, reader, share), daemon=True
            )
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def each(self, work: Work, items: Sequence[Source]) -> Iterator[Any]:
        """Send the work out at once, and give its results in the order of the files."""
        asked: List[List[str]] = [[] for _ in self._pipes]
        for source in items:
            asked[self._member_of[source.path]].append(source.path)
        for pipe, paths in zip(self._pipes, asked):
            pipe.send((work, paths))
        return self._answers([self._member_of[source.path] for source in items])

    def _answers(self, members: Sequence[int]) -> Iterator[Any]:
        from multiprocessing.connection import wait

        answers: Dict[Any, Deque[Any]] = {pipe: deque() for pipe in self._pipes}
        for member in members:
            mine = answers[self._pipes[member]]
            while not mine:
                for pipe in wait(self._pipes):
                    answers[pipe].append(_received(pipe))  # type: ignore[arg-type]
            yield mine.popleft()

    def dismiss(self) -> None:
        """End the processes, also such as are still at work."""
        for pipe, process in zip(self._pipes, self._processes):
            pipe.close()
            process.terminate()
        for process in self._processes:
            process.join()


def _received(pipe: "Connection") -> Any:
    try:
        answer = pipe.recv()
    except EOFError:
        raise RuntimeError("a process of the run was ended from outside") from None
    if isinstance(answer, _Failed):
        raise RuntimeError(answer.error)
    return answer


def _shares(jobs: int, sources: Sequence[Source]) -> List[List[Source]]:
    """The files of each process, the largest dealt out first."""
    shares: List[Tuple[int, int, List[Source]]] = [(0, member, []) for member in range(jobs)]
    for source in sorted(sources, key=lambda source: -len(source.given or b"")):
        size, member, share = min(shares)
        share.append(source)
        shares[member] = (size + len(source.given or b"") + 1, member, share)
    return [share for _, _, share in shares]


def _serve(pipe: "Connection", reader: Reader, share: Sequence[Source]) -> None:
    """What a process does: the work that it is sent, until nobody sends any."""
    import gc
    import signal

    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends its processes itself
    by_path = {source.path: source for source in share}
    try:
        while True:
            work, paths = pipe.recv()
            for path in paths:
                pipe.send(_done(work, reader, by_path[path]))
    except (EOFError, OSError):
        return


def _done(work: Work, reader: Reader, source: Source) -> Any:
    try:
        return work(reader, source)
    except BaseException as error:  # a panic of libcst's parser is no Exception
        return _Failed(f"{type(error).__name__}: {error}")
