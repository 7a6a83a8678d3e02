// What one instruction set offers: a table of pointers to the same functions, compiled for it.
#pragma once

#include <cstddef>
#include <cstdint>

// What every instruction set shares must leave no copy behind that the linker could pick for all of them.
#define INLINED [[gnu::always_inline]]

// A matrix: rows of `columns` neighboring entries, `stride` entries apart.
template <class T> struct Matrix {
    T *entries;
    std::size_t rows, columns;
    std::ptrdiff_t stride;

    INLINED T *row(std::size_t i) const { return entries + static_cast<std::ptrdiff_t>(i) * stride; }
};

// The rows of a sparse matrix (CSR): entries `begin(i)` to `end(i)` of data, each with its column in indices.
template <class T> struct Sparse {
    const T *data;
    const std::int32_t *indices;
    const std::int64_t *starts;
    std::size_t rows;

    INLINED std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
    INLINED std::size_t end(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1]); }
    INLINED std::size_t count(std::size_t i) const { return end(i) - begin(i); }
    INLINED std::size_t end_of_all() const { return static_cast<std::size_t>(starts[rows]); }
};

// Series one after the other, `channels` numbers for each time: series t holds the times starts[t] to starts[t + 1].
template <class T> struct Series {
    const T *entries;
    const std::int64_t *starts;
    std::size_t count, channels;

    INLINED const T *begin(std::size_t t) const {
        return entries + static_cast<std::size_t>(starts[t]) * channels;
    }
    INLINED std::size_t length(std::size_t t) const { return static_cast<std::size_t>(starts[t + 1] - starts[t]); }
};

// How far a path may stray from the diagonal: `radius` steps, or else that fraction of the shorter series; a negative
// number stands for no limit.
struct Band {
    std::int64_t radius;
    double fraction;

    INLINED bool limits() const { return radius >= 0 || fraction >= 0; }
    INLINED std::int64_t steps(std::int64_t n, std::int64_t m) const {
        return radius >= 0 ? radius : static_cast<std::int64_t>(fraction * static_cast<double>(n < m ? n : m));
    }
};

// Groups of features of a convolution, one group for each row (kernel, dilation, padded) of `shapes`: the channels are
// added up with the weights in that row of `mix`, and group g has the biases starts[g] to starts[g + 1].
template <class T> struct Filters {
    const std::int64_t *shapes;
    const T *mix, *biases;
    const std::int64_t *starts;
    std::size_t count;

    INLINED std::int64_t kernel(std::size_t g) const { return shapes[3 * g]; }
    INLINED std::int64_t dilation(std::size_t g) const { return shapes[3 * g + 1]; }
    INLINED bool padded(std::size_t g) const { return shapes[3 * g + 2] != 0; }
    INLINED std::size_t begin(std::size_t g) const { return static_cast<std::size_t>(starts[g]); }
    INLINED bool same_mix(std::size_t g, std::size_t h, std::size_t channels) const {
        for (std::size_t c = 0; c < channels; ++c)
            if (mix[g * channels + c] != mix[h * channels + c])
                return false;
        return true;
    }
};

// Distances of series by the best alignment; their formulas are in reference/series.py.
enum class Elastic : int { move_split_merge, real_penalty, time_warp_edit, soft_warping };

// A function of a distance or of a dot product; what p and q mean is said in arguments.py.
enum class Shape : int {
    identity,
    root,
    gaussian,
    laplace,
    matern3,
    matern5,
    rational_quadratic,
    polynomial,
    sigmoid,
};

// What is summed over the features of two vectors.
enum class Sum : int { squared_difference, absolute_difference, smaller };

struct Form {
    Shape shape;
    double p, q;
    unsigned degree;
};

template <class T> struct Functions {
    void (*apply)(Matrix<T> values, Form form);
    void (*of_products)(Matrix<T> products, Matrix<const T> A, Matrix<const T> B, const T *a, const T *b, Form form);
    void (*of_sums)(Matrix<T> out, Matrix<const T> A, Matrix<const T> B, Sum sum, Form form);
    void (*mirror)(Matrix<T> to, Matrix<const T> from);
    void (*sparse_products)(Matrix<T> out, Sparse<T> A, Sparse<T> Bt);
    void (*sparse_dense_products)(Matrix<T> out, Sparse<T> A, Matrix<const T> Bt);
    void (*of_sparse_sums)(Matrix<T> out, Sparse<T> A, Sparse<T> B, Sparse<T> Bt, Sum sum, Form form);
    void (*perceptron_pass)(Matrix<const T> K, const double *y, double *scores, double threshold, bool strict,
                            std::uint8_t *updated);
    void (*dtw)(Matrix<T> out, Series<T> A, Series<T> B, const std::int64_t *order, Band band, bool half);
    void (*global_alignment)(Matrix<double> out, Series<T> A, Series<T> B, const std::int64_t *order, double scale,
                             bool half);
    void (*self_alignment)(double *out, Series<T> A, const std::int64_t *order, double scale);
    void (*elastic)(Matrix<T> out, Series<T> A, Series<T> B, const std::int64_t *order, Elastic kind, double p,
                    double q, Band band, bool half);
    void (*convolutions)(Matrix<T> out, Series<T> A, Filters<T> filters);
    void (*signatures)(Matrix<T> out, Series<T> A, const std::int64_t *order, std::size_t level);
    void (*hadamard)(Matrix<T> values, Matrix<const T> signs, std::size_t size);
    void (*cos_sin)(Matrix<T> turns, Matrix<T> sines, double scale);
    std::size_t (*smo)(Matrix<const T> K, double *u, double *beta, const double *low, const double *high,
                       double tolerance, std::size_t most_steps, bool keep_sum);
    void (*add_rows)(Matrix<const T> rows, const std::int64_t *which, const double *weights, std::size_t count,
                     double *out);
    std::size_t (*swap_medoids)(Matrix<const T> far, std::int64_t *medoids, std::size_t k, std::size_t start,
                                std::size_t most, std::size_t failed);
    void (*dtw_pairs)(T *out, Series<T> A, Series<T> B, const std::int64_t *i, const std::int64_t *j, const T *limits,
                      std::size_t pairs, Band band);
    void (*outside_ranges)(Matrix<T> out, Matrix<const T> A, Matrix<const T> low, Matrix<const T> high);
};

using Words = Matrix<const std::uint64_t>;

// What is made of the number of items that two sets share; said in arguments.py.
enum class SetValue : int { count, share, any };

// Sets as rows of bits, in which several items may share a bit: their numbers of items, and of items beyond their bits.
struct SignedSets {
    Words words;
    const double *sizes, *spare;

    INLINED SignedSets piece(std::size_t first, std::size_t count) const {
        return {{words.row(first), count, words.columns, words.stride}, sizes + first, spare + first};
    }
};

// A similarity of sets as a share of common items: among all items, or among those of the larger set.
enum class SetBound : int { share_of_all, share_of_larger };

// A pair of a tile, and the largest similarity it can have.
struct Candidate {
    std::int32_t i, j;
    double bound;
};

// Rows of a table: numbers, NaN where missing, and keys of categories, 0 where missing.
struct Mixed {
    Matrix<const double> numbers;
    Matrix<const std::int64_t> keys;
};

struct Table {
    const char *name;
    Functions<float> singles;
    Functions<double> doubles;
    void (*count_bits)(Words A, std::int64_t *out);
    void (*common_bits_32)(Matrix<std::int32_t> out, Words A, Words B);
    void (*common_bits_64)(Matrix<std::int64_t> out, Words A, Words B);
    void (*gower)(Matrix<double> out, Mixed A, Mixed B);
    void (*shared_bits)(Matrix<double> out, Words A, Words B, const double *a, const double *b, SetValue value);
    void (*of_shared)(Matrix<double> out, const double *a, const double *b, SetValue value);
    void (*common_bits_doubles)(Matrix<double> out, Words A, Words B);
    void (*levenshtein)(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                        const std::int64_t *order, std::size_t alphabet, bool same);
    void (*subsequences)(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                         const std::int64_t *order, std::size_t p, double decay, bool same);
    void (*self_subsequences)(double *out, Series<std::int32_t> strings, const std::int64_t *order, std::size_t p,
                              double decay);
    void (*best_alignment)(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                           const std::int64_t *order, Matrix<const double> scores, double gap_open, double gap_extend,
                           bool local, bool same);
    void (*sum_alignments)(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                           const std::int64_t *order, Matrix<const double> scores, double gap_open, double gap_extend,
                           bool same);
    void (*self_sum_alignments)(double *out, Series<std::int32_t> strings, const std::int64_t *order,
                                Matrix<const double> scores, double gap_open, double gap_extend);
    std::size_t (*candidates)(SignedSets A, SignedSets B, const double *floors, SetBound bound, double *common,
                              Candidate *found);
    void (*levenshtein_pairs)(double *out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                              const std::int64_t *i, const std::int64_t *j, std::size_t pairs, std::size_t alphabet);
};

#define DECLARE_TABLE(set)                                                                                             \
    namespace set {                                                                                                    \
    extern const Table table;                                                                                          \
    }
