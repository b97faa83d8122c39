"""The plan of one file: every migration in its order."""

from npu_migrate.migrations import fetches, known_failures, signs, table
from npu_migrate.migrations.context import Context
from npu_migrate.migrations.distributed import distribution, strategies
from npu_migrate.migrations.distributed.distribution import Distribution, beyond_the_adapter
from npu_migrate.migrations.distributed.nesting import Nesting
from npu_migrate.migrations.gpu import gpu_packages, requirements
from npu_migrate.migrations.gpu.devices import Devices
from npu_migrate.migrations.gpu.gpu_pinning import GpuPinning
from npu_migrate.migrations.gpu.gpu_questions import GpuQuestions
from npu_migrate.migrations.imports import drop_unused
from npu_migrate.migrations.loss_scale import class_values
from npu_migrate.migrations.loss_scale.added_scaling import AddedScaling
from npu_migrate.migrations.loss_scale.finite_checks import FiniteChecks
from npu_migrate.migrations.loss_scale.gradients import Gradients
from npu_migrate.migrations.loss_scale.hand_migrated import HandMigrated
from npu_migrate.migrations.loss_scale.loss_scaling import LossScaling
from npu_migrate.migrations.loss_scale.several_optimizers import SeveralOptimizers
from npu_migrate.migrations.loss_scale.subclasses import Subclasses
from npu_migrate.migrations.loss_scale.training_optimizers import TrainingOptimizers
from npu_migrate.migrations.optimizers import Optimizers
from npu_migrate.migrations.removal import Removal
from npu_migrate.migrations.replacements import batch_shapes, dropout, gelu
from npu_migrate.migrations.session import precision, xla
from npu_migrate.migrations.session.estimators import Estimators
from npu_migrate.migrations.session.keras import Keras
from npu_migrate.migrations.session.sessions import Sessions
from npu_migrate.migrations.step.global_step import GlobalStep
from npu_migrate.migrations.step.step_moves import StepMoves
from npu_migrate.migrations.step.steps import Steps
from npu_migrate.migrations.table import Table
from npu_migrate.migrations.unsupported import eager, processes, unresolved, wide_types
from npu_migrate.migrations.unsupported.host import Host
from npu_migrate.plan import Plan


def plan_file(context: Context, tabled: Table) -> Plan:
    """Findings and edits for one file of a linked run."""
    training = TrainingOptimizers(context.index, context.run)
    optimizers = Optimizers(context.index, context.run.scaling_functions, training.to_scale)
    host = Host(context.index)
    staying = []
    if context.run.trains(context.index.module):
        staying = beyond_the_adapter(context.index, context.run)
        _plan_training(context, optimizers, training, host, bool(staying))
    elif context.shows(signs.GPU_PINNING):
        GpuPinning(context).run(horovod_stays=False)
    if context.shows(signs.ESTIMATORS):
        Estimators(context, optimizers).run()
    if context.shows(signs.STRATEGIES):
        strategies.run(context, optimizers)
    if context.shows(signs.DEVICES):
        Devices(context, optimizers).run()
    if context.shows(signs.GPU_PINNING):
        GpuQuestions(context).report()
    names_trainers = context.run.names_keras_trainers(context.index.module)
    if names_trainers or context.shows(signs.KERAS_TRAINING):
        Keras(context, optimizers).run()
    if context.shows(signs.WIDE_TYPES):
        wide_types.run(context, host)
    if context.shows(signs.EAGER):
        eager.run(context)
    if context.shows(signs.GPU_PACKAGES):
        gpu_packages.run(context)
    if context.shows(signs.PROCESSES):
        processes.run(context)
    if context.shows(signs.REQUIREMENTS):
        requirements.run(context)
    if context.shows(signs.SESSIONS):
        Sessions(context, optimizers).run()
    if context.shows(signs.LOSS_SCALING):
        unresolved.run(context)
        fetches.run(context)
    if context.shows(signs.PRECISION):
        precision.run(context)
    known_failures.run(context, optimizers, host)
    dropout.run(context)
    gelu.run(context)
    batch_shapes.run(context, optimizers)
    if context.shows(signs.XLA):
        xla.run(context)
    table.run(context, tabled)
    distribution.keep_uses(context, staying)
    context.restore_spared()
    context.plan.edits += drop_unused(context)
    context.plan.edits += context.imports()
    return context.plan


def _plan_training(
    context: Context,
    optimizers: Optimizers,
    training: TrainingOptimizers,
    host: Host,
    horovod_stays: bool,
) -> None:
    """Loss scaling, averaging over ranks and the global step, which depend on each other."""
    steps = Steps(context.index, optimizers)
    moves = StepMoves(context.index, optimizers, steps, context.run)
    nesting = Nesting(context, optimizers, can_move=not horovod_stays)
    scaling = LossScaling(context, optimizers, nesting)
    scaling.run()
    AddedScaling(context, optimizers, training, scaling).run()
    GpuPinning(context).run(horovod_stays)
    Distribution(context, optimizers, nesting, scaling).run()
    subclasses = Subclasses(context)
    subclasses.run()
    removal = Removal(context)
    precision.remove_dummies(context, scaling.verdicts, removal)
    checks = FiniteChecks(context, optimizers, removal, subclasses.reported)
    checks.guards()
    step = GlobalStep(context, optimizers, moves, removal)
    step.run()
    removal.finish()
    step.report_left()
    Gradients(context, optimizers).run()
    SeveralOptimizers(context, optimizers, steps.paths).run()
    HandMigrated(context, optimizers).run()
    checks.report_left()
    checks.report_elsewhere(host)
    if context.shows(signs.LOSS_SCALING):
        class_values.run(context)
