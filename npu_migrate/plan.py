"""What was found in a file and what is to be done about it, as plain data.

Nothing here acts. Migrations build a :class:`Plan`; ``rewrite`` carries its edits out; ``reports``
print its findings. Edits point at nodes of the file's own ``ast`` tree.

Templates (``code``) are Python source in which ``$name`` stands for a part of the original source:
an expression of the file, carried over with its formatting and with the edits that lie inside it.
They are written with four spaces a level; the rewriter uses the file's own indentation.
"""

import ast
from dataclasses import dataclass, field
from typing import Container, Dict, List, Mapping, Optional, Tuple, Union

from npu_migrate.findings import Finding as Finding
from npu_migrate.findings import Status as Status
from npu_migrate.findings import place as place

Parts = Mapping[str, ast.expr]


@dataclass(frozen=True)
class ReplaceExpression:
    """Put ``code`` in place of ``node``."""

    node: ast.expr
    code: str
    parts: Parts = field(default_factory=dict)


@dataclass(frozen=True)
class Argument:
    """One change to an argument of a call.

    ``at`` is a position (of the call's positional arguments) or a keyword. With ``code`` empty
    and no ``rename`` the argument is dropped. An argument that the call does not have is added as
    ``at=code``. In ``code``, ``$it`` is the argument's present value.
    """

    at: Union[int, str]
    code: str = ""
    rename: str = ""
    parts: Parts = field(default_factory=dict)


@dataclass(frozen=True)
class EditCall:
    """Change a call's callee (where ``callee`` is not empty) and arguments, keeping its layout."""

    node: ast.Call
    callee: str = ""
    arguments: Tuple[Argument, ...] = ()


@dataclass(frozen=True)
class DropElement:
    """Take ``node`` out of the list, tuple or argument list that holds it.

    A list or tuple that is left empty goes from its own holder in turn.
    """

    node: ast.expr


@dataclass(frozen=True)
class ReplaceStatement:
    """Put the statements of ``code`` in place of ``node``, which keeps its comments.

    A line of ``code`` that is ``$name`` alone, where ``name`` is in ``variants``, stands for a copy
    of the original statement with those edits done to it.
    """

    node: ast.stmt
    code: str
    parts: Parts = field(default_factory=dict)
    variants: Mapping[str, Tuple["Edit", ...]] = field(default_factory=dict)
    keep_commented: bool = False
    """Leave the original above the new statements, commented out."""


@dataclass(frozen=True)
class RemoveStatement:
    """Comment ``node`` out, or delete it; ``pass`` takes the place of a block's last statement."""

    node: ast.stmt
    comment: bool = True


@dataclass(frozen=True)
class InsertStatements:
    """Insert the statements of ``code`` right before or after ``anchor``, at its indentation."""

    anchor: ast.stmt
    code: str
    before: bool = True
    parts: Parts = field(default_factory=dict)


@dataclass(frozen=True)
class MoveStatement:
    """Move ``node``, with its comments, to right before ``before``, at that indentation."""

    node: ast.stmt
    before: ast.stmt


@dataclass(frozen=True)
class AddImport:
    """``from module import name [as asname]``, or ``import module [as asname]`` without a name.

    It stands right after ``after`` (an import of the file), at its indentation; without ``after``
    behind the file's docstring, ``__future__`` imports and leading block of imports. Imports added
    in one place are sorted by module and name and written one name a line.
    """

    module: str
    name: str = ""
    asname: str = ""
    after: Optional[ast.stmt] = None

    @property
    def bound(self) -> str:
        """The name that the import binds."""
        return self.asname or self.name or self.module.partition(".")[0]


@dataclass(frozen=True)
class DropImport:
    """Take one name out of an import statement; the statement goes with its last name."""

    node: Union[ast.Import, ast.ImportFrom]
    alias: ast.alias


@dataclass(frozen=True)
class ReplaceImport:
    """Put ``from module import name [as asname]`` in place of one name of an import statement."""

    node: Union[ast.Import, ast.ImportFrom]
    alias: ast.alias
    module: str
    name: str
    asname: str = ""


Edit = Union[
    ReplaceExpression,
    EditCall,
    DropElement,
    ReplaceStatement,
    RemoveStatement,
    InsertStatements,
    MoveStatement,
    AddImport,
    DropImport,
    ReplaceImport,
]


@dataclass
class Plan:
    """Findings of one file, and the edits that follow from them."""

    findings: List[Finding] = field(default_factory=list)
    edits: List[Edit] = field(default_factory=list)
    owners: Dict[int, Finding] = field(default_factory=dict)
    """Position in ``edits`` -> the finding that it serves, where it serves one."""
    suppressed: List[Finding] = field(default_factory=list)
    """What a person wants neither done nor reported."""

    def add(self, finding: Finding, *edits: Edit) -> None:
        self.findings.append(finding)
        for edit in edits:
            self.owners[len(self.edits)] = finding
            self.edits.append(edit)

    def take_back(self, findings: Container[Finding], reason: str, remedy: str) -> List[Edit]:
        """Leave findings to a person, and return their edits, which are not made."""
        edits = [(edit, self.owners.get(number)) for number, edit in enumerate(self.edits)]
        kept = [(edit, owner) for edit, owner in edits if owner not in findings]
        self.edits = [edit for edit, _ in kept]
        self.owners = {n: owner for n, (_, owner) in enumerate(kept) if owner is not None}
        self.findings = [f.left(reason, remedy) if f in findings else f for f in self.findings]
        return [edit for edit, owner in edits if owner in findings]
