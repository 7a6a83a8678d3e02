// The Python face of the loops over sparse rows.
#include "checks.hpp"

// The three arrays of a CSR matrix.
template <class T> using CSR = std::tuple<InRow<T>, Indices<std::int32_t>, Indices<std::int64_t>>;

template <class T> static std::size_t rows_of(const CSR<T> &M) {
    const std::size_t count = std::get<2>(M).size();
    require(count > 0, "indptr needs one entry more than there are rows");
    return count - 1;
}

template <class T> static Sparse<T> sparse(const CSR<T> &M, std::size_t rows, std::size_t columns) {
    const auto &[data, indices, starts] = M;
    require(rows_of(M) == rows, "indptr needs one entry more than there are rows");
    require(indices.size() == data.size(), "data and indices need the same length");
    require_starts("indptr", starts, data.size());
    require_inside(indices, columns, "an index is outside of the matrix");
    return {data.data(), indices.data(), starts.data(), rows};
}

template <class T> static void require_finite_entries(const CSR<T> &A, const CSR<T> &Bt) {
    require_all_finite("data", std::get<0>(A));
    require_all_finite("data", std::get<0>(Bt));
}

template <class T> static void sparse_products(const Out<T> &out, const CSR<T> &A, const CSR<T> &Bt) {
    const Sparse<T> a = sparse(A, out.rows, rows_of(Bt)), bt = sparse(Bt, rows_of(Bt), out.columns);
    require_finite_entries(A, Bt);
    nb::gil_scoped_release release;
    functions<T>().sparse_products(out, a, bt);
}

template <class T> static void sparse_dense_products(const Out<T> &out, const CSR<T> &A, const In<T> &Bt) {
    require(Bt.columns == out.columns, "Bt needs one column for each column of out");
    const Sparse<T> a = sparse(A, out.rows, Bt.rows);
    nb::gil_scoped_release release;
    functions<T>().sparse_dense_products(out, a, Bt);
}

template <class T>
static void of_sparse_sums(const Out<T> &out, const CSR<T> &A, const CSR<T> &B, const CSR<T> &Bt, std::string_view terms,
                           std::string_view shape, Number p, Number q, Whole degree) {
    const std::size_t features = rows_of(Bt);
    const Sparse<T> a = sparse(A, out.rows, features), b = sparse(B, out.columns, features);
    const Sparse<T> bt = sparse(Bt, features, out.columns);
    require_finite_entries(A, Bt);
    require(std::get<0>(B).size() == std::get<0>(Bt).size(), "Bt must be B transposed");
    require(increase(std::get<1>(A), std::get<2>(A)) && increase(std::get<1>(B), std::get<2>(B)),
            "the indices of each row must increase");
    const Sum sum = sum_of(terms);
    const Form f = form(shape, p, q, degree);
    nb::gil_scoped_release release;
    functions<T>().of_sparse_sums(out, a, b, bt, sum, f);
}

template <class T> static void define(nb::module_ &m) {
    m.def("sparse_products", &sparse_products<T>, "out"_a, "A"_a, "Bt"_a);
    m.def("sparse_dense_products", &sparse_dense_products<T>, "out"_a, "A"_a, "Bt"_a);
    m.def("of_sparse_sums", &of_sparse_sums<T>, "out"_a, "A"_a, "B"_a, "Bt"_a, "terms"_a, "shape"_a = "identity",
          "p"_a = 0.0, "q"_a = 0.0, "degree"_a = 1);
}

void define_sparse(nb::module_ &m) {
    define<double>(m);
    define<float>(m);
}
