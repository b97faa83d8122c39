"""What one file tells the others of its run, small enough to outlive its tree."""

from dataclasses import dataclass, field
from typing import Dict, FrozenSet, Iterable, Mapping, Tuple

from npu_migrate.migrations.vocabulary import is_keras_optimizer
from npu_migrate.names import Exports, Project


@dataclass(frozen=True)
class ClassFacts:
    """A class, as far as the global step is concerned."""

    name: str
    bases: Tuple[str, ...]
    behaviour: str
    inner: Tuple[str, ...] = ()
    """The classes of the optimizers that it makes itself and hands the step to."""

    def handed(self, inside: Tuple[str, ...]) -> Tuple[str, ...]:
        """The classes that the step is handed to; ``inside`` are those of the arguments."""
        return self.inner or inside if self.behaviour == "hands inside" else self.bases


@dataclass(frozen=True)
class OriginFacts:
    """An innermost optimizer of a training function: its class, and the optimizers handed to it."""

    name: str
    inside: Tuple[str, ...] = ()


@dataclass(frozen=True)
class ScalingFunction:
    """A function that returns a loss-scaling optimizer."""

    name: str
    passed: Tuple[Tuple[int, str], ...]
    """Position and name of the parameters whose optimizer it wraps."""
    origins: Tuple[str, ...]
    """The classes of the optimizers that it makes and wraps itself."""


@dataclass(frozen=True)
class RegionFacts:
    """A function (or module body) that builds a training op."""

    name: str
    origins: Tuple[OriginFacts, ...]
    scaled: bool
    moves_outside: bool
    decidable: bool
    ordered: bool = False
    """Every move outside waits for the update."""
    conditional: bool = False
    """The step moves outside only on a condition, so that some of the optimizers must move it."""


@dataclass(frozen=True)
class Handed:
    """An argument of a call that is a module, or a parameter of the function that calls."""

    at: str
    """A keyword, or a position as text."""
    module: str = ""
    parameter: Tuple[str, str] = ("", "")


@dataclass(frozen=True)
class CallFacts:
    """A call of a function of the run that hands over modules or parameters."""

    callee: str
    offset: int
    """Parameters of the callee that are bound already (``self``)."""
    handed: Tuple[Handed, ...]


@dataclass(frozen=True)
class NameFacts:
    """The names that a file offers and hands over; read before anything is linked."""

    module: str
    exports: Exports
    calls: Tuple[CallFacts, ...] = ()
    functions: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    """Function -> the names of its positional parameters."""
    scaling_functions: Tuple[ScalingFunction, ...] = ()
    uses_horovod: bool = False
    scales_by_object: bool = False
    """Has optimizers that get a manager, and with it a variable, in place of an object."""
    switches: FrozenSet[str] = frozenset()
    """What it switches on for its whole program, such as mixed precision."""
    scales_by_hand: bool = False
    keeps_strategy: bool = False
    """Hands on a strategy of ``tf.distribute``, which then stays."""
    bases: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    """Class -> the classes that it is derived from."""
    returned: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)
    """Function -> what makes the values that it returns, where it trains."""
    called: FrozenSet[str] = frozenset()
    """The qualified names of what is called."""
    keras_trainers: FrozenSet[str] = frozenset()
    """Functions and classes at the top of the module that train through Keras."""
    main_mentions: FrozenSet[str] = frozenset()
    """Names of other files that a file with ``if __name__ == "__main__":`` mentions."""


@dataclass(frozen=True)
class Reference:
    """What a name in a condition stands for; of a parameter, how calls hand it over."""

    meaning: str
    function: str = ""
    position: int = -1
    parameter: str = ""
    default: str = ""
    """Source of the parameter's default."""


@dataclass(frozen=True)
class Condition:
    """A test, with ``$0``, ``$1`` ... for the names in it; without a test it always holds."""

    test: str = ""
    references: Tuple[Reference, ...] = ()
    known: bool = True


@dataclass(frozen=True)
class PrecisionSwitch:
    """A place that switches TensorFlow's automatic mixed precision on."""

    module: str
    line: int
    followed: bool = False
    """Whether a session can see it when it is made: in the environment or its configuration."""
    condition: Condition = Condition()


@dataclass(frozen=True)
class SessionFacts:
    """What a file does with sessions and the precision that they compute in."""

    module: str = ""
    configures: bool = False
    """It makes sessions, or configurations of sessions, which can carry the precision."""
    sets_precision: bool = False
    """It says in which precision the NPU computes."""
    switches: Tuple[PrecisionSwitch, ...] = ()
    trains: bool = False
    scales: bool = False
    """It scales a loss, by an optimizer or by hand."""
    npu_configs: Tuple[str, ...] = ()
    """The functions and variables that give a configuration of the NPU."""


@dataclass(frozen=True)
class ProgramPrecision:
    """What the files that run together say of the precision."""

    switches: Tuple[PrecisionSwitch, ...] = ()
    configured: bool = False
    is_set: bool = False
    trains: bool = False
    scales: bool = False

    @property
    def goes_with_scaling(self) -> bool:
        """Whether a switch goes when the loss scaling is migrated, and no later run can see it."""
        return not self.is_set and any(not switch.followed for switch in self.switches)

    @property
    def lacks_scaling(self) -> bool:
        """Whether a loss is trained on that nothing scales."""
        return self.trains and not self.scales


@dataclass(frozen=True)
class StepFacts:
    """What a file does with optimizers, the global step and sessions; once names are linked."""

    module: str
    classes: Tuple[ClassFacts, ...] = ()
    regions: Tuple[RegionFacts, ...] = ()
    sessions: SessionFacts = SessionFacts()
    adds_scaling: bool = False
    """Some of its optimizers get a loss scale that they did not have."""
    keeps_horovod: bool = False
    """It uses of Horovod what has no counterpart, and so stays on Horovod."""


@dataclass(frozen=True)
class RunFacts:
    """What is known of a whole run once every file has been read."""

    project: Project = field(default_factory=Project)
    """The names of all files."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Module -> its file, of those that may hold something to migrate."""
    training: FrozenSet[str] = frozenset()
    """Modules that may hold loss scaling, averaging over ranks or a moved global step."""
    classes: Mapping[str, ClassFacts] = field(default_factory=dict)
    scaling_functions: Mapping[str, ScalingFunction] = field(default_factory=dict)
    moving: FrozenSet[str] = frozenset()
    """Optimizer classes whose ``apply_gradients`` shall move the step."""
    ordered: FrozenSet[str] = frozenset()
    """Those whose callers moved the step after the update, so that it read the old value."""
    horovod: FrozenSet[str] = frozenset()
    """Modules of programs that use Horovod."""
    embeddings: FrozenSet[str] = frozenset()
    """Modules of programs that look embeddings up, whose gradients are sparse."""
    taken: FrozenSet[str] = frozenset()
    """Names that one file of the run takes from another."""
    imported: FrozenSet[str] = frozenset()
    """Modules that another file of the run imports."""
    makes_loss_scale_variable: bool = False
    """Whether some loss-scale object becomes a manager, whose variable is called ``loss_scale``."""
    fetches: FrozenSet[str] = frozenset()
    keras_trainers: FrozenSet[str] = frozenset()
    """Functions and classes that train through Keras."""
    with_keras: FrozenSet[str] = frozenset()
    """The modules that train through Keras, and those that import them."""
    keras_reached: FrozenSet[str] = frozenset()
    """The trainers that another file of the run runs as a program."""
    switches: Mapping[str, FrozenSet[str]] = field(default_factory=dict)
    """Switch -> the modules of the programs that turn it on."""
    closed: FrozenSet[str] = frozenset()
    """Names on which some file calls ``close``."""
    loss_scale: str = ""
    """The loss scale to add to programs that have none: ``dynamic`` or a number."""
    strategies: FrozenSet[str] = frozenset()
    """Modules of programs in which a strategy of ``tf.distribute`` stays."""
    scaling: FrozenSet[str] = frozenset()
    """Modules of programs that scale their loss already, by an optimizer or by hand."""
    scaling_on_npu: FrozenSet[str] = frozenset()
    """Those of them that do so only by optimizers of the NPU."""
    optimizer_classes: FrozenSet[str] = frozenset()
    """Classes of the run that are optimizers of TensorFlow's kind."""
    keras_optimizers: FrozenSet[str] = frozenset()
    """Classes of the run that are optimizers of Keras, and functions that give one."""
    precision: Mapping[str, ProgramPrecision] = field(default_factory=dict)
    """Module -> what the programs that it is a part of say of the precision."""
    npu_configs: FrozenSet[str] = frozenset()
    """Functions and variables of the run that give a configuration of the NPU."""

    def precision_of(self, module: str) -> ProgramPrecision:
        """What the programs that a module is a part of say of the precision."""
        return self.precision.get(module, ProgramPrecision())

    def trains(self, module: str) -> bool:
        """Whether a module may hold loss scaling, averaging over ranks or a moved global step."""
        return module in self.training

    def uses_horovod(self, module: str) -> bool:
        """Whether the program that a module belongs to averages gradients by Horovod."""
        return module in self.horovod

    def has_embeddings(self, module: str) -> bool:
        """Whether the program that a module belongs to has sparse gradients."""
        return module in self.embeddings

    def has_switch(self, module: str, switch: str) -> bool:
        """Whether the program that a module belongs to turns a switch on."""
        return module in self.switches.get(switch, ())

    def adds_scaling(self, module: str) -> bool:
        """Whether loss scaling is to be added to the program that a module belongs to."""
        return bool(self.loss_scale) and module not in self.scaling

    def names_keras_trainers(self, module: str) -> bool:
        """Whether a module may name something that trains through Keras in another one."""
        return bool(self.keras_trainers) and module in self.with_keras

    def is_keras_optimizer(self, name: str) -> bool:
        """Whether a name makes an optimizer of Keras."""
        return name in self.keras_optimizers or is_keras_optimizer(name)

    def takes_no_step(self, name: str) -> bool:
        """Whether a class's ``apply_gradients`` has no parameter for the step."""
        return name in self.classes and self.classes[name].behaviour == "takes no step"

    def moves_step(self, name: str, inside: Tuple[str, ...] = ()) -> str:
        """Whether an optimizer class moves the step: ``yes``, ``no`` or ``unknown``."""
        return moves_step(name, inside, self.classes, self.moving)


def moves_step(
    name: str,
    inside: Tuple[str, ...],
    classes: Mapping[str, ClassFacts],
    moving: FrozenSet[str] = frozenset(),
    seen: FrozenSet[str] = frozenset(),
) -> str:
    """Whether an optimizer class moves the step that it is handed."""
    if name.startswith("tensorflow."):
        return "yes"
    if name in moving:
        return "yes"
    facts = classes.get(name)
    if facts is None or name in seen:
        return "unknown"
    if facts.behaviour == "moves":
        return "yes"
    if facts.behaviour == "leaves":
        return "no"
    if facts.behaviour in ("takes no step", "unclear"):
        return "unknown"
    further: Dict[str, None] = {}
    names = facts.handed(inside)
    for other in names:
        if other not in ("builtins.object", ""):
            further[moves_step(other, (), classes, moving, seen | {name})] = None
    return next(iter(further)) if len(further) == 1 else "unknown"


def responsible(
    name: str,
    inside: Tuple[str, ...],
    classes: Mapping[str, ClassFacts],
    seen: FrozenSet[str] = frozenset(),
) -> FrozenSet[str]:
    """The classes whose own code decides whether ``name`` moves the step."""
    facts = classes.get(name)
    decides = ("moves", "leaves", "takes no step", "unclear")
    if facts is None or facts.behaviour in decides or name in seen:
        return frozenset((name,))
    others = [n for n in facts.handed(inside) if n not in ("builtins.object", "", name)]
    found: FrozenSet[str] = frozenset().union(
        *(responsible(other, (), classes, seen | {name}) for other in others)
    )
    return found or frozenset((name,))


def some_move_it(origins: Iterable[OriginFacts], classes: Mapping[str, ClassFacts]) -> bool:
    """Whether some of the optimizers move the step already, so that the caller must tell."""
    return any(moves_step(o.name, o.inside, classes) == "yes" for o in origins)
