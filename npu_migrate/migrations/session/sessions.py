"""Sessions run on the NPU once their configuration says so (NPU40x)."""

import ast
from typing import Mapping, NamedTuple, Optional

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, place_of, unpacks
from npu_migrate.migrations.loss_scale.verdicts import listing
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session import precision
from npu_migrate.migrations.session.estimator_classes import CONFIG_AT
from npu_migrate.migrations.session.npu_configs import NpuConfigs
from npu_migrate.names import FUNCTIONS, Index, dotted, is_none, literal, method_name
from npu_migrate.plan import Argument, EditCall

TRAIN = "tensorflow.train."


class Maker(NamedTuple):
    """How a call that makes sessions takes their configuration."""

    position: int
    keyword: str = "config"
    target: int = -1
    """Where it takes the server that it runs on."""


MAKERS: Mapping[str, Maker] = {
    "tensorflow.Session": Maker(2, target=0),
    "tensorflow.InteractiveSession": Maker(2, target=0),
    TRAIN + "MonitoredTrainingSession": Maker(9, target=0),
    TRAIN + "SingularMonitoredSession": Maker(3, target=2),
    TRAIN + "ChiefSessionCreator": Maker(2, target=1),
    TRAIN + "WorkerSessionCreator": Maker(2, target=1),
    "tensorflow.contrib.slim.learning.train": Maker(22, "session_config"),
    "tensorflow.contrib.slim.evaluation.evaluate_once": Maker(13, "session_config"),
    "tensorflow.contrib.slim.evaluation.evaluation_loop": Maker(16, "session_config"),
    "tensorflow.contrib.training.train": Maker(9),
    "tensorflow.contrib.training.evaluate_once": Maker(8),
    "tensorflow.contrib.training.evaluate_repeatedly": Maker(9),
    "tensorflow.contrib.predictor.from_saved_model": Maker(7),
    "tensorflow.contrib.predictor.from_estimator": Maker(4),
}
METHODS: Mapping[str, Mapping[str, Maker]] = {
    TRAIN + "Supervisor": {
        "managed_session": Maker(1, target=0),
        "prepare_or_wait_for_session": Maker(1, target=0),
        "PrepareSession": Maker(1, target=0),
    },
    TRAIN + "SessionManager": {
        "prepare_session": Maker(7),
        "recover_session": Maker(6),
        "wait_for_session": Maker(1),
    },
}
DISTINCTIVE = METHODS[TRAIN + "Supervisor"]
"""Methods that are taken for TensorFlow's where their receiver can't be known."""

MONITORED = TRAIN + "MonitoredSession"
SERVER = TRAIN + "Server"

MADE = frozenset((*MAKERS, MONITORED))
MAKING = frozenset(method for methods in METHODS.values() for method in methods)
CONFIGURING = frozenset((*MAKERS, *CONFIG_AT, MONITORED))
NPU_CONFIGS = frozenset(("NPURunConfig", "npu_run_config_init"))


def configures(index: Index) -> bool:
    """Whether a file makes sessions or an Estimator, or a configuration of the NPU for one."""
    return any(
        name in CONFIGURING or name.rpartition(".")[2] in NPU_CONFIGS
        for call in index.possible_calls(CONFIGURING, NPU_CONFIGS)
        for name in index.resolve(call.func).names
    ) or any(map(method_name, index.calls_written(DISTINCTIVE)))


class Sessions:
    """Migrates what makes sessions in one file."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.configs = NpuConfigs(context.index, optimizers, context.run.npu_configs)

    def run(self) -> None:
        for call in self.index.possible_calls(MADE, MAKING):
            if not self.context.without(call):
                self._call(call)
        for node in self.index.classes:
            self._subclass(node)
        for chain in self.index.chains_of(MADE):
            self._handed_on(chain)

    def _call(self, call: ast.Call) -> None:
        resolution = self.index.resolve(call.func)
        known = {name for name in resolution.names if name in MAKERS}
        assumed = resolution.unknown or resolution.assumed
        if MONITORED in resolution.names:
            self._monitored(call, assumed)
        elif known:
            makers = {MAKERS[name] for name in known}
            if known != resolution.names or len(makers) > 1:
                names = listing(resolution.names)
                self.context.report("ambiguous-name", call, symbol=sorted(known)[0], subject=names)
                return
            self._configure(call, makers.pop(), sorted(known)[0], assumed)
        else:
            self._method(call)

    def _method(self, call: ast.Call) -> None:
        """``supervisor.managed_session(config=config)``."""
        callee = call.func
        if not isinstance(callee, ast.Attribute):
            return
        for owner, makers in METHODS.items():
            if callee.attr in makers:
                made = [self._class_of(p) for p in self.optimizers.producers(callee.value)]
                is_guess = not any(made) and callee.attr in DISTINCTIVE
                if owner in made or is_guess:
                    symbol = f"{owner}.{callee.attr}"
                    self._configure(call, makers[callee.attr], symbol, is_guess)

    def _class_of(self, producer: object) -> str:
        if not isinstance(producer, ast.Call):
            return ""
        return next(iter(sorted(self.index.resolve(producer.func).names)), "")

    def _configure(self, call: ast.Call, maker: Maker, symbol: str, assumed: bool) -> None:
        """Let the configuration that a call takes be one of the NPU."""
        target = argument(call, maker.target, "target", "master")
        if self._is_remote(target):
            return  # a server of a cluster, which is reported
        address = literal(target)
        if isinstance(address, str) and "://" in address:
            self.context.report("parameter-server-process", call, symbol=f"{symbol} at {address}")
            return
        given = argument(call, maker.position, maker.keyword)
        if given is None and unpacks(call):
            self.context.report(
                "session-config-not-visible", call, symbol=symbol, keyword=maker.keyword
            )
            return
        if given is not None and self.configs.is_npu(given):
            self._precision_asked_for(call, given, symbol)
            return
        if given is None:
            change = Argument(maker.keyword, self._config("", call))
        else:
            code = self._config("" if is_none(given) else "$it", call)
            change = Argument(place_of(call, given), code)
        self.context.report(
            "session-config", call, EditCall(call, "", (change,)), symbol=symbol, assumed=assumed
        )

    def _is_remote(self, target: Optional[ast.expr]) -> bool:
        """Whether a session runs on the server of a cluster: ``tf.train.Server(...).target``."""
        producers = self.optimizers.producers(target) if target is not None else []
        return any(
            isinstance(p, ast.Attribute)
            and p.attr == "target"
            and any(self._class_of(s) == SERVER for s in self.optimizers.producers(p.value))
            for p in producers
        )

    def _config(self, given: str, use: ast.AST) -> str:
        """Source of the configuration of a session."""
        maker = self.context.local(vocabulary.CONFIG_PROTO, use)
        code = f"{maker}(config_proto={given})" if given else f"{maker}()"
        return precision.around(self.context, code, use)

    def _precision_asked_for(self, call: ast.Call, given: ast.expr, symbol: str) -> None:
        """A session that runs on the NPU already gets the precision that was asked for."""
        if not self.context.options.precision_mode or precision.is_set(self.context, given):
            return
        change = Argument(place_of(call, given), precision.around(self.context, "$it", call))
        self.context.report("session-config", call, EditCall(call, "", (change,)), symbol=symbol)

    def _monitored(self, call: ast.Call, assumed: bool) -> None:
        """``MonitoredSession()`` makes a creator of its own, which would have no configuration."""
        given = argument(call, 0, "session_creator")
        if given is not None and not is_none(given):
            return
        if given is None and unpacks(call):
            self.context.report(
                "session-config-not-visible", call, symbol=MONITORED, keyword="session_creator"
            )
            return
        creator = f"{self.context.tensorflow(call)}.train.ChiefSessionCreator"
        code = f"{creator}(config={self._config('', call)})"
        by_position = given is not None and bool(call.args)
        change = Argument(0 if by_position else "session_creator", code)
        self.context.report(
            "session-config", call, EditCall(call, "", (change,)), symbol=MONITORED, assumed=assumed
        )

    # What can't be migrated ---------------------------------------------------------------------

    def _subclass(self, node: ast.ClassDef) -> None:
        bases = [base for base in node.bases if self.context.is_named(base, vocabulary.SESSIONS)]
        if not bases or self._uses_npu_config(node):
            return
        symbol = sorted(self.index.resolve(bases[0]).names & vocabulary.SESSIONS)[0]
        self.context.report("session-subclass", node, symbol=symbol)

    def _uses_npu_config(self, node: ast.AST) -> bool:
        return any(
            self.index.inside(call, node)
            for call in self.index.calls_of(frozenset((vocabulary.CONFIG_PROTO,)))
        )

    def _handed_on(self, chain: ast.expr) -> None:
        """A class or function that makes sessions, and is a value here."""
        if not self._is_value(chain):
            return
        names = self.index.resolve(chain).names
        if names <= MADE:
            self.context.report(
                "session-maker-as-value", chain, symbol=sorted(names)[0], subject=dotted(chain)
            )

    def _is_value(self, node: ast.expr) -> bool:
        parent = self.index.parents.get(node)
        if isinstance(parent, ast.Call):
            tests = ("builtins.isinstance", "builtins.issubclass")
            return parent.func is not node and not self.context.calls_to(parent, *tests)
        if isinstance(parent, FUNCTIONS):
            return node in [*parent.args.defaults, *parent.args.kw_defaults]
        return isinstance(
            parent,
            (ast.keyword, ast.Dict, ast.List, ast.Tuple, ast.Return, ast.Lambda, ast.arguments),
        ) and not self._is_tested(node)

    def _is_tested(self, node: ast.expr) -> bool:
        """Whether a class stands in the tuple of an ``isinstance``."""
        parent = self.index.parents.get(node)
        holder = self.index.parents.get(parent) if isinstance(parent, ast.Tuple) else None
        return holder is not None and self.context.calls_to(
            holder, "builtins.isinstance", "builtins.issubclass"
        )
