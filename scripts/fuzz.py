"""Searches for scripts that break a promise of the rewriter: mutated real ones, and generated ones.

    python scripts/fuzz.py --minutes 30 samples path/to/other/scripts

Prints each script that breaks one, cut down, and how many were tried; exit code 1 if there are any.
The tests under tests/properties do the same for a few scripts.
"""

import argparse
import pathlib
import random
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "properties")]

from hypothesis import HealthCheck, Phase, Verbosity, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from promises import check  # noqa: E402
from script_mutations import mutate  # noqa: E402
from writer import projects, scripts  # noqa: E402

LARGEST = 60_000
"""Bytes of a script; what takes seconds each would leave few to try."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--generated", type=float, default=0.3, help="share of generated scripts")
    options = parser.parse_args()
    corpus = list(read(options.folders))
    end = time.monotonic() + 60 * options.minutes
    print(f"seed {options.seed}; {len(corpus)} scripts", flush=True)
    counts, broken, seed = {"mutated": 0, "generated": 0}, 0, options.seed
    while time.monotonic() < end:
        seed += 1
        if random.Random(seed).random() < options.generated / 10:
            counts["generated"] += 10
            broken += not generated(seed)
        else:
            counts["mutated"] += 1
            broken += not mutated(corpus, seed)
    tried = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(f"{tried}; {broken} broke a promise")
    return 1 if broken else 0


def read(folders):
    """The scripts below the folders that parse and are no giants."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            try:
                text = path.read_text()
                compile(text, str(path), "exec", dont_inherit=True)
                check({"train.py": text.encode()})
            except (SyntaxError, ValueError, OSError):
                continue
            except Exception:
                print(f"{path} breaks a promise as it is")
                continue
            if 100 < len(text) < LARGEST:
                yield path, text


def mutated(corpus, seed):
    """Whether the promises hold for a script of the corpus, mutated."""
    chance = random.Random(seed)
    path, text = chance.choice(corpus)
    new, done = mutate(text, chance)
    try:
        check({"train.py": new.encode()})
        return True
    except Exception:
        tell(f"seed {seed}: {path} after {', '.join(done)}")
        found = pathlib.Path(f"broken_{seed}.py")
        found.write_text(shrunk(new))
        print(f"cut down in {found}", flush=True)
        return False


def generated(seed):
    """Whether the promises hold for ten generated runs."""

    @settings(
        max_examples=10,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(projects(), scripts().map(lambda script: {"train.py": script})))
    def run(files):
        check({path: script.data for path, script in files.items()})

    try:
        from hypothesis import seed as with_seed

        with_seed(seed)(run)()
        return True
    except Exception:
        tell(f"seed {seed}: a generated run")
        return False


def shrunk(text):
    """A smaller script that breaks a promise, by leaving out lines."""
    lines = text.splitlines(True)
    size = max(1, len(lines) // 2)
    while size:
        place = 0
        while place < len(lines):
            fewer = lines[:place] + lines[place + size :]
            if breaks("".join(fewer)):
                lines = fewer
            else:
                place += size
        size //= 2
    return "".join(lines)


def breaks(text):
    try:
        compile(text, "shrunk", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    try:
        check({"train.py": text.encode()})
    except Exception:
        return True
    return False


def tell(what):
    print(f"---- {what}\n{traceback.format_exc()[-3000:]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
