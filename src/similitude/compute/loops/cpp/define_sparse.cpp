// The Python face of the loops over sparse rows.
#include "arguments.hpp"

// The three arrays of a CSR matrix.
template <class T> struct Arrays {
    InRow<T> data;
    InRow<std::int32_t> indices;
    InRow<std::int64_t> starts;
};

template <class T> static Sparse<T> sparse(const Arrays<T> &A) {
    return {A.data.data(), A.indices.data(), A.starts.data(), A.starts.shape(0) - 1};
}

template <class T>
static void sparse_products(const Out<T> &result, const InRow<T> &a, const InRow<std::int32_t> &a_indices,
                     const InRow<std::int64_t> &a_starts, const InRow<T> &b, const InRow<std::int32_t> &b_indices,
                     const InRow<std::int64_t> &b_starts) {
    const Matrix<T> to = out<T>(result);
    const Sparse<T> A = sparse<T>({a, a_indices, a_starts}), Bt = sparse<T>({b, b_indices, b_starts});
    nb::gil_scoped_release release;
    functions<T>().sparse_products(to, A, Bt);
}

template <class T>
static void sparse_dense_products(const Out<T> &result, const InRow<T> &a, const InRow<std::int32_t> &a_indices,
                           const InRow<std::int64_t> &a_starts, const In<T> &Bt) {
    const Matrix<T> to = out<T>(result);
    const Sparse<T> A = sparse<T>({a, a_indices, a_starts});
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
    const Sparse<T> A = sparse<T>({a, a_indices, a_starts}), B = sparse<T>({b, b_indices, b_starts});
    const Sparse<T> Bt = sparse<T>({t, t_indices, t_starts});
    nb::gil_scoped_release release;
    functions<T>().of_sparse_sums(to, A, B, Bt, static_cast<Sum>(sum), f);
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
