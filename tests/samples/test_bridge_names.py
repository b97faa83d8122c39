"""The migrated samples use only what the vendor's package has."""

import ast

import pytest
from test_migrated import NAMES, SAMPLES
from vendor_signatures import UNCALLED, signature

FILES = [path for name in NAMES for path in sorted((SAMPLES / name / "migrated").rglob("*.py"))]


def _imported(tree):
    """Local name -> the vendor's, of all imports of a file."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("npu_bridge", "hccl"):
            names.update((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name.split(".")[0] not in ("npu_bridge", "hccl"), "not by name"
    return names


def _dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _calls(tree, names):
    """The calls of the vendor's names: the name, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            root, dot, rest = _dotted(node.func).partition(".")
            if root in names:
                yield names[root] + dot + rest, node


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.name}")
def test_imports_and_calls_fit_the_vendor(path):
    tree = ast.parse(path.read_text())
    names = _imported(tree)
    for name in names.values():
        assert name in UNCALLED or signature(name) is not None, f"the vendor has no {name}"
    for name, call in _calls(tree, names):
        expected = signature(name)
        assert expected is not None, f"line {call.lineno}: the vendor has no {name}"
        expected.bind(*call.args, **{keyword.arg: keyword.value for keyword in call.keywords})


def test_the_samples_use_the_vendor():
    used = set()
    for path in FILES:
        used.update(_imported(ast.parse(path.read_text())).values())
    assert {name.rpartition(".")[2] for name in used} >= {
        "ExponentialUpdateLossScaleManager",
        "FixedLossScaleManager",
        "NPUBroadcastGlobalVariablesHook",
        "NPUDistributedOptimizer",
        "NPULossScaleOptimizer",
    }
