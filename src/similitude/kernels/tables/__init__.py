"""Similarities of the rows of tables, and of single values such as the cells of a column."""

from similitude.kernels.tables.columns import Columns
from similitude.kernels.tables.gower import Gower
from similitude.kernels.tables.tabular import Tabular
from similitude.kernels.tables.values import Equal, Ordinal, OrMissing
