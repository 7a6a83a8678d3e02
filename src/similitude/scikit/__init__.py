"""What scikit-learn expects of an estimator: the base class, and validation of input, labels, targets and weights."""

from similitude.scikit.estimator import (
    AUTO,
    FLOAT_DTYPES,
    InputCheck,
    ScoreClassifier,
    SimilarityEstimator,
    all_or_nothing,
    tensors_for_tensors,
)
from similitude.scikit.kernel_checks import (
    CHECKED_OBJECTS,
    demand_kernel_on,
    demand_valid,
    in_single_precision,
    proven,
    refuse_known,
    whole_gram,
)
from similitude.scikit.validation import (
    check_class_weights,
    check_label_column,
    check_labels,
    check_targets,
    check_weights,
    class_codes,
    class_weights,
    encode_labels,
    has_rare_class,
    is_missing,
    read_labels,
    two_classes,
)
