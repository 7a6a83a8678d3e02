// What one instruction set offers: a table of pointers to the same functions, compiled for it.
#pragma once

#include <cstddef>
#include <cstdint>

// A matrix: rows of `columns` neighbouring entries, `stride` entries apart.
template <class T> struct Matrix {
    T *entries;
    std::size_t rows, columns;
    std::ptrdiff_t stride;

    T *row(std::size_t i) const { return entries + static_cast<std::ptrdiff_t>(i) * stride; }
};

// A function of a distance or of a dot product; what p and q mean is said in reference.py.
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
};

struct Table {
    const char *name;
    Functions<float> singles;
    Functions<double> doubles;
};

#define DECLARE_TABLE(set)                                                                                             \
    namespace set {                                                                                                    \
    extern const Table table;                                                                                          \
    }
