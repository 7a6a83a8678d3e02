"""Why a map that serves every kernel must look at data.

Balcan, Blum and Vempala ("On Kernels, Margins, and Low-dimensional Mappings", section 5) hide two classes in a random
subset of all objects. The margin is sqrt(3)/2, and yet landmarks chosen without data know nothing of the classes.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from similitude import FromBlocks, margin
from similitude.datasets import lower_bound
from similitude.maps import LandmarkMap

problem = lower_bound(n_bits=20, random_state=0)
kernel = FromBlocks(problem.kernel, claims=("SYMMETRIC", "PSD"), objects="indices")
objects, labels = problem.inside, problem.labels
train, test = slice(0, 512), slice(512, 1024)

found = margin(kernel, objects[:100], labels[:100])
print(f"{len(objects):,} of {2**problem.n_bits:,} objects occur; the margin of their classes is {found.value:.3f}")

for where, landmarks in (("anywhere", problem.anywhere(20, random_state=1)), ("from the data", objects[train][:20])):
    model = make_pipeline(LandmarkMap(kernel, landmarks=landmarks), LogisticRegression())
    accuracy = model.fit(objects[train], labels[train]).score(objects[test], labels[test])
    print(f"20 landmarks taken {where}: accuracy {accuracy:.2f}")
