"""The optimizers of a file that train, for a program whose loss nothing scales yet.

An optimizer is found by its uses (``minimize``, ``apply_gradients``), and followed to the name that
it is bound to: right behind that binding everything that reads the name sees a wrapper.
"""

import ast
from dataclasses import dataclass
from typing import Dict, FrozenSet, Hashable, Iterator, List, Optional, Sequence, Tuple

from npu_migrate.facts import RunFacts
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import argument
from npu_migrate.migrations.distributed import horovod_optimizer
from npu_migrate.migrations.distributed.distribution import beyond_the_adapter
from npu_migrate.migrations.loss_scale.control_dependencies import evaluated_once
from npu_migrate.migrations.optimizers import COMPUTING, Optimizers, Origin
from npu_migrate.names import (
    FUNCTIONS,
    LOOPS,
    WITHS,
    Binding,
    Index,
    dotted,
    leaves,
    literal,
    method_name,
)

_TRAINING_FUNCTIONS = frozenset(vocabulary.TRAINING_FUNCTIONS)
KERAS = "a Keras optimizer can't be wrapped under TensorFlow 1.15"
UNKNOWN = "what optimizer this is can't be seen here"
ENTANGLED = "there is no one place behind which the optimizer is always this one"
ELSEWHERE = "the optimizer is made outside of the function that trains, maybe in another graph"
AVERAGED = "how Horovod averages its gradients has to be settled first"
MADE_INSIDE = (
    "the optimizer is named here and made by TensorFlow; hand over one that is made before"
)
EAGER = "the script trains eagerly, which has to change first"
UNDER_STRATEGY = "a strategy of tf.distribute stays, which has to go first"
COLLECTED = "SyncReplicasOptimizer has to go first"
"""What may be in the way of scaling."""

BINDINGS = (ast.Assign, ast.AnnAssign)


@dataclass(frozen=True, eq=False)
class Training:
    """An optimizer that trains, and where it can be wrapped.

    ``root`` is a name or an attribute of ``self``, wrapped right behind (or before) ``anchor``; or
    the call that makes the optimizer, which ``anchor`` evaluates.
    """

    root: ast.expr
    uses: Tuple[ast.Call, ...]
    anchor: Optional[ast.stmt] = None
    before: bool = False
    obstacle: str = ""

    @property
    def name(self) -> str:
        """The name that the optimizer is bound to, if it is bound to one."""
        return dotted(self.root)


class TrainingOptimizers:
    """The training optimizers of one file, where its program has no loss scaling and should."""

    def __init__(self, index: Index, run: RunFacts) -> None:
        self.index = index
        self.run = run
        self.optimizers = Optimizers(index, run.scaling_functions)
        self._statements_of_calls: List[ast.stmt] = []
        self._is_eager = False
        self.found: List[Training] = []
        if run.adds_scaling(index.module):
            self.found = list(self._find())
        elif index.module in run.scaling_on_npu and not self._scales():
            self.found = [training for training in self._find() if training.obstacle]

    def _scales(self) -> bool:
        return bool(self.index.calls_of(vocabulary.SCALED))

    def _runs_eagerly(self) -> bool:
        return any(
            self.index.statement(call) in self.index.tree.body
            for call in self.index.calls_of(vocabulary.EAGER_SWITCHES)
        )

    @property
    def obstacles(self) -> List[Training]:
        """Those that can't be wrapped; then none of the file is, since they share an overflow."""
        return [training for training in self.found if training.obstacle]

    @property
    def to_scale(self) -> FrozenSet[ast.Call]:
        """The calls that make what will be wrapped."""
        if self.obstacles:
            return frozenset()
        producers = [p for t in self.found for p in self.optimizers.producers(t.root)]
        return frozenset(p for p in producers if isinstance(p, ast.Call))

    # By their uses ----------------------------------------------------------------------------

    def _find(self) -> Iterator[Training]:
        self._is_eager = self._runs_eagerly()
        groups: Dict[Hashable, List[Tuple[ast.expr, ast.Call]]] = {}
        for use, optimizer in self._uses():
            for root in self._roots(optimizer, ()):
                groups.setdefault(self._identity(root), []).append((root, use))
        shared = self._in_several(groups)
        roots_made = [m[0][0] for m in groups.values() if isinstance(m[0][0], ast.Call)]
        self._statements_of_calls = [self.index.statement(root) for root in roots_made]
        for members in groups.values():
            roots = [root for root, _ in members]
            uses = tuple(dict.fromkeys(use for _, use in members))
            obstacle = self._of_kind(roots[0])
            if not obstacle and shared & set(self._bindings(roots[0])):
                obstacle = ENTANGLED
            yield (
                Training(roots[0], uses, obstacle=obstacle)
                if obstacle
                else self._placed(roots, uses, self._computing(roots[0]))
            )

    def _uses(self) -> Iterator[Tuple[ast.Call, ast.expr]]:
        """Each call that trains, with the optimizer that it trains with."""
        for use in self.optimizers.uses():
            if self._may_train(use):
                yield use, self.optimizers.receiver(use)
        for call in self.index.possible_calls(_TRAINING_FUNCTIONS):
            for name in self.index.resolve(call.func).names & vocabulary.TRAINING_FUNCTIONS.keys():
                optimizer = argument(call, *vocabulary.TRAINING_FUNCTIONS[name])
                yield call, call if optimizer is None else optimizer

    def _computing(self, root: ast.expr) -> List[ast.expr]:
        """Where the same optimizer computes gradients, which it has to scale too."""
        bindings = set(self._bindings(root))
        return [
            reader
            for call in self.index.calls_written(COMPUTING)
            if isinstance(call.func, ast.Attribute)
            for reader in self._roots(call.func.value, ())
            if not bindings.isdisjoint(self._bindings(reader))
        ]

    def _may_train(self, use: ast.Call) -> bool:
        """Whether a use is one of an optimizer, and not by an optimizer of the user's own."""
        receiver = self.optimizers.receiver(use)
        if self.index.resolve(use.func).names:
            return False
        if isinstance(receiver, ast.Name) and self.index.class_of_self(receiver) is not None:
            return False
        classes = [a for a in self.index.ancestors(use) if isinstance(a, ast.ClassDef)]
        return not any(self._is_optimizer(c) or self._is_test(c) for c in classes)

    def _is_optimizer(self, node: ast.ClassDef) -> bool:
        return self.index.qualname(node) in self.run.optimizer_classes

    def _is_test(self, node: ast.ClassDef) -> bool:
        bases = [name for base in node.bases for name in self.index.resolve(base).names]
        return any(name.endswith(".TestCase") for name in bases)

    def _roots(self, node: ast.expr, seen: Tuple[Binding, ...]) -> List[ast.expr]:
        """The expressions that an optimizer comes from, through parameters of this file."""
        bindings = self.index.bindings(node) if isinstance(node, ast.Name) else []
        if len(bindings) != 1 or not bindings[0].parameter or bindings[0] in seen:
            return [node]
        function = bindings[0].scope.qualname
        if function in self.run.taken:
            return [node]
        handed = self.optimizers.handed(bindings[0])
        return [r for value in handed for r in self._roots(value, (*seen, bindings[0]))] or [node]

    def _bindings(self, root: ast.expr) -> List[Binding]:
        if isinstance(root, ast.Name):
            return self.index.bindings(root)
        return self.index.self_attribute(root) or []

    def _identity(self, root: ast.expr) -> Hashable:
        return frozenset(self._bindings(root)) or root

    def _in_several(
        self, groups: Dict[Hashable, List[Tuple[ast.expr, ast.Call]]]
    ) -> FrozenSet[Binding]:
        """Bindings that some uses see alone and others as one of several."""
        counted: Dict[Binding, int] = {}
        for members in groups.values():
            for binding in self._bindings(members[0][0]):
                counted[binding] = counted.get(binding, 0) + 1
        return frozenset(binding for binding, count in counted.items() if count > 1)

    # What they are ----------------------------------------------------------------------------

    def _of_kind(self, root: ast.expr) -> str:
        """What is in the way for the kind of optimizer, if anything is."""
        if isinstance(literal(root), str):
            return MADE_INSIDE
        origins = self.optimizers.origins(root)
        if any(self.run.is_keras_optimizer(o.name) for o in origins):
            return KERAS
        if any(o.name.endswith(".SyncReplicasOptimizer") for o in origins):
            return COLLECTED
        if not origins or not all(map(self._is_known, origins)):
            return UNKNOWN
        if self._is_eager:
            return EAGER
        if self.index.module in self.run.strategies:
            return UNDER_STRATEGY
        if beyond_the_adapter(self.index, self.run):
            return AVERAGED
        for call in self.optimizers.layers(root):
            if self.optimizers.is_wrap(call, vocabulary.HOROVOD_OPTIMIZERS):
                given = horovod_optimizer.arguments(call)
                if given is None or horovod_optimizer.refused(self.index, given):
                    return AVERAGED
        return ""

    def _is_known(self, origin: Origin) -> bool:
        return vocabulary.is_optimizer(origin.name) or origin.name in self.run.optimizer_classes

    # Where they can be wrapped ----------------------------------------------------------------

    def _placed(
        self,
        roots: Sequence[ast.expr],
        uses: Tuple[ast.Call, ...],
        computing: Sequence[ast.expr],
    ) -> Training:
        root = roots[0]
        if isinstance(root, ast.Call):
            statement = self.index.statement(root)
            others = [s for s in self._statements_of_calls if s is statement]
            alone = self.index.stands_alone(statement) and len(others) == 1
            once = alone and evaluated_once(self.index, root, statement)
            return Training(root, uses, statement, True, "" if once else ENTANGLED)
        bindings = self._bindings(root)
        statements = [b.statement for b in bindings if isinstance(b.statement, BINDINGS)]
        if not bindings or len(statements) < len(bindings):
            return Training(root, uses, obstacle=UNKNOWN if not bindings else ENTANGLED)
        near = [r for r in roots if self._is_near(r, statements[0])]
        if len(near) < len(roots) and (isinstance(root, ast.Name) or self._has_graphs()):
            return Training(root, uses, obstacle=ELSEWHERE)
        readers = near + [r for r in computing if self._is_near(r, statements[0])]
        behind = self._behind(root, statements, readers)
        if behind is not None:
            return Training(root, uses, behind)
        all_near = len(readers) == len(roots) + len(computing)
        ahead = self._ahead(statements, readers) if all_near else None
        if ahead is not None:
            return Training(root, uses, ahead, before=True)
        return Training(root, uses, obstacle=ENTANGLED)

    def _is_near(self, reader: ast.expr, statement: ast.stmt) -> bool:
        return self.index.region(reader) is self.index.region(statement)

    def _has_graphs(self) -> bool:
        """Whether the file makes graphs of its own, so that methods may build in several."""
        return any(map(method_name, self.index.calls_written(("as_default",))))

    def _behind(
        self, root: ast.expr, statements: Sequence[ast.stmt], roots: Sequence[ast.expr]
    ) -> Optional[ast.stmt]:
        """The statement after which the optimizer is bound for good, before it is read."""
        for block in self._blocks(statements[0]):
            holders = [s for s in block if any(self.index.inside(b, s) for b in statements)]
            if not all(any(self.index.inside(b, s) for s in holders) for b in statements):
                continue
            last = holders[-1]
            later = block[self.index.places[last].position + 1 :]
            if all(any(self.index.inside(r, s) for s in later) for r in roots):
                bound = self._is_bound(root, block, later, statements)
                return last if bound and self.index.stands_alone(last) else None
        return None

    def _is_bound(
        self,
        root: ast.expr,
        block: Sequence[ast.stmt],
        later: Sequence[ast.stmt],
        statements: Sequence[ast.stmt],
    ) -> bool:
        if isinstance(root, ast.Name):
            return not self.index.may_be_unbound(root.id, later[0])
        return any(_binds(s, statements) for s in block if s not in later)

    def _ahead(
        self, statements: Sequence[ast.stmt], roots: Sequence[ast.expr]
    ) -> Optional[ast.stmt]:
        """The statement that reads the optimizer first, where it stands no deeper in loops."""
        for block in self._blocks(self.index.statement(roots[0])):
            readers = [s for s in block if any(self.index.inside(r, s) for r in roots)]
            if not all(any(self.index.inside(r, s) for s in readers) for r in roots):
                continue
            first = readers[0]
            around = [a for a in self.index.ancestors(first) if isinstance(a, LOOPS + FUNCTIONS)]
            within = all(self.index.inside(b, a) for a in around for b in statements)
            ahead = all(b.lineno < first.lineno for b in statements)
            alone = within and ahead and self.index.stands_alone(first)
            return first if alone else None
        return None

    def _blocks(self, statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
        """The blocks around a statement in its own function, innermost first."""
        for node in (statement, *self.index.ancestors(statement)):
            if isinstance(node, FUNCTIONS + (ast.ClassDef,)) and node is not statement:
                return
            if node in self.index.places:
                yield self.index.places[node].block


def _binds(statement: ast.stmt, bindings: Sequence[ast.stmt]) -> bool:
    """Whether a statement runs one of the bindings whatever path is taken."""
    if statement in bindings:
        return True
    if isinstance(statement, ast.If):
        arms = (statement.body, statement.orelse)
        return all(leaves(arm) or any(_binds(s, bindings) for s in arm) for arm in arms)
    if isinstance(statement, WITHS):
        return any(_binds(s, bindings) for s in statement.body)
    return False
