"""Which calls of a file train a model through Keras, and which of its functions they stand in."""

import ast
from typing import AbstractSet, Collection, Dict, FrozenSet, List, Optional, Set

from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import Binding, Index, dotted, method_name

KERAS = "tensorflow.keras."
TRAINING = ("fit", "fit_generator", "train_on_batch")
ONLY_KERAS = ("fit_generator", "train_on_batch")
KEYWORDS = frozenset(
    ("epochs", "steps_per_epoch", "validation_data", "validation_split", "validation_steps")
)
"""Keywords of ``fit`` that give Keras away."""
COMPILING = frozenset(("optimizer", "loss"))


class KerasTraining:
    """The training through Keras in one file."""

    def __init__(self, index: Index, optimizers: Optimizers) -> None:
        self.index = index
        self.optimizers = optimizers
        self.calls: Dict[ast.Call, bool] = {}
        """Calls that train -> whether that is assumed, since the model can't be resolved."""
        fits = [call for call in index.calls_written(TRAINING) if method_name(call)]
        if not fits or not any(map(self.is_keras, index.chains)):
            return
        for call in fits:
            made = self._made_by_keras(call)
            if made or (made is None and self._looks_like_keras(call)):
                self.calls[call] = not made

    def trainers(self, others: Collection[str] = ()) -> FrozenSet[str]:
        """The module's functions and classes that train, by themselves or through ``others``."""
        found: Set[str] = set()
        for call in self.calls:
            found |= self._holder(call)
        grown = bool(found or others)
        while grown:
            known = found.union(others)
            before = len(found)
            for chain in self.index.chains:
                if self.is_trainer(chain, known):
                    found |= self._holder(chain)
            grown = len(found) > before
        return frozenset(found)

    def builders(self) -> FrozenSet[str]:
        """The module's functions and classes that speak of Keras: they may build the model."""
        spoken = (chain for chain in self.index.chains if self.is_keras(chain))
        return frozenset(name for chain in spoken for name in self._holder(chain))

    def models(self) -> Set[ast.AST]:
        """The statements that bind the models that are trained."""
        found: Set[ast.AST] = set()
        for call in self.calls:
            root = _receiver(call)
            while isinstance(root, ast.Attribute):
                root = root.value
            bindings = self.index.bindings(root) if isinstance(root, ast.Name) else []
            found.update(b.statement for b in bindings if b.statement is not None)
        return found

    def is_keras(self, chain: ast.expr) -> bool:
        """Whether an expression names something of Keras."""
        return any(f"{name}.".startswith(KERAS) for name in self.index.resolve(chain).names)

    def is_trainer(self, chain: ast.expr, trainers: AbstractSet[str]) -> bool:
        """Whether an expression names one of these functions or classes, or part of one."""
        return any(_is_part(name, trainers) for name in self.index.resolve(chain).names)

    def _holder(self, node: ast.AST) -> Set[str]:
        """The function or class at the top of the module that holds a node."""
        top = [a for a in self.index.ancestors(node) if a in self.index.scopes]
        return {self.index.qualname(top[-1])} if top else set()

    def _made_by_keras(self, call: ast.Call) -> Optional[bool]:
        """Whether Keras made the model that a call trains; ``None`` where it can't be known."""
        verdicts: List[Optional[bool]] = []
        for producer in self.optimizers.producers(_receiver(call)):
            if isinstance(producer, Binding):
                verdicts.append(None)
            elif isinstance(producer, ast.Call):
                verdicts.append(self._makes_model(producer))
        if any(verdicts):
            return True
        return None if not verdicts or None in verdicts else False

    def _makes_model(self, call: ast.Call) -> Optional[bool]:
        names = self.index.resolve(call.func).names
        if any(name.startswith(KERAS) for name in names):
            return True
        own = [node for node in map(self.index.class_named, names) if node is not None]
        if own:
            return any(self._is_model(node, set()) for node in own)
        return False if any(name.startswith("tensorflow.") for name in names) else None

    def _is_model(self, node: ast.ClassDef, seen: Set[ast.ClassDef]) -> bool:
        seen.add(node)
        for base in node.bases:
            name = self.index.resolve(base).sole
            parent = self.index.class_named(name)
            if name.startswith(KERAS):
                return True
            if parent is not None and parent not in seen and self._is_model(parent, seen):
                return True
        return False

    def _looks_like_keras(self, call: ast.Call) -> bool:
        if method_name(call) in ONLY_KERAS or KEYWORDS & {keyword.arg for keyword in call.keywords}:
            return True
        name = dotted(_receiver(call))
        return bool(name) and any(
            method_name(other) == "compile"
            and dotted(_receiver(other)) == name
            and COMPILING & {keyword.arg for keyword in other.keywords}
            for other in self.index.calls
        )


def _is_part(name: str, wholes: AbstractSet[str]) -> bool:
    """Whether a qualified name is one of these, or one of what they hold."""
    while name and name not in wholes:
        name = name.rpartition(".")[0]
    return bool(name)


def _receiver(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def compiles(index: Index, call: ast.Call) -> bool:
    """Whether a call is ``model.compile(...)`` of some model, and not a function that is known."""
    return method_name(call) == "compile" and not index.resolve(call.func).names
