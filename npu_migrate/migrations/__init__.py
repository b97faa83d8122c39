"""The judgement that a table of names can't hold, one module a family.

Each module reads the index of a file and adds findings with their edits to a plan, through the
:class:`~npu_migrate.migrations.context.Context` of that file.
"""
