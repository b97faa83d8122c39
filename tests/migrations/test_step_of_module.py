"""The global step of scripts that train outside of any function."""

from textwrap import indent

import pytest
from step_forms import HEAD_OF_MODULE, STEP_OF_MODULE
from support import OWN_CLASS, migrate, with_tf

FETCHES = "def report(sess):\n  return sess.run('step_update:0')\n"
PLACES = ["", 'if __name__ == "__main__":\n', "with tf.Graph().as_default():\n"]


def script(place=""):
    body = HEAD_OF_MODULE + STEP_OF_MODULE
    return with_tf(OWN_CLASS + "\n\n" + place + (indent(body, "  ") if place else body))


def code(text):
    lines = [line.strip() for line in text.replace('"', "'").splitlines()]
    return [line for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("place", PLACES)
def test_step_logic_of_a_module_goes_whole(place):
    outcome = migrate({"train.py": script(place)})
    lines = code(outcome.texts["train.py"])
    assert outcome.left == []
    assert not any("new_step" in line or "finite" in line for line in lines)
    assert "train_op = opt.apply_gradients(gvs, global_step=gs)" in lines


@pytest.mark.parametrize("place", PLACES)
def test_name_that_is_fetched_is_made_once(place):
    outcome = migrate({"train.py": script(place), "report.py": FETCHES})
    made = [line for line in code(outcome.texts["train.py"]) if "name='step_update'" in line]
    assert made == ["step_update = tf.identity(gs.read_value(), name='step_update')"]


def test_names_that_another_file_may_import_stay_and_the_step_is_left_to_a_person():
    outcome = migrate({"train.py": script(), "report.py": "from train import new_step\n" + FETCHES})
    lines = code(outcome.texts["train.py"])
    assert outcome.left != []
    assert sum("name='step_update'" in line for line in lines) == 1
    assert "train_op = tf.group(train_op, [gs.assign(new_step)])" in lines
