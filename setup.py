"""What pyproject.toml cannot say: the rules stand beside the package and go inside it."""

from setuptools import find_namespace_packages, setup

RULES = "npu_migrate.data.rules"

setup(
    packages=[
        *find_namespace_packages(
            include=["npu_migrate", "npu_migrate.*"], exclude=["*__pycache__*"]
        ),
        RULES,
    ],
    package_dir={RULES: "rules"},
    package_data={
        "npu_migrate": ["py.typed"],
        "npu_migrate.reports.html": ["common.css", "report.*"],
        "npu_migrate.verify.reports.html": ["verdict.*"],
        RULES: ["*.yaml"],
    },
)
