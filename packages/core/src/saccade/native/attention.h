// Attention masks, and the products of tiles of queries and keys that forward and backward share.

#pragma once

#include "vectors.h"

#if defined(__AVX512F__)
constexpr int ROWS = 6;    // Queries whose scores lie in registers at once,
constexpr int COLUMNS = 4; // and vectors of keys: 24 of the 32 registers.
#else
constexpr int ROWS = 6;
constexpr int COLUMNS = 2;
#endif
constexpr int KEYS = COLUMNS * W; // Keys of a tile.

// A range of queries, of an order of all queries or of themselves, that looks at neighbouring keys.
struct MaskBlock {
    int64_t first, last; // Queries.
    int64_t keys, count; // The first key, in steps of kv_token, and how many there are.
    int64_t is_causal;   // The last query sees all of them, the one before it all but one, and so on.

    long queries() const { return last - first; }
    // How many keys a query sees, counted from the first one.
    long seen(long query) const { return is_causal ? count - queries() + query + 1 : count; }
};

// Queries, and the blocks that no other group shares them with.
struct QueryGroup {
    int64_t first, last;
    int64_t first_block, last_block;
};

// What MaskBlock and QueryGroup are to a caller: rows of five and of four int64.
struct Attention {
    const float *query; // (queries, heads, dim)
    const float *key;   // kv_token and kv_head are the strides of keys and values
    const float *value;
    float *out;        // (queries, heads, dim)
    float *lse; // (queries, heads), in units of ln 2, or null
    const int64_t *order; // of queries, or null
    const QueryGroup *groups;
    const MaskBlock *blocks;
    int64_t query_stride, kv_token, kv_head, out_stride;
    int64_t heads, repeats; // query heads, and how many of them share a key head
    int64_t fold;           // query heads that are worked on together: 1 or repeats
    int64_t dim;
    float scale;
};

namespace {

// Neighbouring keys and their values.
struct Tile {
    const float *key, *value;
    long count;
};

// The first `count` rows of (rows, dim) as columns of (dim, KEYS), zeros beyond. dim is a multiple of W.
// Meanwhile another tile, as long as `stride` from key to key, is fetched into the cache.
void transposed(float *to, const float *from, long stride, long count, long dim, const Tile &coming = {}) {
    for (long first = 0; first < KEYS; first += W)
        for (long d = 0; d < dim; d += W) {
            for (long i = first; i < std::min<long>(first + W, coming.count); i++) {
                __builtin_prefetch(coming.key + i * stride + d, 0, 2);
                __builtin_prefetch(coming.value + i * stride + d, 0, 2);
            }
            Lanes square[W];
            for (int i = 0; i < W; i++)
                square[i] = first + i < count ? load(from + (first + i) * stride + d) : Lanes{};
            transpose_square<W / 2>(square);
            for (int i = 0; i < W; i++) store(to + (d + i) * KEYS + first, square[i]);
        }
}

// Scores of M queries with the keys of a tile, in N vectors.
template <int M, int N>
ALWAYS_INLINE void products(Lanes (&s)[M][N], const float *const *rows, const float *columns, long dim) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) s[i][j] = Lanes{};
    for (long d = 0; d < dim; d++) {
        Lanes column[N];
        for (int j = 0; j < N; j++) column[j] = load(columns + d * KEYS + j * W);
        for (int i = 0; i < M; i++) {
            const Lanes one = all(rows[i][d]);
            for (int j = 0; j < N; j++) s[i][j] = fused(column[j], one, s[i][j]);
        }
    }
}

// to[i] = scale[i] * to[i] + sum over `count` rows k of weights[i * across + k * along] * rows[k], for N vectors.
template <int M, int N>
ALWAYS_INLINE void gather(float *const *to, const float *scale, const float *weights, long across, long along,
                   const float *rows, long stride, long count) {
    Lanes sum[M][N];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) sum[i][j] = load(to[i] + j * W) * scale[i];
    for (long k = 0; k < count; k++) {
        Lanes row[N];
        for (int j = 0; j < N; j++) row[j] = load(rows + k * stride + j * W);
        for (int i = 0; i < M; i++) {
            const Lanes weight = all(weights[i * across + k * along]);
            for (int j = 0; j < N; j++) sum[i][j] = fused(row[j], weight, sum[i][j]);
        }
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) store(to[i] + j * W, sum[i][j]);
}

template <int M>
void gathered(float *const *to, const float *scale, const float *weights, long across, long along, const float *rows,
              long stride, long count, long dim) {
    float *at[M];
    long d = 0;
    const auto here = [&] {
        for (int i = 0; i < M; i++) at[i] = to[i] + d;
        return at;
    };
    for (; d + 2 * W <= dim; d += 2 * W) gather<M, 2>(here(), scale, weights, across, along, rows + d, stride, count);
    for (; d < dim; d += W) gather<M, 1>(here(), scale, weights, across, along, rows + d, stride, count);
}

// Calls body with the number of rows as a constant: ROWS of them, or what is left.
template <int M, class Body> inline void with_rows(long left, Body body) {
    if (left >= M) return body(std::integral_constant<int, M>{});
    if constexpr (M > 1) with_rows<M - 1>(left, body);
}

// Keys before `limit` count, of those from `first` on.
template <int N> ALWAYS_INLINE void mask(Lanes (&s)[N], long first, long limit) {
    if (first + N * W <= limit) return;
    const Whole numbers = lane_numbers();
    for (int j = 0; j < N; j++)
        s[j] = numbers + (int32_t)(first + j * W) < (int32_t)limit ? s[j] : all(-std::numeric_limits<float>::infinity());
}

} // namespace
