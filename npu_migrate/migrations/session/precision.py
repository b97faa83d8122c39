"""The precision of the NPU: where a script had mixed precision, its sessions get it."""

import ast
from typing import List, Optional

from npu_migrate.facts import PrecisionSwitch
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.environment import settings
from npu_migrate.migrations.loss_scale.verdicts import Verdicts
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.removal import Removal
from npu_migrate.migrations.session.conditions import Conditions
from npu_migrate.migrations.session.precision_switches import (
    VARIABLES,
    is_off,
    sets_parameter,
    switches,
)
from npu_migrate.names import literal
from npu_migrate.plan import Status
from npu_migrate.precision_modes import MIXED_FLOAT16

SESSION_RULE = "session-config"
CARRIERS = (SESSION_RULE, "estimator-config", "tpu-estimator")
"""Rules whose changes carry the precision."""
DUMMY_RULE = "graph-rewrite-trains-nothing"
SWITCH_RULE = "auto-mixed-precision"
SCALING_VARIABLE = "TF_ENABLE_AUTO_MIXED_PRECISION_LOSS_SCALING"
UNSCALED_RULE = "mixed-precision-without-loss-scale"
SCALING_RULE = "auto-loss-scaling-environment"


def run(context: Context) -> None:
    """Report the switches of TensorFlow's mixed precision in one file."""
    is_set = context.run.precision_of(context.index.module).is_set
    for switch in switches(context.index):
        if switch.followed and not is_set:
            status = Status.MIGRATED if is_carried(context) else Status.MANUAL
            context.report(SWITCH_RULE, switch.node, status=status, symbol=switch.name)
    _loss_scaling(context)


def _loss_scaling(context: Context) -> None:
    """Report that nothing scales the loss, once a file."""
    program = context.run.precision_of(context.index.module)
    if context.run.loss_scale or program.scales:
        return
    promised = [s for s in settings(context.index, (SCALING_VARIABLE,)) if not is_off(s.value)]
    for setting in promised:
        context.report(SCALING_RULE, setting.node, symbol=setting.name)
    if program.lacks_scaling and not promised:
        for switch in switches(context.index)[:1]:
            context.report(UNSCALED_RULE, switch.node, symbol=switch.name)


def is_carried(context: Context, node: Optional[ast.expr] = None) -> bool:
    """Whether the program has sessions or Estimators that get what its switches say.

    With ``node``, only what the switch there says.
    """
    program = context.run.precision_of(context.index.module)
    here = (context.index.module, getattr(node, "lineno", 0))
    known = all(
        switch.condition.known
        for switch in program.switches
        if not switch.followed and (node is None or (switch.module, switch.line) == here)
    )
    is_spared = any(finding.name in CARRIERS for finding in context.plan.suppressed)
    return program.configured and known and SESSION_RULE in context.rules and not is_spared


def remove_dummies(context: Context, verdicts: Verdicts, removal: Removal) -> None:
    """Graph rewrites that train nothing go, with what only they read."""
    for wrap, verdict in verdicts.left.items():
        if verdict.rule == DUMMY_RULE and is_carried(context, wrap):
            statement = context.index.statement(wrap)
            symbol = vocabulary.GRAPH_REWRITE
            if context.report(DUMMY_RULE, wrap, status=Status.MIGRATED, symbol=symbol):
                removal.statement(statement)


def around(context: Context, code: str, use: ast.AST) -> str:
    """Source of a configuration of the NPU with the precision of its program set.

    ``code`` is the source of a ``ConfigProto`` or ``RunConfig`` that new code at ``use`` makes.
    """
    mode = _mode(context, use)
    if mode is None:
        return code
    setter = context.local(vocabulary.SET_PRECISION_MODE, use)
    return f"{setter}({code}, {mode})" if mode else f"{setter}({code})"


def _mode(context: Context, use: ast.AST) -> Optional[str]:
    """Source of the mode: ``None`` for none, empty where the runtime finds it."""
    if context.options.precision_mode:
        return repr(context.options.precision_mode).replace("'", '"')
    program = context.run.precision_of(context.index.module)
    found = [switch for switch in program.switches if not _is_suppressed(context, switch)]
    if not found:
        return None
    mixed = f'"{MIXED_FLOAT16}"'
    if _is_set_before(context, use):
        return mixed
    fixed = [switch for switch in found if not switch.followed]
    tests = _tests(context, fixed, use)
    if "" in tests:
        return mixed
    if tests:
        return f"{mixed} if {' or '.join(tests)} else None"
    return "" if len(fixed) < len(found) else None


def _is_suppressed(context: Context, switch: PrecisionSwitch) -> bool:
    """Whether a switch of this file is not to be carried over."""
    rule = context.rules.get(SWITCH_RULE)
    here = switch.module == context.index.module
    return here and rule is not None and context.suppressions.suppress(rule.code, switch.line)


def _tests(context: Context, fixed: List[PrecisionSwitch], use: ast.AST) -> List[str]:
    """Source, where ``use`` stands, of the conditions of switches that can't be followed."""
    conditions = Conditions(context.index, Optimizers(context.index))
    told = [(switch, _test(conditions, switch, use)) for switch in fixed]
    tests = list(dict.fromkeys(test for _, test in told if test is not None))
    unseen = [switch for switch, test in told if test is None]
    if unseen and "" not in tests and not _is_asked(context, use):
        context.without_precision.add(use)
        where = ", ".join(f"{context.run.paths[s.module]}:{s.line}" for s in unseen)
        asked = " or ".join(tests)
        context.report(
            "precision-not-visible",
            use,
            where=where,
            also="also " if asked else "",
            besides=f"; this configuration gets it only where {asked}" if asked else "",
        )
    return tests


def _is_asked(context: Context, use: ast.AST) -> bool:
    """Whether it is known or reported when ``use`` gets mixed precision.

    A switch that stands above it in the same function says so, and the runtime follows it.
    """
    region = context.index.region(use)
    return use in context.without_precision or any(
        switch.followed
        and context.index.region(switch.node) is region
        and switch.node.lineno < use.lineno  # type: ignore[attr-defined]
        for switch in switches(context.index)
    )


def _test(conditions: Conditions, switch: PrecisionSwitch, use: ast.AST) -> Optional[str]:
    return conditions.at(switch.condition, use) if switch.condition.known else None


def _is_set_before(context: Context, use: ast.AST) -> bool:
    """Whether the environment always has mixed precision on when ``use`` runs."""
    return any(
        literal(setting.value) == "1"
        and context.dominates(context.index.statement(setting.node), use)
        for setting in settings(context.index, VARIABLES)
    )


def is_set(context: Context, config: ast.expr) -> bool:
    """Whether a configuration has its precision set already, or its file sets one by hand."""
    producers = context.index.producers(config)
    is_made = any(context.calls_to(p, vocabulary.SET_PRECISION_MODE) for p in producers)
    return is_made or sets_parameter(context.index)
