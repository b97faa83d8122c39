#!/usr/bin/env bash
# Migrates a copy of the sample and shows what changed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Exit status 1 says that something is left for a person, which is no failure of the demo.
.venv/bin/npu-migrate --diff samples/quickstart || [ $? -eq 1 ]
