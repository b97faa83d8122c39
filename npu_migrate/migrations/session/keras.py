"""Training through Keras gets a session on the NPU where the program starts (NPU44x).

The session is made before the model and closed at the end. ``tf.app.run()`` leaves the process, so
that what follows it never runs: it is closed in a ``finally``.
"""

import ast
from typing import Iterator, List, Sequence, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session import precision
from npu_migrate.migrations.session.keras_training import KERAS, KerasTraining
from npu_migrate.names import FUNCTIONS, Index, main_block
from npu_migrate.plan import Edit, InsertStatements, ReplaceStatement

LEAVING = (
    "tensorflow.app.run",
    "absl.app.run",
    "sys.exit",
    "builtins.exit",
    "builtins.quit",
)
"""What ends the process."""
CLEARING = frozenset(
    ("tensorflow.keras.backend.clear_session", "npu_bridge.npu_init.npu_clear_session")
)
RUNNING = ("tensorflow.app.run", "absl.app.run")
NOT_RUN = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)


class Keras:
    """Migrates the training through Keras of one file."""

    def __init__(self, context: Context, optimizers: Optimizers) -> None:
        self.context = context
        self.index = context.index
        self.training = KerasTraining(context.index, optimizers)
        self.trainers = self.training.trainers(context.run.keras_trainers)
        self._chains = frozenset(context.index.chains)

    def run(self) -> None:
        trains = self.training.calls or self.context.run.keras_trainers
        if trains and not has_own_session(self.index) and "keras-session" in self.context.rules:
            self._session()
        self._standalone()

    # The session ------------------------------------------------------------------------------

    def _session(self) -> None:
        block = self._flow()
        start = next((s for s in block if self._trains(s)), None)
        if start is not None:
            start = next(s for s in block if self._trains(s) or self._builds(s))
            symbol = vocabulary.KERAS_SESSION
            edits = self._around(block, start)
            self.context.report("keras-session", start, *edits, symbol=symbol)
            return
        if self.training.calls and not self.trainers & self.context.run.keras_reached:
            first = min(self.training.calls, key=lambda call: (call.lineno, call.col_offset))
            assumed = self.training.calls[first]
            self.context.report("keras-session-not-placed", first, symbol=KERAS, assumed=assumed)

    def _flow(self) -> Sequence[ast.stmt]:
        """The statements that run when the file is run as a program."""
        return main_block(self.index.tree) or [
            s for s in self.index.tree.body if not isinstance(s, NOT_RUN)
        ]

    def _trains(self, statement: ast.stmt) -> bool:
        """Whether running a statement trains through Keras."""
        trainers = self.trainers | self.context.run.keras_trainers
        for chain in self._chains_in(statement):
            if self.training.is_trainer(chain, trainers):
                return True
            if self.trainers and self.context.is_named(chain, RUNNING):
                return True
        return any(self.index.inside(call, statement) for call in self.training.calls)

    def _builds(self, statement: ast.stmt) -> bool:
        """Whether running a statement may build the model."""
        builders = self.training.builders()
        return any(self.index.inside(model, statement) for model in self.training.models()) or any(
            self.training.is_keras(chain) or self.training.is_trainer(chain, builders)
            for chain in self._chains_in(statement)
        )

    def _chains_in(self, statement: ast.stmt) -> Iterator[ast.expr]:
        return (n for n in ast.walk(statement) if isinstance(n, ast.expr) and n in self._chains)

    def _around(self, block: Sequence[ast.stmt], start: ast.stmt) -> List[Edit]:
        """The session before the first statement that needs it, its end after the last."""
        opening, closing = self._opening_and_closing(start)
        last = block[-1]
        leaving = next((s for s in block if self._leaves(s)), None)
        if start is last or start is leaving:
            code = f"{opening}try:\n    $it\nfinally:\n    {closing}"
            return [ReplaceStatement(start, code, variants={"it": ()})]
        edits: List[Edit] = [InsertStatements(start, opening)]
        if leaving is None:
            return [*edits, InsertStatements(last, closing, before=False)]
        if self._trains(leaving):
            code = f"try:\n    $it\nfinally:\n    {closing}"
            return [*edits, ReplaceStatement(leaving, code, variants={"it": ()})]
        return [*edits, InsertStatements(leaving, closing)]

    def _opening_and_closing(self, start: ast.stmt) -> Tuple[str, str]:
        """Source of both; where the script clears sessions, the last one is Keras's own."""
        made = f"{self.context.local(vocabulary.KERAS_SESSION, start)}({self._config(start)})"
        close = self.context.local(vocabulary.CLOSE_SESSION, start)
        if self.index.calls_of(CLEARING):
            session = f"{self.context.tensorflow(start)}.keras.backend.get_session()"
            return f"{made}\n", f"{close}({session})\n"
        name = self.context.fresh("keras_session")
        self.context.claim(name)
        return f"{name} = {made}\n", f"{close}({name})\n"

    def _config(self, start: ast.stmt) -> str:
        """The argument that sets the precision, where the script switched mixed precision on."""
        plain = f"{vocabulary.CONFIG_PROTO.rpartition('.')[2]}()"
        code = precision.around(self.context, plain, start)
        if code == plain:
            return ""
        made = f"{self.context.local(vocabulary.CONFIG_PROTO, start)}()"
        return f"config={code.replace(plain, made)}"

    def _leaves(self, statement: ast.stmt) -> bool:
        call = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(call, ast.Call) and self.context.is_named(call.func, LEAVING)

    # Keras of its own -------------------------------------------------------------------------

    def _standalone(self) -> None:
        """``import keras``: another package than ``tf.keras``, with sessions of its own."""
        for statement in self.index.imports:
            for binding in self.index.statement_bindings(statement):
                if binding.target.split(".")[0] == "keras":
                    self.context.report("standalone-keras", statement, symbol="keras")
                    return


def has_own_session(index: Index) -> bool:
    """Whether a file gives Keras a session itself."""
    return bool(index.calls_of(vocabulary.KERAS_SESSIONS))
