"""Learning kernels from labels: metrics and weights by average squared gradients, with a guard on pilot rows."""

from similitude.kernel_learning.auto import AutoChoice, choose_automatically, summarize
from similitude.kernel_learning.cells import CellFit, CellTree, learn_cells
from similitude.kernel_learning.gradients import model_gradients
from similitude.kernel_learning.importance import Direction, GradientImportance, LearnedSummary, LearningStep
from similitude.kernel_learning.learn import Learned, Round, check_learnable, learn_from_targets, learn_kernel
from similitude.kernel_learning.limits import CELL_ROWS as CELL_ROWS
from similitude.kernel_learning.limits import LARGEST_CELL as LARGEST_CELL
