// The Python face of the loops over sparse rows.
#include "arguments.hpp"

// The three arrays of a CSR matrix.
template <class T> struct Arrays {
    InRow<T> data;
    InRow<std::int32_t> indices;
    InRow<std::int64_t> starts;
};

static bool are_inside(const std::int32_t *indices, std::size_t count, std::size_t columns) {
    bool inside = true;
    for (std::size_t p = 0; p < count; ++p)
        inside &= indices[p] >= 0 && static_cast<std::size_t>(indices[p]) < columns;
    return inside;
}

static bool increase(const std::int32_t *indices, const std::int64_t *starts, std::size_t rows) {
    bool increasing = true;
    for (std::size_t i = 0; i < rows; ++i)
        for (std::int64_t p = starts[i] + 1; p < starts[i + 1]; ++p)
            increasing &= indices[p - 1] < indices[p];
    return increasing;
}

// A matrix with this many rows and columns, safe to walk.
template <class T> static Sparse<T> sparse(const Arrays<T> &A, std::size_t rows, std::size_t columns) {
    const std::size_t stored = A.data.shape(0);
    const std::int64_t *starts = A.starts.data();
    require(A.starts.shape(0) == rows + 1, "indptr needs one entry more than there are rows");
    require(A.indices.shape(0) == stored, "data and indices need the same length");
    require(starts[0] == 0 && static_cast<std::size_t>(starts[rows]) == stored, "indptr must go from 0 to the end");
    for (std::size_t i = 0; i < rows; ++i)
        require(starts[i] <= starts[i + 1], "indptr must not decrease");
    require(are_inside(A.indices.data(), stored, columns), "an index is outside of the matrix");
    return {A.data.data(), A.indices.data(), starts, rows};
}

template <class T>
static void sparse_products(const Out<T> &result, const InRow<T> &a, const InRow<std::int32_t> &a_indices,
                     const InRow<std::int64_t> &a_starts, const InRow<T> &b, const InRow<std::int32_t> &b_indices,
                     const InRow<std::int64_t> &b_starts) {
    const Matrix<T> to = out<T>(result);
    require(b_starts.shape(0) > 0, "indptr needs one entry more than there are rows");
    const std::size_t features = b_starts.shape(0) - 1;
    const Sparse<T> A = sparse<T>({a, a_indices, a_starts}, to.rows, features);
    const Sparse<T> Bt = sparse<T>({b, b_indices, b_starts}, features, to.columns);
    nb::gil_scoped_release release;
    functions<T>().sparse_products(to, A, Bt);
}

template <class T>
static void sparse_dense_products(const Out<T> &result, const InRow<T> &a, const InRow<std::int32_t> &a_indices,
                           const InRow<std::int64_t> &a_starts, const In<T> &Bt) {
    const Matrix<T> to = out<T>(result);
    require(Bt.shape(1) == to.columns, "Bt needs one column for each column of out");
    const Sparse<T> A = sparse<T>({a, a_indices, a_starts}, to.rows, Bt.shape(0));
    nb::gil_scoped_release release;
    functions<T>().sparse_dense_products(to, A, in<T>(Bt));
}

template <class T>
static void of_sparse_sums(const Out<T> &result, const InRow<T> &a, const InRow<std::int32_t> &a_indices,
                    const InRow<std::int64_t> &a_starts, const InRow<T> &b, const InRow<std::int32_t> &b_indices,
                    const InRow<std::int64_t> &b_starts, const InRow<T> &t, const InRow<std::int32_t> &t_indices,
                    const InRow<std::int64_t> &t_starts, int sum, int shape, double p, double q, unsigned degree) {
    const Matrix<T> to = out<T>(result);
    const Form f = form(shape, p, q, degree);
    const Sum s = sum_of(sum);
    require(t_starts.shape(0) > 0, "indptr needs one entry more than there are rows");
    const std::size_t features = t_starts.shape(0) - 1;
    const Sparse<T> A = sparse<T>({a, a_indices, a_starts}, to.rows, features);
    const Sparse<T> B = sparse<T>({b, b_indices, b_starts}, to.columns, features);
    const Sparse<T> Bt = sparse<T>({t, t_indices, t_starts}, features, to.columns);
    require(t.shape(0) == b.shape(0), "Bt must be B transposed");
    require(increase(A.indices, A.starts, A.rows) && increase(B.indices, B.starts, B.rows),
            "the indices of each row must increase");
    nb::gil_scoped_release release;
    functions<T>().of_sparse_sums(to, A, B, Bt, s, f);
}

template <class T> static void define(nb::module_ &m) {
    using nb::arg;
    m.def("sparse_products", &sparse_products<T>, arg("out").noconvert(), arg("a").noconvert(),
          arg("a_indices").noconvert(), arg("a_starts").noconvert(), arg("b").noconvert(),
          arg("b_indices").noconvert(), arg("b_starts").noconvert());
    m.def("sparse_dense_products", &sparse_dense_products<T>, arg("out").noconvert(), arg("a").noconvert(),
          arg("a_indices").noconvert(), arg("a_starts").noconvert(), arg("Bt").noconvert());
    m.def("of_sparse_sums", &of_sparse_sums<T>, arg("out").noconvert(), arg("a").noconvert(),
          arg("a_indices").noconvert(), arg("a_starts").noconvert(), arg("b").noconvert(),
          arg("b_indices").noconvert(), arg("b_starts").noconvert(), arg("t").noconvert(),
          arg("t_indices").noconvert(), arg("t_starts").noconvert(), arg("sum"), arg("shape"), arg("p"), arg("q"),
          arg("degree"));
}

void define_sparse(nb::module_ &m) {
    define<float>(m);
    define<double>(m);
}
