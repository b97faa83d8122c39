"""The precision of the NPU: where a script had mixed precision, its sessions get it."""

import ast
from typing import List, Optional

from npu_migrate.facts import PrecisionSwitch
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.context import Context, argument, place_of
from npu_migrate.migrations.environment import settings
from npu_migrate.migrations.loss_scale.verdicts import Verdicts
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.removal import Removal
from npu_migrate.migrations.session.conditions import Conditions, never_holds
from npu_migrate.migrations.session.precision_switches import (
    VARIABLES,
    is_off,
    sets_parameter,
    switches,
)
from npu_migrate.names import is_none, literal
from npu_migrate.plan import Argument, EditCall, Status
from npu_migrate.precision_modes import MIXED_FLOAT16

SESSION_RULE = "session-config"
CARRIERS = (SESSION_RULE, "estimator-config", "tpu-estimator")
"""Rules whose changes carry the precision."""
OPEN_RULE = "precision-not-visible"
OPEN = "None"
"""The mode that a person has to put a condition in for."""
MIXED = f'"{MIXED_FLOAT16}"'
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
    _left_open(context)
    _loss_scaling(context)


def _left_open(context: Context) -> None:
    """Report where an earlier run has left the precision to a person."""
    asked_for = context.options.precision_mode
    for call in context.index.calls:
        mode = argument(call, 1, "mode")
        if mode is None or not is_none(mode):
            continue
        if not context.calls_to(call, vocabulary.SET_PRECISION_MODE):
            continue
        if asked_for:
            change = Argument(place_of(call, mode), _quoted(asked_for))
            context.report(SESSION_RULE, call, EditCall(call, "", (change,)))
        else:
            context.report(OPEN_RULE, call, where="another place")


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
    for mode in _modes(context, use):
        setter = context.local(vocabulary.SET_PRECISION_MODE, use)
        code = f"{setter}({code}, {mode})" if mode else f"{setter}({code})"
    return code


def _modes(context: Context, use: ast.AST) -> List[str]:
    """Sources of the modes to set, one after the other; empty where the runtime finds it."""
    if context.options.precision_mode:
        return [_quoted(context.options.precision_mode)]
    program = context.run.precision_of(context.index.module)
    found = [switch for switch in program.switches if not _is_suppressed(context, switch)]
    fixed = [switch for switch in found if not switch.followed]
    if found and _is_set_before(context, use):
        return [MIXED]
    conditions = Conditions(context.index, Optimizers(context.index))
    told = [(switch, _test(conditions, switch, use)) for switch in fixed]
    tests = [test for _, test in told if test is not None and not never_holds(test)]
    tests = list(dict.fromkeys(tests))
    unseen = [switch for switch, test in told if test is None]
    if "" in tests:
        return [MIXED]
    modes = [f"{MIXED} if {' or '.join(tests)} else {OPEN}"] if tests else []
    if unseen and not _is_followed(context, use):
        _report_open(context, use, unseen, " or ".join(tests))
        return [OPEN, *modes]
    return modes or ([""] if len(fixed) < len(found) else [])


def _report_open(context: Context, use: ast.AST, unseen: List[PrecisionSwitch], asked: str) -> None:
    """Leave the precision to a person, whom a later run reminds of it."""
    context.report(
        OPEN_RULE,
        use,
        where=", ".join(f"{context.run.paths[s.module]}:{s.line}" for s in unseen),
        also="also " if asked else "",
        besides=f"; this configuration gets it only where {asked}" if asked else "",
    )


def _quoted(mode: str) -> str:
    return f'"{mode}"'


def _is_suppressed(context: Context, switch: PrecisionSwitch) -> bool:
    """Whether a switch of this file is not to be carried over."""
    rule = context.rules.get(SWITCH_RULE)
    here = switch.module == context.index.module
    return here and rule is not None and context.suppressions.suppress(rule.code, switch.line)


def _is_followed(context: Context, use: ast.AST) -> bool:
    """Whether a switch above ``use`` in its function says what the runtime is to follow."""
    region = context.index.region(use)
    return any(
        switch.followed
        and context.index.region(switch.node) is region
        and switch.node.lineno < use.lineno  # type: ignore[attr-defined]
        for switch in switches(context.index)
    )


def _test(conditions: Conditions, switch: PrecisionSwitch, use: ast.AST) -> Optional[str]:
    return conditions.at(switch.condition, use) if switch.condition.known else None


def _is_set_before(context: Context, use: ast.AST) -> bool:
    """Whether the environment always has mixed precision on when ``use`` runs."""
    return any(context.dominates(statement, use) for statement in context.once(_switching_on))


def _switching_on(context: Context) -> List[ast.stmt]:
    """The statements that switch mixed precision on in the environment."""
    found = settings(context.index, VARIABLES)
    return [context.index.statement(s.node) for s in found if literal(s.value) == "1"]


def is_set(context: Context, config: ast.expr) -> bool:
    """Whether a configuration has its precision set already, or its file sets one by hand."""
    producers = context.index.producers(config)
    is_made = any(context.calls_to(p, vocabulary.SET_PRECISION_MODE) for p in producers)
    return is_made or sets_parameter(context.index)
