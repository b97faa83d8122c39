"""Functions that compute the tanh form of GELU, whatever they are called, and those that do not."""

from textwrap import dedent, indent

import pytest
from support import migrate, with_tf

NPU5 = {"select": ("NPU5",)}
IMPORT = "from npu_bridge.estimator.npu_unary_ops import npu_unary_ops\n"

FORMS = {
    "BERT": """\
    cdf = 0.5 * (1.0 + tf.tanh(
        (np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3)))))
    return x * cdf
    """,
    "GPT-2": "return 0.5*x*(1+tf.tanh(np.sqrt(2/np.pi)*(x+0.044715*tf.pow(x, 3))))\n",
    "number": "return 0.5 * x * (1 + tf.math.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))\n",
    "short number": "return 0.5 * x * (1 + tf.nn.tanh(0.79788456 * (x + 0.044715 * x ** 3)))\n",
    "factored": "return 0.5 * x * (1 + tf.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))\n",
    "multiplied out": "return x / 2 + x / 2. * tf.tanh(.7978845608 * x + .0356774081 * x**3)\n",
    "functions": """\
    inner = tf.multiply(tf.sqrt(tf.constant(2.0) / math.pi), tf.add(x, 0.044715 * tf.square(x) * x))
    return tf.multiply(tf.multiply(x, 0.5), tf.add(1.0, tf.tanh(inner)))
    """,
    "cast": """\
    root = tf.cast(np.sqrt(2 / np.pi), x.dtype)
    return 0.5 * x * (1.0 + tf.tanh(root * (x + 0.044715 * x ** 3)))
    """,
    "root": "return x * .5 * (1 + tf.tanh((x + K * x**3) / math.sqrt(math.pi / 2)))\n",
    "sigmoid": "return x * tf.sigmoid(1.5957691216 * (x + 0.044715 * tf.pow(x, 3)))\n",
    "other way round": "return (tf.tanh((K * x**3 + x) * np.sqrt(2 / np.pi)) + 1) * x * 0.5\n",
    "subtracted": "return -0.5 * x * (-1 - tf.tanh(ROOT * (x + 0.044715 * x ** 3)))\n",
    "steps": """\
    x = tf.convert_to_tensor(x)
    x3 = x * x * x
    c = np.sqrt(2.0 / np.pi)
    t = tf.tanh(c * (x + K * x3))
    return 0.5 * x * (1.0 + t)
    """,
    "in a scope": """\
    with tf.name_scope("gelu"):
        return 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3)))
    """,
}

OTHERS = {
    "erf": "return 0.5 * x * (1.0 + tf.erf(x / tf.sqrt(2.0)))\n",
    "sigmoid approximation": "return x * tf.sigmoid(1.702 * x)\n",
    "other constant": "return 0.5 * x * (1 + tf.tanh(0.8 * (x + 0.044715 * x ** 3)))\n",
    "other cubic": "return 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.0447 * x ** 3)))\n",
    "square for cube": "return 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 2)))\n",
    "no half": "return x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3)))\n",
    "minus": "return 0.5 * x * (1 - tf.tanh(ROOT * (x + 0.044715 * x ** 3)))\n",
    "more": "return 1 + 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3)))\n",
    "times another": "return 0.5 * y * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3)))\n",
    "a summary": """\
    tf.summary.histogram("x", x)
    return 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3)))
    """,
    "a cast": "return 0.5 * x * (1 + tf.tanh(ROOT * tf.cast(x + .044715 * x ** 3, tf.float32)))\n",
    "numpy's": "return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))\n",
    "two ways": """\
    if y:
        return x
    return 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3)))
    """,
    "a result of several values": """\
    t = 0.0
    if y:
        t = tf.tanh(ROOT * (x + 0.044715 * x ** 3))
    return 0.5 * x * (1 + t)
    """,
    "written to": """\
    t = 1.0
    t += tf.tanh(ROOT * (x + 0.044715 * x ** 3))
    return 0.5 * x * t
    """,
    "a name for the operation": """\
    return 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x ** 3), name="gelu_tanh"))
    """,
    "a fast-growing power": "return tf.tanh(x ** 1000000 ** 1000)\n",
}


def script(form, name="act"):
    head = "import math\nimport numpy as np\n\nROOT = np.sqrt(2 / np.pi)\nK = 0.044715\n\n\n"
    function = f"def {name}(x, y=None):\n{indent(dedent(form), '    ')}"
    return with_tf(f"{head}{function}\nn = math.e + np.e\n")


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_gelu_whatever_its_form(form):
    outcome = migrate(script(form), removed="delete", **NPU5)
    assert [f.code for f in outcome.findings] == ["NPU503"]
    body = outcome.text.partition("def act(x, y=None):\n")[2].partition("\nn =")[0]
    scope = '    with tf.name_scope("gelu"):\n    ' if "name_scope" in form else ""
    assert body == scope + "    return npu_unary_ops.gelu(x)\n"
    assert IMPORT in outcome.text


@pytest.mark.parametrize("form", OTHERS.values(), ids=list(OTHERS))
def test_what_only_looks_like_gelu_stays(form):
    text = script(form, name="gelu")
    outcome = migrate(text, **NPU5)
    assert outcome.text == text
    assert outcome.findings == ()


def test_docstring_and_comments_stay_and_what_goes_is_commented_out():
    text = '''\
    import tensorflow as tf
    import numpy as np

    def activation(tensor):
      """Smoother than ReLU.

      Args:
        tensor: a float tensor.
      """
      # As in the paper.
      cdf = 0.5 * (1.0 + tf.tanh(  # the sigmoid
          (np.sqrt(2 / np.pi) * (tensor + 0.044715 * tf.pow(tensor, 3)))))
      return tensor * cdf  # GELU
    '''
    outcome = migrate(text, **NPU5)
    assert (
        outcome.text
        == '''\
import tensorflow as tf
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops

def activation(tensor):
  """Smoother than ReLU.

  Args:
    tensor: a float tensor.
  """
  # As in the paper.
  # cdf = 0.5 * (1.0 + tf.tanh(  # the sigmoid
  #     (np.sqrt(2 / np.pi) * (tensor + 0.044715 * tf.pow(tensor, 3)))))
  return npu_unary_ops.gelu(tensor)  # GELU
'''
    )
    (finding,) = outcome.findings
    assert finding.message.startswith("activation ")


def test_lambdas_and_methods():
    outcome = migrate(
        with_tf(
            """\
            C = 0.7978845608028654
            act = lambda v: 0.5 * v * (1 + tf.tanh(C * (v + 0.044715 * v ** 3)))

            class Layer(object):
                def call(self, inputs):
                    return 0.5 * inputs * (1 + tf.tanh(C * (inputs + 0.044715 * inputs ** 3)))

            def outer(v):
                return lambda: 0.5 * v * (1 + tf.tanh(C * (v + 0.044715 * v ** 3)))
            """
        ),
        **NPU5,
    )
    assert "act = lambda v: npu_unary_ops.gelu(v)\n" in outcome.text
    assert "        return npu_unary_ops.gelu(inputs)\n" in outcome.text
    assert len(outcome.findings) == 2


def test_numpy_stays_where_it_is_read():
    text = script(FORMS["BERT"])
    assert "import numpy as np\n" in migrate(text, **NPU5).text
    others = {"a.py": text.replace("+ np.e", ""), "b.py": "from a import np\nprint(np.e)\n"}
    assert "import numpy as np\n" in migrate(others, **NPU5).texts["a.py"]
