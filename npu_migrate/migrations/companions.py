"""What travels with a loss-scaling optimizer: how it is built, handed gradients and run (NPU11x)."""

import ast
from typing import Dict, List, Optional, Set, Tuple

from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, same
from npu_migrate.migrations.loss_scaling import LossScaling
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.names import FUNCTIONS, dotted, literal
from npu_migrate.plan import ReplaceExpression, Status

APPLY_ARGUMENTS = ("grads_and_vars", "global_step", "name")


class Companions:
    """Checks and rewrites around the loss-scaling optimizers of one file."""

    def __init__(self, context: Context, optimizers: Optimizers, scaling: LossScaling) -> None:
        self.context = context
        self.index = context.index
        self.optimizers = optimizers
        self.scaling = scaling
        self.classes: Set[ast.AST] = set()
        """Subclasses that are reported as a whole."""

    def run(self) -> None:
        self._subclasses()
        self._iterators()
        self._extra_arguments()
        self._bypasses()
        self._scaled_by_hand()
        self._shared_overflow()
        self._shared_managers()
        self._unbound_managers()
        self._types_tested()
        self._already_migrated()
        self._environment()

    def _scaled_uses(self) -> List[ast.Call]:
        return [
            use
            for use in self.optimizers.uses()
            if self.optimizers.scalings(self.optimizers.receiver(use))
        ]

    # Subclasses -------------------------------------------------------------------------------

    def _subclasses(self) -> None:
        bases = {**{n: "optimizer" for n in vocabulary.TO_MIGRATE}}
        bases.update({n: "manager" for n in vocabulary.MANAGERS if n.startswith("tensorflow")})
        bases.update({n: "scale" for n in vocabulary.LOSS_SCALES})
        for node in self.index.classes:
            for base in node.bases:
                name = self.index.resolve(base).sole
                if name in bases:
                    self._subclass(node, base, name, bases[name])

    def _subclass(self, node: ast.ClassDef, base: ast.expr, name: str, kind: str) -> None:
        methods = {s.name for s in node.body if isinstance(s, FUNCTIONS)}
        blind = methods & {"apply_gradients", "update_loss_scale", "update", "compute_gradients"}
        private = [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == "self"
            and inner.attr.startswith("_")
            and not self.index.attributes.get((node, inner.attr))
            and inner.attr not in methods
        ]
        replaced = vocabulary.CONTRIB_OPTIMIZER, *vocabulary.MANAGERS
        if blind or private or name not in replaced:
            self.classes.add(node)
            self.context.report(
                "loss-scaling-subclass",
                node,
                symbol=name,
                what=", ".join(sorted(blind) or sorted({p.attr for p in private}) or [name]),
            )
            return
        target = vocabulary.BRIDGE + {
            "optimizer": "npu_loss_scale_optimizer.NPULossScaleOptimizer",
            "manager": "npu_loss_scale_manager." + name.rpartition(".")[2],
        }[kind]
        edit = ReplaceExpression(base, self.context.local(target, node))
        self.context.discard(base)
        self.context.report(
            "loss-scaling-subclass", node, edit, symbol=name, status=Status.MIGRATED, what=name
        )

    # Gradients --------------------------------------------------------------------------------

    def _iterators(self) -> None:
        """The wrapper walks its gradients twice; an iterator is empty the second time."""
        done: Set[ast.AST] = set()
        for use in self._scaled_uses():
            if getattr(use.func, "attr", "") != "apply_gradients":
                continue
            gradients = argument(use, 0, "grads_and_vars")
            if gradients is None:
                continue
            for producer in self.optimizers.producers(gradients):
                if producer in done or not isinstance(producer, ast.expr):
                    continue
                if self._is_iterator(producer):
                    done.add(producer)
                    edit = ReplaceExpression(producer, "list($it)", {"it": producer})
                    self.context.report("gradients-iterator", producer, edit, symbol=_callee(producer))

    def _is_iterator(self, node: ast.expr) -> bool:
        if isinstance(node, ast.GeneratorExp):
            return True
        return self.context.calls_to(node, *vocabulary.ITERATORS)

    def _extra_arguments(self) -> None:
        for use in self._scaled_uses():
            if getattr(use.func, "attr", "") != "apply_gradients":
                continue
            extra = [str(k.arg) for k in use.keywords if k.arg and k.arg not in APPLY_ARGUMENTS]
            if extra or len(use.args) > len(APPLY_ARGUMENTS):
                self.context.report(
                    "apply-gradients-argument", use, arguments=", ".join(extra) or "the fourth"
                )

    def _bypasses(self) -> None:
        """``tf.gradients`` goes round the scaling that ``compute_gradients`` does."""
        done: Set[ast.Call] = set()
        for use in self._scaled_uses():
            gradients = argument(use, 0, "grads_and_vars")
            if gradients is None or getattr(use.func, "attr", "") != "apply_gradients":
                continue
            for call in self.optimizers.derives_from(gradients, (vocabulary.GRADIENTS,)):
                if call not in done:
                    done.add(call)
                    self.context.report(
                        "gradients-bypass-scaling", call, symbol=vocabulary.GRADIENTS
                    )

    def _scaled_by_hand(self) -> None:
        """``compute_gradients(loss * s)`` and ``g / s``: a loss scale without an optimizer for it."""
        for call in self.index.calls:
            is_gradients = self.context.is_named(call.func, (vocabulary.GRADIENTS,))
            if not is_gradients and getattr(call.func, "attr", "") != "compute_gradients":
                continue
            loss = argument(call, 0, "loss", "ys")
            scale = self._factor(loss)
            if scale is None or not self._divided_by(scale, call):
                continue
            if is_gradients and self._finite_check_follows(call):
                continue
            self.context.report("scaled-by-hand", call, scale=_source(scale))

    def _factor(self, loss: Optional[ast.expr]) -> Optional[ast.expr]:
        """``s`` of ``loss * s``, where it is no literal."""
        for producer in self.index.producers(loss) if loss is not None else ():
            if isinstance(producer, ast.BinOp) and isinstance(producer.op, ast.Mult):
                for factor in (producer.right, producer.left):
                    if dotted(factor):
                        return factor
        return None

    def _divided_by(self, scale: ast.expr, call: ast.Call) -> bool:
        region = self.index.region(call)
        return any(
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and same(node.right, scale)
            for node in ast.walk(region)
        )

    def _finite_check_follows(self, call: ast.Call) -> bool:
        """Whether the finite check of these gradients is reported in any case."""
        for check in self.index.calls:
            if self.context.is_named(check.func, vocabulary.FINITE_CHECKS) and check.args:
                if call in self.optimizers.derives_from(check.args[0], (vocabulary.GRADIENTS,)):
                    return True
        return False

    # Several optimizers -----------------------------------------------------------------------

    def _shared_overflow(self) -> None:
        """Two loss-scaling optimizers in one ``session.run`` share one overflow register."""
        reported: Set[Tuple[int, ...]] = set()
        for call in self.index.calls:
            fetched = self._run_together(call)
            scalings: Dict[ast.Call, None] = {}
            for element in fetched:
                for use in self.optimizers.derives_from(element, (), ("minimize", "apply_gradients")):
                    found = self.optimizers.scalings(self.optimizers.receiver(use))
                    if len(found) == 1:
                        scalings[found[0]] = None
            independent = self._independent(list(scalings))
            key = tuple(sorted(c.lineno for c in independent))
            if len(independent) > 1 and key not in reported:
                reported.add(key)
                lines = ", ".join(str(line) for line in key)
                self.context.report("overflow-shared", call, lines=lines)

    def _run_together(self, call: ast.Call) -> List[ast.expr]:
        is_run = getattr(call.func, "attr", "") == "run" and bool(call.args)
        is_group = self.context.is_named(call.func, (vocabulary.GROUP,))
        if not is_run and not is_group:
            return []
        found: List[ast.expr] = []
        for value in call.args[:1] if is_run else call.args:
            for producer in self.index.producers(value):
                if isinstance(producer, (ast.List, ast.Tuple)):
                    found += producer.elts
                elif isinstance(producer, ast.Dict):
                    found += producer.values
                elif is_group and isinstance(producer, ast.expr):
                    found.append(producer)
        return found

    def _independent(self, scalings: List[ast.Call]) -> List[ast.Call]:
        """Wraps that are not alternatives of each other (the arms of one ``if``)."""
        from npu_migrate.migrations.step_moves import StepMoves
        from npu_migrate.migrations.steps import Steps

        moves = StepMoves(self.index, self.optimizers, Steps(self.index, self.optimizers))
        kept: List[ast.Call] = []
        for scaling in scalings:
            if not any(moves.exclusive(scaling, other) for other in kept):
                kept.append(scaling)
        return kept

    def _shared_managers(self) -> None:
        """Two optimizers on one manager count every step twice."""
        owners: Dict[ast.Call, List[ast.Call]] = {}
        for call in self.index.calls:
            if not self.optimizers.is_wrap(call, vocabulary.SCALED):
                continue
            manager = argument(call, 1, "loss_scale_manager", "loss_scale")
            if manager is None or not dotted(manager):
                continue
            for producer in self.optimizers.producers(manager):
                if isinstance(producer, ast.Call):
                    owners.setdefault(producer, []).append(call)
        for manager_call, wraps in owners.items():
            together = self._independent(wraps)
            if len(together) > 1:
                lines = ", ".join(str(wrap.lineno) for wrap in together)
                self.context.report("manager-shared", manager_call, lines=lines)

    # How optimizers and managers are built -----------------------------------------------------

    def _unbound_managers(self) -> None:
        """The manager exists only under a flag, the optimizer always."""
        for call in self.index.calls:
            if not self.optimizers.is_wrap(call, vocabulary.SCALED):
                continue
            manager = argument(call, 1, "loss_scale_manager", "loss_scale")
            if not isinstance(manager, ast.Name) or not self.index.may_be_unbound(manager):
                continue
            bound = {
                name
                for binding in self.index.bindings(manager)
                if binding.statement is not None
                for name in self._condition(binding.statement)
            }
            if bound and not bound & self._condition(call):
                self.context.report("manager-may-be-unbound", call, manager=manager.id)

    def _condition(self, node: ast.AST) -> Set[str]:
        """The names on which it depends whether a node runs."""
        tests: List[ast.expr] = []
        for ancestor in self.index.ancestors(node):
            if isinstance(ancestor, (ast.If, ast.IfExp)):
                tests.append(ancestor.test)
        statement: ast.AST = self.index.statement(node)
        while statement in self.index.places:
            place = self.index.places[statement]
            for earlier in place.block[: place.position]:
                if isinstance(earlier, ast.If) and isinstance(
                    earlier.body[-1], (ast.Return, ast.Raise)
                ):
                    tests.append(earlier.test)
            if place.parent is None or isinstance(place.parent, FUNCTIONS):
                break
            statement = place.parent
        return {
            dotted(n)
            for test in tests
            for n in ast.walk(test)
            if isinstance(n, (ast.Name, ast.Attribute)) and dotted(n)
        }

    def _types_tested(self) -> None:
        """``isinstance(opt, SomeOptimizer)`` is false once ``opt`` is wrapped."""
        for call in self.index.calls:
            if not self.context.is_named(call.func, ("builtins.isinstance",)) or not call.args:
                continue
            if self.context.without(call) or not dotted(call.args[0]):
                continue
            if self.optimizers.layers(call.args[0]):
                self.context.report(
                    "type-tested-after-wrapping", call, name=dotted(call.args[0])
                )

    def _already_migrated(self) -> None:
        """Faults of scripts that were migrated by hand."""
        for call in self.index.calls:
            if not self.optimizers.is_wrap(call, vocabulary.NPU_SCALED):
                continue
            inner = self.optimizers.inner(call)
            if inner is None:
                continue
            if self.optimizers.always_scaled(inner):
                self.context.report("scaled-twice", call)
            if any(
                isinstance(p, ast.Call) and getattr(p.func, "attr", "") in ("minimize",)
                for p in self.optimizers.producers(inner)
            ):
                self.context.report("wraps-an-operation", call)
            self._agreement(call, inner)

    def _agreement(self, call: ast.Call, inner: ast.expr) -> None:
        """``is_distributed`` and the averaging optimizer must agree."""
        flag = argument(call, 2, "is_distributed")
        value = literal(flag)
        averaged = bool(self.optimizers.distributions(inner))
        if averaged and (flag is None or value is False):
            self.context.report("ranks-judge-apart", call)
        elif value is True and not self._under_rank_test(call):
            self.context.report("distributed-on-one-device", call)

    def _under_rank_test(self, node: ast.AST) -> bool:
        """Whether some condition around a node, or a return before it, asks for the rank count."""
        region = self.index.region(node)
        for test in ast.walk(region):
            if isinstance(test, (ast.If, ast.IfExp)) and self._asks_rank_count(test.test):
                return True
        return False

    def _asks_rank_count(self, test: ast.expr) -> bool:
        if self.optimizers.derives_from(test, vocabulary.RANK_COUNT, ("size",)):
            return True
        names = {literal(n) for n in ast.walk(test)}
        return bool(names & {"RANK_SIZE", "CM_WORKER_SIZE"}) or any(
            isinstance(n, (ast.Name, ast.Attribute))
            and any(word in dotted(n).lower() for word in ("rank_size", "ranksize", "world_size"))
            for n in ast.walk(test)
        )

    def _environment(self) -> None:
        """``int(os.getenv("RANK_SIZE"))`` fails on a plain shell."""
        for call in self.index.calls:
            if not self.context.is_named(call.func, ("builtins.int",)) or len(call.args) != 1:
                continue
            value = call.args[0]
            variable = self._variable_without_default(value)
            if variable:
                self.context.report("rank-without-default", call, variable=variable)

    def _variable_without_default(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return ""
        if not self.context.is_named(node.func, ("os.getenv", "os.environ.get")):
            return ""
        name = literal(node.args[0])
        return name if name in ("RANK_SIZE", "RANK_ID") else ""  # type: ignore[return-value]


def _callee(node: ast.expr) -> str:
    return dotted(node.func) if isinstance(node, ast.Call) else "generator"


def _source(node: ast.expr) -> str:
    return dotted(node) or "a factor"


