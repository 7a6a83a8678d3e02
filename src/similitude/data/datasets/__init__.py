"""Small real data sets of every kind of object, and the toy problems of the literature; nothing is downloaded.

Real data sets and samples of toy problems are a `Dataset`: objects, labels, a description, the source and the license;
``X, y = iris()`` unpacks the objects and the labels, ``print(iris())`` shows the rest.

| function | kind | objects | label column: labels | file | license | what |
|---|---|---|---|---|---|---|
| `iris` | vectors | 150 | species: 3 | iris.csv | CC BY 4.0 | lengths of flowers |
| `promoters` | strings | 106 | label: +, - | promoters.csv | CC BY 4.0 | DNA of a bacterium |
| `messages` | strings | 800 | label: ham, spam | messages.csv | CC BY 4.0 | text messages |
| `adult` | table | 1,000 | income: <=50K, >50K | adult.csv | CC BY 4.0 | people, with missing values |
| `vowels` | series | 144 | label: 9 speakers | vowels.ts | CC BY 4.0 | voices, 12 channels |
| `molecules` | graphs | 150 | label: soluble, insoluble | molecules.jsonl | CC0 1.0 | atoms and bonds |
| `papers` | sets | 34 | topic: 5 | papers.jsonl | CC0 1.0 | authors and keywords |
| `rings` | vectors | n | 1, -1 | generated | | two concentric rings |
| `beyond_two` | vectors | n | 1, -1 | generated | | is abs(x) at least 2? |
| `two_groups` | similarities | n | 1, -1 | generated | | the 0.2-similarity: good, but not a kernel |

`path` returns the file of a real data set, for the command line: ``path("promoters")``. ``README.md`` in the same
folder has more on sources, licenses and changes.

Problems whose whole distribution is known are classes of their own: samples can be drawn from them, and the quantities
of the theory can be computed exactly.

| function | returns | what |
|---|---|---|
| `figure_3_1` | `FewObjects` | three directions that a vote misclassifies although they are separable with margin 1/2 |
| `two_points` | `FewObjects` | two points on a line: each class mostly at its own, and a Bayes error of 1/4 |
| `unbalanced` | `FewObjects` | a rare class: larger similarities within classes, and a rule that errs |
| `lower_bound` | `LowerBound` | a kernel for which every map without access to data fails |
| `atoms` | `Atoms` | orthonormal objects: hard for landmarks |
"""

from similitude.data.datasets.real_data import (
    Dataset,
    Paper,
    adult,
    iris,
    messages,
    molecules,
    papers,
    path,
    promoters,
    vowels,
)
from similitude.data.datasets.toy_problems import (
    Atoms,
    FewObjects,
    LowerBound,
    atoms,
    beyond_two,
    figure_3_1,
    lower_bound,
    rings,
    two_groups,
    two_points,
    unbalanced,
)

__all__ = [
    "Atoms",
    "Dataset",
    "FewObjects",
    "LowerBound",
    "Paper",
    "adult",
    "atoms",
    "beyond_two",
    "figure_3_1",
    "iris",
    "lower_bound",
    "messages",
    "molecules",
    "papers",
    "path",
    "promoters",
    "rings",
    "two_groups",
    "two_points",
    "unbalanced",
    "vowels",
]
