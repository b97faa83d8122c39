#!/usr/bin/env bash
# Makes the virtual environments that the Makefile works in:
#   setup.sh current       .venv     a current Python: the tool, ruff, mypy
#   setup.sh tensorflow    .venv37   Python 3.7: the tool, TensorFlow 1.15.5, Horovod 0.28.1
set -euo pipefail
cd "$(dirname "$0")/.."

# pyenv's shims answer only for versions that are switched on.
if command -v pyenv >/dev/null 2>&1; then
  PYENV_VERSION=$(pyenv versions --bare | paste -sd:)
  export PYENV_VERSION
fi

install_system_package() { # COMMAND PACKAGE
  command -v "$1" >/dev/null 2>&1 && return
  local sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "$1 is missing: install it and run this again" >&2
    exit 1
  fi
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2"
}

uv() {
  if command uv --version >/dev/null 2>&1; then
    command uv "$@"
    return
  fi
  if [ ! -x .venv-uv/bin/uv ]; then
    python3 -m pip install --quiet --target .venv-uv uv
  fi
  .venv-uv/bin/uv "$@"
}

make_venv() { # FOLDER PYTHON
  [ -x "$1/bin/python" ] || uv venv --quiet --no-project --python "$2" "$1"
}

install() { # FOLDER ARGUMENTS...
  local folder=$1
  shift
  uv pip install --quiet --python "$folder/bin/python" "$@"
}

setup_current() {
  make_venv .venv ">=3.10"
  install .venv --constraint constraints/current.txt --editable ".[dev,docs]"
}

setup_tensorflow() {
  make_venv .venv37 3.7
  install .venv37 --constraint constraints/python37.txt --editable ".[dev,tensorflow]" \
    setuptools wheel cffi cloudpickle psutil scikit-learn
  .venv37/bin/python -c "import horovod.tensorflow" >/dev/null 2>&1 || build_horovod
}

# Horovod compiles against the TensorFlow that is installed, so not in a build environment of its own.
build_horovod() {
  install_system_package cmake cmake
  install_system_package g++ g++
  install_system_package make make
  HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 \
    HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1 CMAKE_POLICY_VERSION_MINIMUM=3.5 \
    PATH="$PWD/.venv37/bin:$PATH" \
    install .venv37 --constraint constraints/python37.txt --no-build-isolation horovod
}

case "${1:-}" in
  current) setup_current ;;
  tensorflow) setup_tensorflow ;;
  *)
    sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
