"""Notebooks: their code cells as one script, and a changed script back into the cells.

============ ==================================================================
``document`` the JSON text: where the sources of code cells stand in it
``magics``   a cell's lines that IPython understands and Python does not
``commands`` what a cell tells the shell
``script``   all cells as one script, in which each cell keeps its place
============ ==================================================================
"""

from npu_migrate.notebooks.script import Notebook, read_notebook

__all__ = ["Notebook", "read_notebook"]
