// Matrix products of the sizes of a small model's layers.

#include "vectors.h"

namespace {

constexpr int HIGH = 6;            // Rows of a tile,
constexpr int WIDE = W == 16 ? 4 : 2; // and vectors of its columns: 24 of the 32 registers of AVX-512, 12 of 16.
constexpr long PANEL = WIDE * W;   // Columns that are worked on at once,
constexpr long DEPTH = 384;        // and as many of the products that are summed.
constexpr long PANELS = 8;         // Panels of the right side that are kept at once,
constexpr long ROWS_AT_ONCE = 24;  // and as many rows of the left side that meet them one after the other.
constexpr int64_t PRODUCT_ROWS = 48; // Rows of an item.

} // namespace

extern "C" {

// out[i, j] = sum over k of left[i, k] * right[k, j], and bias[j] and added[i, j] where there are any; out may be added.
struct Product {
    const float *left, *right, *bias, *added;
    float *out;
    int64_t left_row, left_step;     // Strides of i and k,
    int64_t right_step, right_column; // of k and j, one of which is 1,
    int64_t added_row, out_row;      // and of i.
    int64_t rows, columns, depth;
};
}

namespace {

// Columns [at, at + count) of `depth` steps of the right side, PANEL apart, zeros beyond them.
void packed(float *to, const Product &p, long step, long depth, long at, long count) {
    const float *from = p.right + step * p.right_step + at * p.right_column;
    if (p.right_column == 1) {
        for (long k = 0; k < depth; k++) {
            std::copy(from + k * p.right_step, from + k * p.right_step + count, to + k * PANEL);
            std::fill(to + k * PANEL + count, to + (k + 1) * PANEL, 0.0f);
        }
        return;
    }
    for (long first = 0; first < PANEL; first += W)
        for (long k = 0; k < depth; k += W) {
            const long deep = std::min<long>(W, depth - k);
            Lanes square[W];
            for (int i = 0; i < W; i++) {
                const bool is_there = first + i < count;
                square[i] = is_there ? load_some(from + (first + i) * p.right_column + k, deep) : Lanes{};
            }
            transpose_square<W / 2>(square);
            for (long i = 0; i < deep; i++) store(to + (k + i) * PANEL + first, square[i]);
        }
}

// M rows of `count` columns, in N vectors, of the right side's panel.
template <int M, int N> void tile(const Product &p, const float *panel, long row, long step, long depth, long at, long count) {
    Lanes sum[M][N] = {};
    const float *left = p.left + row * p.left_row + step * p.left_step;
    for (long k = 0; k < depth; k++) {
        Lanes right[N];
        for (int j = 0; j < N; j++) right[j] = load(panel + k * PANEL + j * W);
        for (int i = 0; i < M; i++) {
            const Lanes one = all(left[i * p.left_row + k * p.left_step]);
            for (int j = 0; j < N; j++) sum[i][j] = fused(right[j], one, sum[i][j]);
        }
    }
    UNROLLED for (int i = 0; i < M; i++) {
        float *out = p.out + (row + i) * p.out_row + at;
        const float *before = step ? out : p.added ? p.added + (row + i) * p.added_row + at : nullptr;
        UNROLLED for (int j = 0; j < N; j++) {
            Lanes lanes = sum[i][j];
            if (before) lanes += load_some(before + j * W, count - j * W);
            if (p.bias && !step) lanes += load_some(p.bias + at + j * W, count - j * W);
            store_some(out + j * W, lanes, count - j * W);
        }
    }
}

template <int N> void strip(const Product &p, const float *panel, long begin, long end, long step, long depth, long at, long count) {
    if constexpr (N > 1)
        if (count <= (N - 1) * W) return strip<N - 1>(p, panel, begin, end, step, depth, at, count);
    long row = begin;
    for (; row + HIGH <= end; row += HIGH) tile<HIGH, N>(p, panel, row, step, depth, at, count);
    for (; row < end; row++) tile<1, N>(p, panel, row, step, depth, at, count);
}

} // namespace

extern "C" {

// Items are blocks of PRODUCT_ROWS rows.
void multiply(const Product *p, int64_t begin, int64_t end) {
    const long panels = std::min<long>(PANELS, (p->columns + PANEL - 1) / PANEL);
    const long size = std::min<long>(DEPTH, p->depth) * PANEL;
    std::vector<Lanes> kept(panels * size / W);
    float *panel = (float *)kept.data();
    const long first = begin * PRODUCT_ROWS, last = std::min<long>(p->rows, end * PRODUCT_ROWS);
    const auto width = [&](long at) { return std::min<long>(PANEL, p->columns - at); };
    for (long step = 0; step < p->depth; step += DEPTH) {
        const long depth = std::min<long>(DEPTH, p->depth - step);
        for (long start = 0; start < p->columns; start += panels * PANEL) {
            const long stop = std::min<long>(p->columns, start + panels * PANEL);
            for (long at = start; at < stop; at += PANEL)
                packed(panel + (at - start) / PANEL * size, *p, step, depth, at, width(at));
            for (long row = first; row < last; row += ROWS_AT_ONCE)
                for (long at = start; at < stop; at += PANEL)
                    strip<WIDE>(*p, panel + (at - start) / PANEL * size, row, std::min<long>(row + ROWS_AT_ONCE, last), step,
                                depth, at, width(at));
        }
    }
}
}
