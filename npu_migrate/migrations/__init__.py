"""The judgement that a table of names can't hold, one folder a family.

What the families share stands beside them: the context that they fill, the graph of optimizers, the
paths through a function. Each module reads the index of a file and adds findings with their edits
to a plan, through the :class:`~npu_migrate.migrations.context.Context` of that file.
"""
