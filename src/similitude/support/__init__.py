"""What every room may use: errors, results, validation, fingerprints, randomness, atomic writes.

Nothing here imports NumPy before it is used, so that the command line starts quickly.
"""

from similitude.support.atomic_write import check_path, check_place, complete_file, remove_abandoned
from similitude.support.errors import (
    BudgetError,
    CacheError,
    CheckpointError,
    CheckpointWarning,
    ClusterError,
    ExpressionError,
    FileError,
    FileTooLargeError,
    InseparableError,
    NotAKernelError,
    PairError,
    PrecisionWarning,
    SavedModelError,
    SourceError,
    UnresolvedError,
    brief,
    error_prefix,
    missing_extra,
    objects_at,
    pairs_at,
)
from similitude.support.fingerprints import digest
from similitude.support.formulas import in_letters
from similitude.support.notebook_html import (
    Html,
    bar,
    bar_from_middle,
    bullets,
    card,
    escaped,
    facts,
    folded,
    frame,
    heading,
    joined,
    notes,
    paragraph,
    preformatted,
    progress_bar,
    shortened,
    table,
    tag,
)
from similitude.support.outliers import outlier_limits, outlying_rows
from similitude.support.randomness import generator, key_order, random_keys
from similitude.support.results import (
    CONDITIONAL,
    ESTIMATE,
    GRADES,
    HELD_OUT,
    INDEPENDENT_ROWS,
    NONE,
    PROVEN,
    Curve,
    Estimate,
    Guarantee,
    Premise,
    Result,
    number_of,
    plain,
    rounded_down,
    rounded_up,
)
from similitude.support.text import (
    cut_to,
    first_of,
    for_people,
    four_digits,
    plain_values,
    printable,
    short_numbers,
    unboxed,
    written,
)
from similitude.support.threads import a_call_goes_on, in_daemon_thread, interruptibly
from similitude.support.user_line import user_stacklevel
from similitude.support.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_nonnegative,
    check_number,
    check_positive,
    check_share,
    is_integer,
    is_number,
    naming_parameters,
    parameter_hint,
    unknown_parameter,
)
from similitude.support.versions import core_versions, package_version
