"""What one file tells the others: the first two passes over a run."""

import ast
from dataclasses import dataclass, replace
from typing import Dict, FrozenSet, List, Optional, Tuple

from npu_migrate.facts import (
    CallFacts,
    ClassFacts,
    Handed,
    NameFacts,
    OriginFacts,
    RegionFacts,
    RunFacts,
    ScalingFunction,
    SessionFacts,
    StepFacts,
)
from npu_migrate.migrations import signs, vocabulary
from npu_migrate.migrations.distributed import strategies
from npu_migrate.migrations.distributed.distribution import beyond_the_adapter
from npu_migrate.migrations.known_failures.switches import switches
from npu_migrate.migrations.loss_scale.hand_scaling import HandScaling
from npu_migrate.migrations.loss_scale.training_optimizers import TrainingOptimizers
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.session import precision_switches, sessions
from npu_migrate.migrations.session.keras import has_own_session
from npu_migrate.migrations.session.keras_training import KerasTraining
from npu_migrate.migrations.session.npu_configs import NpuConfigs
from npu_migrate.migrations.signs import Text
from npu_migrate.migrations.step.step_moves import StepMoves
from npu_migrate.migrations.step.steps import Behaviour, Steps
from npu_migrate.names import (
    FUNCTIONS,
    Binding,
    Index,
    arguments_of,
    dotted,
    exports,
    main_block,
    parameters,
)


@dataclass(frozen=True)
class Sought:
    """What the first pass looks for: what some file of the run needs to know of the others."""

    training: FrozenSet[str] = frozenset()
    """The modules that may hold loss scaling, averaging over ranks or a moved global step."""
    horovod: bool = False
    keras: FrozenSet[str] = frozenset()
    """The modules that train through Keras, and those that import them."""
    missing_scaling: bool = False
    """Loss scaling is to be added where there is none."""


TRAINING = (
    *("minimize", "apply_gradients", "optimize_loss", "create_train_op"),
    *("train", "train_and_evaluate", "fit", "fit_generator", "train_on_batch"),
)
"""Functions and methods that train, by the last part of their names."""


def name_facts(index: Index, text: Text, sought: Sought) -> NameFacts:
    """What a file offers to the others and hands over to them."""
    trains = index.module in sought.training
    facts = NameFacts(
        module=index.module,
        exports=exports(index),
        calls=tuple(_call_facts(index)) if sought.horovod else (),
        functions=_functions(index) if sought.horovod else {},
        scaling_functions=tuple(_scaling_functions(index)) if trains else (),
        uses_horovod=_imports_horovod(index),
        scales_by_object=trains and _scales_by_object(index),
        bases=_bases(index) if trains else {},
        returned=_returned(index) if trains else {},
        switches=switches(index) if text.shows(signs.SWITCHES) else frozenset(),
    )
    facts = _with_scaling(index, facts) if sought.missing_scaling else facts
    return _with_keras(index, text, facts) if index.module in sought.keras else facts


def _functions(index: Index) -> Dict[str, Tuple[str, ...]]:
    return {index.qualname(f): tuple(parameters(f)) for f in index.functions}


def _scales_by_object(index: Index) -> bool:
    return bool(index.calls_of(vocabulary.SCALED_BY_OBJECT))


def _with_scaling(index: Index, facts: NameFacts) -> NameFacts:
    """The same with what it takes to add loss scaling."""
    optimizers = Optimizers(index)
    return replace(
        facts,
        scales_by_hand=bool(HandScaling(index, optimizers).calls(with_numbers=True)),
        keeps_strategy=strategies.keeps_one(index, optimizers),
        bases=_bases(index),
        called=frozenset(name for call in index.calls for name in index.resolve(call.func).names),
    )


def _bases(index: Index) -> Dict[str, Tuple[str, ...]]:
    return {
        index.qualname(node): tuple(n for base in node.bases for n in index.resolve(base).names)
        for node in index.classes
    }


def _returned(index: Index) -> Dict[str, Tuple[str, ...]]:
    found: Dict[str, Tuple[str, ...]] = {}
    for function in index.functions:
        values = [r.value for r in index.returns(function) if r.value is not None]
        made = [p for value in values for p in index.producers(value)]
        calls = [p for p in made if isinstance(p, ast.Call)]
        names = tuple(name for call in calls for name in index.resolve(call.func).names)
        if names:
            found[index.qualname(function)] = names
    return found


def _with_keras(index: Index, text: Text, facts: NameFacts) -> NameFacts:
    """The same with where it trains through Keras, and what it would run of other files."""
    is_main = main_block(index.tree) is not None
    return replace(
        facts,
        keras_trainers=_keras_trainers(index) if text.shows(signs.KERAS_TRAINING) else frozenset(),
        main_mentions=_mentions(index) if is_main else frozenset(),
    )


def _keras_trainers(index: Index) -> FrozenSet[str]:
    training = KerasTraining(index, Optimizers(index))
    return frozenset() if not training.calls or has_own_session(index) else training.trainers()


def _mentions(index: Index) -> FrozenSet[str]:
    """The names of other files that a file mentions."""
    names = {name for chain in index.chains for name in index.resolve(chain).names}
    return frozenset(name for name in names if name.startswith(":"))


def step_facts(index: Index, text: Text, run: RunFacts) -> StepFacts:
    """What a file does with optimizers and the global step; its index knows the others."""
    training = TrainingOptimizers(index, run)
    optimizers = Optimizers(index, run.scaling_functions, training.to_scale)
    if not run.trains(index.module):
        return StepFacts(index.module, sessions=_session_facts(index, text, optimizers))
    steps = Steps(index, optimizers)
    return StepFacts(
        index.module,
        classes=tuple(_class_facts(index, steps, node) for node in index.classes),
        regions=tuple(_region_facts(index, optimizers, steps, run)),
        sessions=_session_facts(index, text, optimizers),
        adds_scaling=bool(training.to_scale),
        keeps_horovod=bool(beyond_the_adapter(index, run)),
    )


def _session_facts(index: Index, text: Text, optimizers: Optimizers) -> SessionFacts:
    makes = text.shows(signs.SESSIONS) or text.shows(signs.ESTIMATORS)
    trains = text.shows(signs.KERAS_TRAINING) and KerasTraining(index, optimizers).calls
    has_precision = text.shows(signs.PRECISION)
    configs = NpuConfigs(index, optimizers).names() if text.shows(signs.NPU_CONFIGS) else ()
    return SessionFacts(
        module=index.module,
        configures=(makes and sessions.configures(index)) or bool(trains),
        sets_precision=has_precision and precision_switches.sets_precision(index),
        switches=tuple(precision_switches.facts(index, optimizers)) if has_precision else (),
        trains=bool(index.calls_written(TRAINING)),
        scales=_scales(index, text, optimizers),
        npu_configs=tuple(configs),
    )


def _scales(index: Index, text: Text, optimizers: Optimizers) -> bool:
    """Whether a file scales a loss, by an optimizer or by hand."""
    if text.shows(signs.LOSS_SCALING):
        if index.calls_of(vocabulary.SCALED):
            return True
    by_hand = HandScaling(index, optimizers).calls if text.shows(signs.GRADIENTS) else None
    return by_hand is not None and bool(by_hand(with_numbers=True))


def _scaling_functions(index: Index) -> List[ScalingFunction]:
    """The functions of a file that return a loss-scaling optimizer."""
    found = []
    optimizers = Optimizers(index)
    for function in index.functions:
        scope = index.scopes[function]
        returned = [r.value for r in index.returns(function) if r.value is not None]
        if not any(optimizers.scalings(value) for value in returned):
            continue
        names = parameters(function)
        passed: List[Tuple[int, str]] = []
        origins: List[str] = []
        for value in returned:
            for origin in optimizers.origins(value):
                bindings = [origin.binding] if origin.binding is not None else []
                own = [b.name for b in bindings if b.scope is scope and b.name in names]
                passed += [(names.index(name), name) for name in own]
                if not own:
                    origins.append(origin.name)
        name = index.qualname(function)
        found.append(ScalingFunction(name, tuple(dict.fromkeys(passed)), tuple(origins)))
    return found


def _imports_horovod(index: Index) -> bool:
    """Whether a file has Horovod, or what took its place in an earlier migration."""
    for statement in index.imports:
        for binding in index.statement_bindings(statement):
            target = index.canonical(binding.target)
            package, _, module = target.partition(".")
            renamed = target == vocabulary.ADAPTER and binding.name != "ops_adapter"
            other = module.split(".")[0] in vocabulary.OTHER_FRAMEWORKS
            if renamed or (package in vocabulary.LIBRARIES and not other):
                return True
            if target.startswith(vocabulary.ADAPTER + "."):
                return True
    return False


def _class_facts(index: Index, steps: Steps, node: ast.ClassDef) -> ClassFacts:
    bases = tuple(index.resolve(base).sole for base in node.bases)
    behaviour = steps.behaviour(node)
    inner = steps.inner_of(node) if behaviour is Behaviour.HANDS_INSIDE else []
    return ClassFacts(index.qualname(node), bases, behaviour.value, tuple(inner))


def origin_facts(optimizers: Optimizers, use: ast.Call) -> List[OriginFacts]:
    """The innermost optimizers behind ``x.apply_gradients(...)`` or ``x.minimize(...)``."""
    found = []
    for origin in optimizers.origins(optimizers.receiver(use)):
        inside: Tuple[str, ...] = ()
        if isinstance(origin.node, ast.Call):
            handed = arguments_of(origin.node)
            names = [o.name for value in handed for o in optimizers.origins(value) if o.name]
            inside = tuple(dict.fromkeys(names))
        found.append(OriginFacts(origin.name, inside))
    return found


def _region_facts(
    index: Index, optimizers: Optimizers, steps: Steps, run: RunFacts
) -> List[RegionFacts]:
    moves = StepMoves(index, optimizers, steps, run)
    found = []
    for region in steps.regions():
        uses = optimizers.uses(region)
        origins = [f for use in uses for f in origin_facts(optimizers, use)]
        found.append(
            RegionFacts(
                name=index.module if region is index.tree else index.qualname(region),
                origins=tuple(dict.fromkeys(origins)),
                scaled=any(optimizers.scalings(optimizers.receiver(u)) for u in uses),
                moves_outside=bool(steps.moves(region)),
                decidable=not moves.judge(region).obstacle,
                conditional=moves.is_conditional(region),
                ordered=all(moves.is_ordered(move) for move in steps.moves(region)),
            )
        )
    return found


def _call_facts(index: Index) -> List[CallFacts]:
    found = []
    for call in index.calls:
        handed = _handed(index, call)
        if not handed:
            continue
        function = index.function_called(call)
        if function is not None:
            bound = int(index.is_method(function))
            found.append(CallFacts(index.qualname(function), bound, tuple(handed)))
            continue
        for name in sorted(index.resolve(call.func).names):
            if name.startswith(":"):
                found.append(CallFacts(name, 0, tuple(handed)))
                found.append(CallFacts(name + ".__init__", 1, tuple(handed)))
    return found


def _handed(index: Index, call: ast.Call) -> List[Handed]:
    found = []
    for position, value in enumerate(call.args):
        found += _values(index, value, str(position))
    for keyword in call.keywords:
        if keyword.arg is not None:
            found += _values(index, keyword.value, keyword.arg)
    return found


def _values(index: Index, value: ast.expr, at: str) -> List[Handed]:
    if isinstance(value, ast.IfExp):
        return _values(index, value.body, at) + _values(index, value.orelse, at)
    if not dotted(value):
        return []
    names = index.resolve(value).names
    for module in (vocabulary.HOROVOD, vocabulary.ADAPTER):
        if module in names:
            return [Handed(at, module=module)]
    binding = _parameter(index, value)
    if binding is not None:
        return [Handed(at, parameter=(binding.scope.qualname, binding.name))]
    return []


def _parameter(index: Index, value: ast.expr) -> Optional[Binding]:
    bindings: Optional[List[Binding]] = None
    if isinstance(value, ast.Name):
        bindings = index.bindings(value)
    elif isinstance(value, ast.Attribute):
        bindings = index.self_attribute(value)
        if bindings and len(bindings) == 1 and isinstance(bindings[0].value, ast.Name):
            bindings = index.bindings(bindings[0].value)
    if bindings and len(bindings) == 1 and bindings[0].parameter:
        if isinstance(bindings[0].scope.node, FUNCTIONS):
            return bindings[0]
    return None
