"""The promises of the rewriter, for the samples and other scripts after a few random changes."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from promises import check
from script_mutations import mutate

ROOT = Path(__file__).resolve().parents[2]
CORPUS = [path.read_text() for path in sorted((ROOT / "samples").glob("*/original/**/*.py"))]


@given(st.sampled_from(CORPUS), st.randoms(use_true_random=False))
def test_a_mutated_script(text: str, random: object) -> None:
    mutated, _ = mutate(text, random)  # type: ignore[arg-type]
    check({"train.py": mutated.encode()})
