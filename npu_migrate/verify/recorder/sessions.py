"""Takes part in every run of every session."""

import functools
from typing import Any, Callable, Sequence

from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session as tf_session

from npu_migrate.verify.recorder.observer import Observer
from npu_migrate.verify.recorder.step_plan import StepPlan

_run = tf_session.BaseSession.run
_make_callable = tf_session.BaseSession.make_callable
_make_callable_from_options = tf_session.BaseSession._make_callable_from_options


def watch_sessions(observer: Observer, before_run: Callable[[Any], None]) -> None:
    """Replaces the methods in which all runs end.

    Args:
      observer: notes the steps.
      before_run: is called with the graph before each run.
    """

    def run(session: Any, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        before_run(session.graph)
        plan = observer.plan(session.graph, _elements(session.graph, fetches))
        if plan is None:
            return _run(session, fetches, *args, **kwargs)
        with observer.step(plan, _reader(session)) as beside:
            results, beside[:] = _run(session, [fetches, plan.beside], *args, **kwargs)
        return results

    def make_callable(
        session: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        feeds = [] if feed_list is None else feed_list  # so that it ends in `run`
        return _make_callable(session, fetches, feeds, accept_options)  # type: ignore[no-any-return]

    def make_callable_from_options(session: Any, options: Any) -> Callable[..., Any]:
        graph = session.graph
        before_run(graph)
        names = [*options.fetch, *options.target]
        plan = observer.plan(graph, [graph.as_graph_element(name) for name in names])
        if plan is None:
            return _make_callable_from_options(session, options)  # type: ignore[no-any-return]
        return _ObservedCallable(session, options, observer, plan)

    tf_session.BaseSession.run = run
    tf_session.BaseSession.make_callable = make_callable
    tf_session.BaseSession._make_callable_from_options = make_callable_from_options


class _ObservedCallable:
    """What `_make_callable_from_options` returns for a run that trains."""

    def __init__(self, session: Any, options: Any, observer: Observer, plan: StepPlan):
        extended = config_pb2.CallableOptions()
        extended.CopyFrom(options)
        extended.fetch.extend(tensor.name for tensor in plan.beside)
        self._call = _make_callable_from_options(session, extended)
        self._own = len(options.fetch)
        self._read = _reader(session)
        self._observer = observer
        self._plan = plan

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._observer.step(self._plan, self._read) as beside:
            results = self._call(*args, **kwargs)
            beside[:] = results[self._own :]
        return results[: self._own]


def _reader(session: Any) -> Callable[[Any], Any]:
    return functools.partial(_run, session)


def _elements(graph: Any, fetches: Any) -> Sequence[Any]:
    """The tensors and operations of a structure; none where it is wrong, as the run will say."""
    try:
        with graph.as_default():
            mapper = tf_session._FetchMapper.for_fetch(fetches)
            return list(mapper.unique_fetches())
    except (KeyError, TypeError, ValueError):
        return []
