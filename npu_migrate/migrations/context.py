"""What the migrations of one file share: the index, the rules, and the plan that they fill."""

import ast
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
    Union,
)

from npu_migrate.facts import RunFacts
from npu_migrate.migrations import vocabulary
from npu_migrate.migrations.signs import Signs, Text
from npu_migrate.migrations.unsupported.branches import never_taken
from npu_migrate.names import FUNCTIONS, Binding, Index, dotted
from npu_migrate.options import Options
from npu_migrate.plan import AddImport, Edit, Finding, InsertStatements, Plan, Status
from npu_migrate.rules import Rule
from npu_migrate.selection import is_coupled
from npu_migrate.sources import decode
from npu_migrate.suppressions import Suppressions

Found = TypeVar("Found")

_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Wanted:
    """A name that new code uses, and the place that uses it."""

    target: str
    local: str
    use: ast.AST


@dataclass
class Context:
    """One file on its way to a plan."""

    path: str
    index: Index
    rules: Dict[str, Rule]
    """Rules by name; those that are not judged are absent."""
    run: RunFacts
    options: Options
    data: bytes
    """The source, and the text that is code in it."""
    text: Text
    suppressions: Suppressions = Suppressions()
    plan: Plan = field(default_factory=Plan)
    wanted: List[Wanted] = field(default_factory=list)
    gone: Set[ast.AST] = field(default_factory=set)
    """Nodes that no longer stand in the file once the plan is carried out."""
    staying: Set[ast.AST] = field(default_factory=set)
    """Names of managers that stay those of ``tf.contrib``, with the optimizers that take them."""
    kept: Set[ast.AST] = field(default_factory=set)
    """Parts of what is gone that stand in another place."""
    claimed: Set[str] = field(default_factory=set)
    """Names that new code binds."""
    needed: Set[str] = field(default_factory=set)
    """Names that new code reads."""
    recreated: Set[str] = field(default_factory=set)
    """Names of tensors that are made anew elsewhere."""
    spared: List[ast.AST] = field(default_factory=list)
    """Nodes that would have been edited, had nothing held the edit back."""
    _lines: Optional[List[str]] = None
    _done: Dict[object, Any] = field(default_factory=dict)

    def report(
        self,
        rule: str,
        node: ast.AST,
        *edits: Edit,
        status: Optional[Status] = None,
        symbol: str = "",
        assumed: bool = False,
        **details: object,
    ) -> bool:
        """Add a finding at ``node`` with its edits; false where the rule is not judged there."""
        if rule not in self.rules:
            return False
        chosen = self.rules[rule]
        name = getattr(node, "name", "") if isinstance(node, ast.stmt) else ""
        symbol = symbol or dotted(getattr(node, "func", node)) or str(name or "")
        known = {"symbol": symbol, "name": symbol.rpartition(".")[2], "target": chosen.target}
        details = defaultdict(str, {**known, **details})
        status = chosen.status if status is None else status
        message = chosen.message.format_map(details)
        if status is Status.UNSUPPORTED and never_taken(self.index, node):
            status, assumed = Status.NOTE, True
            message += ", on a branch that is not taken on the NPU"
        finding = Finding(
            code=chosen.code,
            name=chosen.name,
            path=self.path,
            line=getattr(node, "lineno", 1),
            column=self._column(node),
            symbol=symbol.lstrip(":"),
            status=status,
            message=message,
            assumed=assumed,
            remedy=chosen.remedy.format_map(details) if status.is_left else "",
        )
        if not self.judges(rule, node):
            self.plan.suppressed.append(finding)
            self.spared += [part for part in map(_edited, edits) if part is not None]
            return False
        self.plan.add(finding, *edits)
        return True

    def judges(self, rule: str, node: ast.AST) -> bool:
        """Whether a rule is judged at a place.

        What is suppressed is not, unless it belongs to a whole: then that is judged first.
        """
        chosen = self.rules.get(rule)
        if chosen is None:
            return False
        line = getattr(node, "lineno", 1)
        return is_coupled(chosen.code) or not self.suppressions.suppress(chosen.code, line)

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the file, which few files are asked for."""
        if self._lines is None:
            text = decode(self.data, self.path)
            self._lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
        return self._lines

    def _column(self, node: ast.AST) -> int:
        """Columns are UTF-8 bytes in ``ast``; people count characters."""
        line = getattr(node, "lineno", 1)
        offset = max(getattr(node, "col_offset", 0), 0)
        lines = self.lines
        text = lines[line - 1] if line <= len(lines) else ""
        return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1

    def once(self, work: Callable[["Context"], Found]) -> Found:
        """What some work finds in the file, which is done once, whoever asks for it."""
        if work not in self._done:
            self._done[work] = work(self)
        found: Found = self._done[work]
        return found

    def shows(self, signs: Signs) -> bool:
        """Whether the text has a sign: a migration without its signs has no work."""
        return self.text.shows(signs)

    def matches(self, rule: str, node: ast.expr) -> bool:
        """Whether a name may be one that a rule matches."""
        return rule in self.rules and self.is_named(node, self.rules[rule].match)

    def calls_matching(self, rule: str) -> List[ast.Call]:
        """The calls of what a rule matches, where it is judged at all."""
        if rule not in self.rules:
            return []
        return self.index.calls_of(frozenset(self.rules[rule].match))

    def is_named(self, node: ast.expr, names: Collection[str]) -> bool:
        """Whether an expression may stand for one of the qualified names."""
        return not self.index.resolve(node).names.isdisjoint(names)

    def calls_to(self, call: object, *names: str) -> bool:
        """Whether a node is a call of one of the qualified names."""
        return isinstance(call, ast.Call) and self.is_named(call.func, names)

    def local(self, target: str, use: ast.AST) -> str:
        """The name under which new code at ``use`` reaches ``target``; imported where needed."""
        for name in self.index.names_of(target):
            if len(self.index.root.bindings[name]) == 1 and self._not_shadowed(name, use):
                return name
        for wanted in self.wanted:
            if wanted.target == target:
                self.wanted.append(Wanted(target, wanted.local, use))
                return wanted.local
        local = self.fresh(target.rpartition(".")[2], prefix="NPU")
        self.claim(local)
        self.wanted.append(Wanted(target, local, use))
        return local

    def known(self, target: str) -> str:
        """The name under which new code already reaches ``target``; its own where none does."""
        for wanted in self.wanted:
            if wanted.target == target:
                return wanted.local
        return next(iter(self.index.names_of(target)), target.rpartition(".")[2])

    def _not_shadowed(self, name: str, use: ast.AST) -> bool:
        reaching = self.index.bindings_at(name, use)
        return bool(reaching) and all(b.scope is self.index.root for b in reaching)

    def fresh(self, name: str, prefix: str = "") -> str:
        """``name``, or a variation of it that nothing in the file binds."""
        while self._is_taken(name):
            name = prefix + name if prefix and not name.startswith(prefix) else name + "_"
        return name

    def numbered(self, name: str) -> str:
        """``name``, or ``name_2`` and so on, kept from being given out again."""
        numbered = (f"{name}_{number}" for number in itertools.count(2))
        free = next(n for n in itertools.chain([name], numbered) if not self._is_taken(n))
        self.claim(free)
        return free

    def claim(self, name: str) -> None:
        """Keep a name that new code binds from being given out again."""
        self.claimed.add(name)

    def _is_taken(self, name: str) -> bool:
        """Whether something in the file binds a name, or new code does."""
        if name in self.claimed:
            return True
        if name in vocabulary.CONTRIB_OFFERED and self.contrib_stars():  # one may have to stay
            return True
        return not all(map(self.gives_way, self.index.bindings_of(name)))

    def contrib_stars(self) -> List[ast.ImportFrom]:
        """The ``from tensorflow.contrib.mixed_precision import *`` of the file."""
        return [
            node
            for node in self.index.imports
            if isinstance(node, ast.ImportFrom)
            and not node.level
            and node.names[0].name == "*"
            and self.index.canonical(f"{node.module}.x") == vocabulary.CONTRIB + "x"
        ]

    def gives_way(self, binding: Binding) -> bool:
        """Whether an import goes in any case, since the NPU's class has the same name."""
        target = self.index.canonical(binding.target)
        if target not in vocabulary.SAME_NAME or not target.endswith("." + binding.name):
            return False
        reads = self.index.reads_of(binding.name)
        return not any(isinstance(read.ctx, ast.Del) or read in self.staying for read in reads)

    def tensorflow(self, use: ast.AST) -> str:
        """The file's own name for the ``tensorflow`` module at ``use``; imported where needed."""
        names = [
            name
            for statement in self.index.imports
            for name in self._names_of_tensorflow(statement)
        ]
        for name in names:
            reaching = self.index.bindings_at(name, use)
            if reaching and all(b.target in vocabulary.TENSORFLOW for b in reaching):
                self.needed.add(name)
                return name
        for wanted in self.wanted:
            if wanted.target == "tensorflow":
                return wanted.local
        local = self.fresh("tf")
        self.claim(local)
        self.wanted.append(Wanted("tensorflow", local, use))
        return local

    def _names_of_tensorflow(self, statement: ast.stmt) -> List[str]:
        """The names that an import gives to the whole of TensorFlow, and not just to a part."""
        return [
            binding.name
            for binding in self.index.statement_bindings(statement)
            if binding.target in vocabulary.TENSORFLOW
            and binding.alias is not None
            and not binding.alias.name.startswith("tensorflow.contrib")
        ]

    def imports(self) -> List[AddImport]:
        """The imports that the new code needs, each where it dominates its uses."""
        found: Dict[Tuple[str, str, Optional[ast.stmt]], AddImport] = {}
        for wanted in self.wanted:
            after = self.anchor(wanted.use)
            key = (wanted.target, wanted.local, after)
            found[key] = _import_of(wanted.target, wanted.local, after)
        return list(found.values())

    def anchor(self, use: ast.AST) -> Optional[ast.stmt]:
        """The import of TensorFlow that stands before ``use`` and whenever ``use`` runs.

        Of an import in a ``try`` it is the whole ``try``, so that a handler for TensorFlow does not
        swallow what is wrong with the NPU's package.
        """
        at_root = [s for s in self._tensorflow_imports() if self._scope_is_root(s)]
        for statement in at_root:
            whole = self._whole(statement)
            if self.dominates(whole, use):
                return whole
        if at_root or self._tops_suffice():
            return None
        for statement in self._tensorflow_imports():
            function = self.index.enclosing_function(statement)
            if function is not None and self.index.inside(use, function):
                whole = self._whole(statement)
                if self.dominates(whole, use):
                    return whole
        return None

    def _whole(self, statement: ast.stmt) -> ast.stmt:
        """The outermost ``try`` around an import in its own function, or the import itself."""
        whole = statement
        for ancestor in self.index.ancestors(statement):
            if isinstance(ancestor, FUNCTIONS + (ast.ClassDef,)):
                break
            if isinstance(ancestor, ast.stmt) and hasattr(ancestor, "handlers"):
                whole = ancestor
        return whole

    def _tops_suffice(self) -> bool:
        return not self._tensorflow_imports()

    def _scope_is_root(self, statement: ast.stmt) -> bool:
        return self.index.places[statement].scope is self.index.root

    def _tensorflow_imports(self) -> List[ast.stmt]:
        """Imports of ``tensorflow`` itself first, then those of parts of it."""
        whole: List[ast.stmt] = []
        parts: List[ast.stmt] = []
        for statement in self.index.imports:
            bindings = self.index.statement_bindings(statement)
            targets = {self.index.canonical(b.target) for b in bindings}
            if "tensorflow" in targets:
                whole.append(statement)
            elif any(target.startswith("tensorflow.") for target in targets):
                parts.append(statement)
        return whole or parts[-1:]

    def dominates(self, statement: ast.stmt, use: ast.AST) -> bool:
        """Whether ``statement`` has always run before ``use`` does."""
        index = self.index
        user = use if isinstance(use, ast.stmt) else index.statement(use)
        around: Dict[ast.AST, ast.AST] = {}
        current: ast.AST = user
        while current in index.parents:
            around[index.parents[current]] = current
            current = index.parents[current]
        place: ast.AST = statement
        while True:
            parent = index.parents[place]
            if parent in around:
                break
            if not _always_enters(parent, place):
                return False
            place = parent
        holder = around[parent]
        if holder is place:
            return index.places[statement].position < index.places[user].position
        if not isinstance(place, ast.stmt) or not isinstance(holder, ast.stmt):
            return False
        if index.places[place].block is not index.places[holder].block:
            return False
        return (
            index.places[place].position < index.places[holder].position
            or index.places[user].scope is not index.places[place].scope
        )

    def discard(self, node: ast.AST) -> None:
        """Note that a node and all in it no longer stand in the file."""
        for inner in ast.walk(node):
            self.gone.add(inner)

    def stands(self, node: ast.AST) -> bool:
        """Whether a node still stands in the file once the plan is carried out."""
        return node not in self.gone

    def keep(self, node: ast.AST) -> None:
        """Note that a part of what was discarded stands in another place."""
        self.kept.add(node)
        for inner in ast.walk(node):
            self.gone.discard(inner)

    def hold(self, uses: Collection[ast.AST], reason: str, remedy: str) -> None:
        """Take the changes back that would take one of some uses away.

        Those that belong to a whole are held with it.
        """
        going = [use for use in uses if self.without(use)]
        around = {holder for use in going for holder in (use, *self.index.ancestors(use))}
        taking = {
            finding
            for number, finding in self.plan.owners.items()
            if _edited(self.plan.edits[number]) in around and not is_coupled(finding.code)
        }
        edits = self.plan.take_back(taking, reason, remedy)
        self.spared += [part for part in map(_edited, edits) if part is not None]

    def restore_spared(self) -> None:
        """Take back that something goes whose edit is held back."""
        for node in self.spared:
            self.gone.difference_update(ast.walk(node))

    def without(self, read: ast.AST) -> bool:
        """Whether a read of a name goes with the part of the file that goes."""
        if not self.gone:
            return False
        for node in (read, *self.index.ancestors(read)):
            if node in self.gone:
                return True
            if node in self.kept:
                return False
        return False

    def is_taken(self, name: str) -> bool:
        """Whether another file of the run takes a name of this one's module."""
        return f"{self.index.module}.{name}" in self.run.taken

    def reads_of_import(self, binding: Binding) -> List[ast.Name]:
        """The reads of what an import binds, by it or by another import that binds the same."""
        same_name = binding.scope.owner(binding.name).bindings.get(binding.name, [binding])
        twins = [twin for twin in same_name if twin.target == binding.target]
        return [read for twin in twins for read in self.index.reads(twin)]


def _always_enters(parent: ast.AST, child: ast.AST) -> bool:
    """Whether running ``parent`` runs the block that holds ``child``."""
    if isinstance(parent, (ast.With, ast.AsyncWith)):
        return True
    return hasattr(parent, "handlers") and child in parent.body  # type: ignore[attr-defined]


def _import_of(target: str, local: str, after: Optional[ast.stmt]) -> AddImport:
    if target == "tensorflow":
        return AddImport(module="tensorflow", asname=local, after=after)
    module, _, name = target.rpartition(".")
    return AddImport(module, name, local if local != name else "", after)


def _edited(edit: Edit) -> Optional[ast.AST]:
    """The part of the file that an edit changes."""
    return None if isinstance(edit, (AddImport, InsertStatements)) else edit.node


def argument(call: ast.Call, position: int, *keywords: str) -> Optional[ast.expr]:
    """The value of an argument given by position or by one of its keywords."""
    for keyword in call.keywords:
        if keyword.arg in keywords:
            return keyword.value
    if position < 0 or any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return None
    return call.args[position] if position < len(call.args) else None


def place_of(call: ast.Call, value: ast.expr) -> Union[int, str]:
    """Where a call has an argument: its keyword, or its position."""
    for keyword in call.keywords:
        if keyword.value is value and keyword.arg is not None:
            return keyword.arg
    return call.args.index(value)


def unpacks(call: ast.Call) -> bool:
    """Whether a call has ``*args`` or ``**kwargs``, whose content can't be seen."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def same(left: Optional[ast.AST], right: Optional[ast.AST]) -> bool:
    """Whether two expressions read the same."""
    return left is not None and right is not None and _shape(left) == _shape(right)


def _shape(node: ast.AST) -> str:
    return ast.dump(node).replace("Store()", "Load()")
