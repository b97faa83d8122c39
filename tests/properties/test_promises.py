"""The promises of the rewriter, for scripts that mix all constructs in all formats."""

import ast
from typing import Dict, List

from hypothesis import given
from hypothesis import strategies as st
from promises import check, run, tree_of
from typeset import Setting, settings, typeset
from writer import Script, codes, plain_codes, projects, scripts


@given(codes())
def test_a_plain_script(code: str) -> None:
    check({"train.py": code.encode()})


@given(scripts())
def test_a_script_in_odd_formats(script: Script) -> None:
    check({"train.py": script.data})


@given(projects())
def test_files_of_one_run(files: Dict[str, Script]) -> None:
    check({path: script.data for path, script in files.items()})


@given(scripts(plain_codes()))
def test_a_script_without_any_construct_stays_as_it_is(script: Script) -> None:
    (result,) = check({"plain.py": script.data}).values()
    assert result.after == script.data
    assert result.findings == ()


@given(projects(), st.randoms(use_true_random=False))
def test_the_order_of_the_files_does_not_matter(files: Dict[str, Script], random: object) -> None:
    paths: List[str] = list(files)
    one = run({path: files[path].data for path in paths})
    random.shuffle(paths)  # type: ignore[attr-defined]
    other = run({path: files[path].data for path in paths})
    assert one == other


# The generator itself ---------------------------------------------------------------------------


@given(codes(), settings())
def test_a_setting_changes_no_code(code: str, setting: Setting) -> None:
    plain, odd = typeset(code, Setting()), typeset(code, setting)
    assert ast.dump(tree_of(odd)) == ast.dump(tree_of(plain))
