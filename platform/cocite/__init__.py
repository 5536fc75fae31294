"""cocite: recommend the papers that a manuscript should cite.

Importing the package costs nothing: heavy libraries are loaded by the modules that use them.
"""

__version__ = "0.1.0"
