// Kernels in fp32 behind a plain C interface, written for whatever vectors the compiler has; one thread each.
//
// Every kernel works on items [begin, end), which are independent of one another, so that callers may spread them over
// threads; a result does not depend on how. Pointers are to contiguous last dimensions; strides are in elements.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
constexpr int W = 16;      // Floats of a vector.
constexpr int ROWS = 6;    // Queries whose scores lie in registers at once,
constexpr int COLUMNS = 4; // and vectors of keys: 24 of the 32 registers.
#else
constexpr int W = 8;
constexpr int ROWS = 4;
constexpr int COLUMNS = 2;
#endif
constexpr int KEYS = COLUMNS * W; // Keys of a tile.
constexpr int BLOCK = 96;         // Queries of a tile in the backward pass.
constexpr int SLIM = 8;           // Keys whose gradients lie in registers at once.
static_assert(KEYS % SLIM == 0);

typedef float Lanes __attribute__((vector_size(4 * W)));
typedef float Anywhere __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t Whole __attribute__((vector_size(4 * W)));

namespace {

inline Lanes load(const float *from) { return *(const Anywhere *)from; }
inline void store(float *to, Lanes lanes) { *(Anywhere *)to = lanes; }
inline Lanes all(float value) { return value - Lanes{}; }

inline Whole lane_numbers() {
    Whole numbers;
    for (int lane = 0; lane < W; lane++) numbers[lane] = lane;
    return numbers;
}

#if defined(__AVX512F__)
inline float greatest(Lanes lanes) { return _mm512_reduce_max_ps((__m512)lanes); }
inline float sum_of(Lanes lanes) { return _mm512_reduce_add_ps((__m512)lanes); }
#else
// Halves of a vector are folded onto one another, so the order of the sum is always the same.
template <class Fold> inline float folded(Lanes lanes, Fold fold) {
    float values[W];
    store(values, lanes);
    for (int half = W / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++) values[lane] = fold(values[lane], values[lane + half]);
    return values[0];
}
inline float greatest(Lanes lanes) {
    return folded(lanes, [](float a, float b) { return a > b ? a : b; });
}
inline float sum_of(Lanes lanes) {
    return folded(lanes, [](float a, float b) { return a + b; });
}
#endif

// 2^x within 2 units of the last place for x <= 127; exactly 0 below -126, also for -inf; NaN stays NaN.
inline Lanes exp2_of(Lanes x) {
    const Lanes shifted = x + 12582912.0f; // 1.5 * 2^23 rounds to a whole number in the last bits.
    const Lanes rest = x - (shifted - 12582912.0f);
    Lanes p = all(1.535336188319500e-4f);
    p = p * rest + 1.339887440266574e-3f;
    p = p * rest + 9.618437357674640e-3f;
    p = p * rest + 5.550332471162809e-2f;
    p = p * rest + 2.402264791363012e-1f;
    p = p * rest + 6.931472028550421e-1f;
    p = p * rest + 1.0f;
    return x < -126.0f ? Lanes{} : p * (Lanes)(((Whole)shifted << 23) + 0x3f800000);
}

constexpr float LOG2_E = 1.4426950408889634f;

// Lanes of a and b by turns, STEP of each; the first halves of such pairs of runs, or the second ones.
template <int STEP, bool SECOND, int... LANE> inline Lanes crossed(Lanes a, Lanes b, std::integer_sequence<int, LANE...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, (LANE & STEP ? W + LANE - (SECOND ? 0 : STEP) : LANE + (SECOND ? STEP : 0))...);
#else
    constexpr Whole mask = {(LANE & STEP ? W + LANE - (SECOND ? 0 : STEP) : LANE + (SECOND ? STEP : 0))...};
    return __builtin_shuffle(a, b, mask);
#endif
}

// W vectors as a square matrix, transposed in place: blocks of STEP and more have changed places already.
template <int STEP> inline void turn_square(Lanes (&rows)[W]) {
    constexpr auto lanes = std::make_integer_sequence<int, W>{};
    for (int i = 0; i < W; i++) {
        if (i & STEP) continue;
        const Lanes first = rows[i], second = rows[i + STEP];
        rows[i] = crossed<STEP, false>(first, second, lanes);
        rows[i + STEP] = crossed<STEP, true>(first, second, lanes);
    }
    if constexpr (STEP > 1) turn_square<STEP / 2>(rows);
}

// The first `count` rows of (rows, dim) as columns of (dim, KEYS), zeros beyond. dim is a multiple of W.
void transposed(float *to, const float *from, long stride, long count, long dim) {
    for (long first = 0; first < KEYS; first += W)
        for (long d = 0; d < dim; d += W) {
            Lanes square[W];
            for (int i = 0; i < W; i++)
                square[i] = first + i < count ? load(from + (first + i) * stride + d) : Lanes{};
            turn_square<W / 2>(square);
            for (int i = 0; i < W; i++) store(to + (d + i) * KEYS + first, square[i]);
        }
}

// Scores of M queries with the keys of a tile.
template <int M> inline void products(Lanes (&s)[M][COLUMNS], const float *const *rows, const float *columns, long dim) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < COLUMNS; j++) s[i][j] = Lanes{};
    for (long d = 0; d < dim; d++) {
        Lanes column[COLUMNS];
        for (int j = 0; j < COLUMNS; j++) column[j] = load(columns + d * KEYS + j * W);
        for (int i = 0; i < M; i++) {
            const Lanes one = all(rows[i][d]);
            for (int j = 0; j < COLUMNS; j++) s[i][j] += column[j] * one;
        }
    }
}

// to[i] = scale[i] * to[i] + sum over `count` rows k of weights[i * across + k * along] * rows[k], for N vectors.
template <int M, int N>
inline void gather(float *const *to, const float *scale, const float *weights, long across, long along,
                   const float *rows, long stride, long count) {
    Lanes sum[M][N];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) sum[i][j] = load(to[i] + j * W) * scale[i];
    for (long k = 0; k < count; k++) {
        Lanes row[N];
        for (int j = 0; j < N; j++) row[j] = load(rows + k * stride + j * W);
        for (int i = 0; i < M; i++) {
            const Lanes weight = all(weights[i * across + k * along]);
            for (int j = 0; j < N; j++) sum[i][j] += row[j] * weight;
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

constexpr int64_t GATES = 4096; // Elements of an item of the gated kernels.

// 1 / (1 + exp(-x))
inline Lanes sigmoid(Lanes x) {
    const Lanes power = x * -LOG2_E;
    return 1.0f / (1.0f + exp2_of(power > 126.0f ? all(126.0f) : power));
}

// Calls body with vectors of `read`, whose place it gives those of `written`; the last ones may be whole only in part.
template <int R, int N, class Body>
inline void by_lanes(const float *const (&read)[R], float *const (&written)[N], long first, long last, Body body) {
    constexpr int MOST = R > N ? R : N;
    for (long i = first; i < last; i += W) {
        const size_t size = sizeof(float) * std::min<long>(W, last - i);
        Lanes x[MOST] = {};
        for (int n = 0; n < R; n++) size == sizeof(Lanes) ? void(x[n] = load(read[n] + i)) : void(std::memcpy(&x[n], read[n] + i, size));
        body(x);
        for (int n = 0; n < N; n++) size == sizeof(Lanes) ? store(written[n] + i, x[n]) : void(std::memcpy(written[n] + i, &x[n], size));
    }
}

// Calls body with the number of rows as a constant: ROWS of them, or what is left.
template <int M, class Body> inline void with_rows(long left, Body body) {
    if (left >= M) return body(std::integral_constant<int, M>{});
    if constexpr (M > 1) with_rows<M - 1>(left, body);
}

// Keys [0, limit) count: those of a query before the end, and up to itself where attention is causal.
inline Lanes masked(Lanes s, Whole numbers, long first, long limit) {
    return numbers + (int32_t)first < (int32_t)limit ? s : all(-std::numeric_limits<float>::infinity());
}

// A range of queries, of an order of all queries or of themselves, that looks at neighbouring keys.
struct Visit {
    int64_t first, last; // Queries.
    int64_t keys, count; // The first key, in steps of kv_token, and how many there are.
    int64_t is_causal;   // The last query sees all of them, the one before it all but one, and so on.
};

// Queries, and the visits that no other family shares them with.
struct Family {
    int64_t first, last;
    int64_t first_visit, last_visit;
};

struct Running { // Of a query's softmax: its greatest score so far in units of ln 2, and its sum, lane by lane.
    Lanes sum;
    float greatest;
};

} // namespace

extern "C" {

// What Visit and Family are to a caller: rows of five and of four int64.
struct Attention {
    const float *query; // (queries, heads, dim)
    const float *key;   // kv_token and kv_head are the strides of keys and values
    const float *value;
    float *out;        // (queries, heads, dim)
    float *normaliser; // (queries, heads), in units of ln 2, or null
    const int64_t *order; // of queries, or null
    const Family *families;
    const Visit *visits;
    int64_t query_stride, kv_token, kv_head, out_stride;
    int64_t heads, repeats; // query heads, and how many of them share a key head
    int64_t fold;           // query heads that are worked on together: 1 or repeats
    int64_t dim;
    float scale;
};

// Items are (family, heads / fold), the latter innermost.
void attend(const Attention *a, int64_t begin, int64_t end) {
    const long dim = a->dim, fold = a->fold, shares = a->heads / fold;
    const float factor = a->scale * LOG2_E;
    std::vector<float> columns(dim * KEYS);
    std::vector<Running> running;
    float weights[ROWS * KEYS];
    for (long item = begin; item < end; item++) {
        const Family &family = a->families[item / shares];
        const long head = item % shares * fold;
        const auto row_of = [&](long query) { return a->order ? a->order[query] : query; };
        const auto out_of = [&](long query, long j) { return a->out + row_of(query) * a->out_stride + (head + j) * dim; };
        running.assign((family.last - family.first) * fold, {Lanes{}, -std::numeric_limits<float>::infinity()});
        for (long query = family.first; query < family.last; query++)
            std::memset(out_of(query, 0), 0, sizeof(float) * dim * fold);
        for (long v = family.first_visit; v < family.last_visit; v++) {
            const Visit &visit = a->visits[v];
            const long at = visit.keys * a->kv_token + head / a->repeats * a->kv_head;
            const long asking = visit.last - visit.first;
            for (long first = 0; first < visit.count; first += KEYS) {
                const long count = std::min<long>(KEYS, visit.count - first);
                const float *value = a->value + at + first * a->kv_token;
                // Queries before this one see none of the tile.
                const long start = visit.is_causal ? std::max<long>(0, first - (visit.count - asking)) : 0;
                if (start >= asking) break;
                transposed(columns.data(), a->key + at + first * a->kv_token, a->kv_token, count, dim);
                for (long q = start * fold; q < asking * fold;) {
                    with_rows<ROWS>(asking * fold - q, [&](auto m) {
                        constexpr int M = decltype(m)::value;
                        const float *rows[M];
                        float *outs[M], keeping[M];
                        Running *state[M];
                        for (int i = 0; i < M; i++) {
                            const long query = visit.first + (q + i) / fold, j = (q + i) % fold;
                            rows[i] = a->query + row_of(query) * a->query_stride + (head + j) * dim;
                            outs[i] = out_of(query, j);
                            state[i] = &running[(query - family.first) * fold + j];
                        }
                        Lanes s[M][COLUMNS];
                        products<M>(s, rows, columns.data(), dim);
                        const long seen = visit.is_causal ? visit.count - asking + q / fold + 1 : visit.count;
                        if (first + KEYS > seen) {
                            const Whole numbers = lane_numbers();
                            for (int i = 0; i < M; i++) {
                                const long limit =
                                    visit.is_causal ? visit.count - asking + (q + i) / fold + 1 : visit.count;
                                for (int j = 0; j < COLUMNS; j++)
                                    s[i][j] = masked(s[i][j], numbers, first + j * W, limit);
                            }
                        }
                        for (int i = 0; i < M; i++) {
                            Lanes most = s[i][0];
                            for (int j = 1; j < COLUMNS; j++) most = s[i][j] > most ? s[i][j] : most;
                            const float before = state[i]->greatest;
                            const float now = std::max(before, greatest(most) * factor);
                            keeping[i] = before == now ? 1.0f : std::exp2(before - now);
                            Lanes sum = state[i]->sum * keeping[i];
                            for (int j = 0; j < COLUMNS; j++) {
                                const Lanes weight = exp2_of(s[i][j] * factor - now);
                                store(weights + i * KEYS + j * W, weight);
                                sum += weight;
                            }
                            *state[i] = {sum, now};
                        }
                        gathered<M>(outs, keeping, weights, KEYS, 1, value, a->kv_token, count, dim);
                        q += M;
                    });
                }
            }
        }
        for (long query = family.first; query < family.last; query++)
            for (long j = 0; j < fold; j++) {
                const Running &state = running[(query - family.first) * fold + j];
                const float total = sum_of(state.sum);
                float *out = out_of(query, j);
                for (long d = 0; d < dim; d++) out[d] *= 1.0f / total;
                if (a->normaliser)
                    a->normaliser[row_of(query) * a->heads + head + j] = state.greatest + std::log2(total);
            }
    }
}

struct AttentionGradient {
    Attention forward; // with all that it gave, and no order
    const float *grad; // (queries, heads, dim), as out
    float *to_query;   // (queries, heads, dim)
    float *to_key;     // (keys, heads, dim): of each query head apart, and added to
    float *to_value;   // the same
    int64_t grad_stride, to_stride;
};

// Items are (family, head).
void attend_backward(const AttentionGradient *g, int64_t begin, int64_t end) {
    const Attention *a = &g->forward;
    const long dim = a->dim;
    const float factor = a->scale * LOG2_E;
    std::vector<float> keys(dim * KEYS), values(dim * KEYS), for_keys(dim * KEYS), for_values(dim * KEYS), dots;
    std::vector<float> weights(BLOCK * KEYS), changes(BLOCK * KEYS);
    const float ones[SLIM] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (long item = begin; item < end; item++) {
        const Family &family = a->families[item / a->heads];
        const long head = item % a->heads, own = head * dim;
        dots.assign(family.last - family.first, 0.0f);
        for (long query = family.first; query < family.last; query++) {
            const float *grad = g->grad + query * g->grad_stride + own, *out = a->out + query * a->out_stride + own;
            Lanes dot{};
            for (long d = 0; d < dim; d += W) dot += load(grad + d) * load(out + d);
            dots[query - family.first] = sum_of(dot);
            std::memset(g->to_query + query * g->to_stride + own, 0, sizeof(float) * dim);
        }
        for (long v = family.first_visit; v < family.last_visit; v++) {
            const Visit &visit = a->visits[v];
            const long asking = visit.last - visit.first;
            for (long first = 0; first < visit.count; first += KEYS) {
                const long count = std::min<long>(KEYS, visit.count - first);
                const long start = visit.is_causal ? std::max<long>(0, first - (visit.count - asking)) : 0;
                if (start >= asking) break;
                const long at = (visit.keys + first) * a->kv_token + head / a->repeats * a->kv_head;
                transposed(keys.data(), a->key + at, a->kv_token, count, dim);
                transposed(values.data(), a->value + at, a->kv_token, count, dim);
                std::fill(for_keys.begin(), for_keys.end(), 0.0f);
                std::fill(for_values.begin(), for_values.end(), 0.0f);
                for (long block = start; block < asking; block += BLOCK) {
                    const long size = std::min<long>(BLOCK, asking - block);
                    const long base = visit.first + block;
                    for (long q = 0; q < size;) {
                        with_rows<ROWS>(size - q, [&](auto m) {
                            constexpr int M = decltype(m)::value;
                            const float *rows[M], *grads[M];
                            float *to[M];
                            for (int i = 0; i < M; i++) {
                                rows[i] = a->query + (base + q + i) * a->query_stride + own;
                                grads[i] = g->grad + (base + q + i) * g->grad_stride + own;
                                to[i] = g->to_query + (base + q + i) * g->to_stride + own;
                            }
                            Lanes s[M][COLUMNS];
                            products<M>(s, rows, keys.data(), dim);
                            const long seen = visit.is_causal ? visit.count - asking + block + q + 1 : visit.count;
                            if (first + KEYS > seen) {
                                const Whole numbers = lane_numbers();
                                for (int i = 0; i < M; i++)
                                    for (int j = 0; j < COLUMNS; j++)
                                        s[i][j] = masked(s[i][j], numbers, first + j * W,
                                                         visit.is_causal ? seen + i : visit.count);
                            }
                            for (int i = 0; i < M; i++) {
                                const float total = a->normaliser[(base + q + i) * a->heads + head];
                                for (int j = 0; j < COLUMNS; j++)
                                    store(&weights[(q + i) * KEYS + j * W], exp2_of(s[i][j] * factor - total));
                            }
                            products<M>(s, grads, values.data(), dim);
                            for (int i = 0; i < M; i++) {
                                const float dot = dots[base + q + i - family.first];
                                for (int j = 0; j < COLUMNS; j++)
                                    store(&changes[(q + i) * KEYS + j * W],
                                          load(&weights[(q + i) * KEYS + j * W]) * (s[i][j] - dot));
                            }
                            gathered<M>(to, ones, &changes[q * KEYS], KEYS, 1, a->key + at, a->kv_token, count, dim);
                            q += M;
                        });
                    }
                    for (long key = 0; key < count; key += SLIM) {
                        float *to_key[SLIM], *to_value[SLIM];
                        for (int i = 0; i < SLIM; i++) {
                            to_key[i] = &for_keys[(key + i) * dim];
                            to_value[i] = &for_values[(key + i) * dim];
                        }
                        gathered<SLIM>(to_value, ones, &weights[key], 1, KEYS, g->grad + base * g->grad_stride + own,
                                       g->grad_stride, size, dim);
                        gathered<SLIM>(to_key, ones, &changes[key], 1, KEYS, a->query + base * a->query_stride + own,
                                       a->query_stride, size, dim);
                    }
                }
                for (long key = 0; key < count; key++) {
                    float *to_key = g->to_key + (visit.keys + first + key) * g->to_stride + own;
                    float *to_value = g->to_value + (visit.keys + first + key) * g->to_stride + own;
                    for (long d = 0; d < dim; d++) {
                        to_key[d] += for_keys[key * dim + d] * a->scale;
                        to_value[d] += for_values[key * dim + d];
                    }
                }
            }
        }
        for (long query = family.first; query < family.last; query++) {
            float *to = g->to_query + query * g->to_stride + own;
            for (long d = 0; d < dim; d++) to[d] *= a->scale;
        }
    }
}

// Items are rows of x: out = x * r * weight with r = 1 / sqrt(mean(x^2) + epsilon), which is kept where it is wanted.
void rms_norm(const float *x, const float *weight, float epsilon, float *out, float *kept, int64_t width, int64_t begin,
              int64_t end) {
    for (long row = begin; row < end; row++) {
        const float *from = x + row * width;
        float *to = out + row * width;
        float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
        for (long i = 0; i < width; i++) squares += from[i] * from[i];
        const float r = 1.0f / std::sqrt(squares / width + epsilon);
        for (long i = 0; i < width; i++) to[i] = from[i] * r * weight[i];
        if (kept) kept[row] = r;
    }
}

// Items are blocks of 256 rows, each with sums of its own for the weight's gradient, (blocks, width).
// to_x may be grad; it is added to `more` where there is one.
void rms_norm_backward(const float *grad, const float *x, const float *weight, const float *kept, const float *more,
                       float *to_x, float *to_weight, int64_t width, int64_t rows, int64_t begin, int64_t end) {
    for (long block = begin; block < end; block++) {
        float *sums = to_weight + block * width;
        std::fill(sums, sums + width, 0.0f);
        for (long row = block * 256; row < std::min<long>(rows, (block + 1) * 256); row++) {
            const float *of = grad + row * width, *from = x + row * width;
            const float r = kept[row];
            float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
            for (long i = 0; i < width; i++) {
                sums[i] += of[i] * from[i] * r;
                dot += of[i] * weight[i] * from[i];
            }
            const float share = dot * r * r * r / width;
            float *to = to_x + row * width;
            if (more)
                for (long i = 0; i < width; i++)
                    to[i] = more[row * width + i] + (of[i] * weight[i] * r - from[i] * share);
            else
                for (long i = 0; i < width; i++) to[i] = of[i] * weight[i] * r - from[i] * share;
        }
    }
}

struct Turning {
    const float *from; // (tokens, heads * repeats, dim)
    float *to;         // (tokens, heads, dim): the sum over repeats, turned
    const float *cosines, *sines; // (tokens, dim / 2); null for the sum alone
    const int64_t *places;        // where each token goes, in steps of to_token; null for its own place
    int64_t from_token, to_token, to_head;
    int64_t heads, repeats, dim;
    float direction; // 1, or -1 to turn back
};

// Items are tokens. Rotary positions: the pairs (x[i], x[i + dim / 2]) are turned by their angles.
void turn(const Turning *t, int64_t begin, int64_t end) {
    const long half = t->dim / 2;
    std::vector<float> sum(t->dim);
    for (long token = begin; token < end; token++) {
        const float *cosines = t->cosines + token * half, *sines = t->sines + token * half;
        float *to = t->to + (t->places ? t->places[token] : token) * t->to_token;
        for (long head = 0; head < t->heads; head++, to += t->to_head) {
            const float *from = t->from + token * t->from_token + head * t->repeats * t->dim;
            if (t->repeats > 1) {
                std::copy(from, from + t->dim, sum.begin());
                for (long other = 1; other < t->repeats; other++)
                    for (long i = 0; i < t->dim; i++) sum[i] += from[other * t->dim + i];
                from = sum.data();
            }
            if (!t->cosines) {
                std::memmove(to, from, sizeof(float) * t->dim);
                continue;
            }
            for (long i = 0; i < half; i++) {
                const float x = from[i], y = from[i + half], sine = sines[i] * t->direction;
                to[i] = x * cosines[i] - y * sine;
                to[i + half] = y * cosines[i] + x * sine;
            }
        }
    }
}

// out = gate * sigmoid(gate) * up; items are GATES elements each. out may be gate.
void gated(const float *gate, const float *up, float *out, int64_t count, int64_t begin, int64_t end) {
    by_lanes({gate, up}, {out}, begin * GATES, std::min<long>(count, end * GATES),
             [](Lanes(&x)[2]) { x[0] = x[0] * sigmoid(x[0]) * x[1]; });
}

// In place: gate and up become their gradients, and grad what `gated` gave.
void gated_backward(float *grad, float *gate, float *up, int64_t count, int64_t begin, int64_t end) {
    by_lanes({grad, gate, up}, {grad, gate, up}, begin * GATES, std::min<long>(count, end * GATES), [](Lanes(&x)[3]) {
        const Lanes grad = x[0], gate = x[1], up = x[2], share = sigmoid(gate), active = gate * share;
        x[0] = active * up;
        x[1] = grad * up * share * (1.0f + gate * (1.0f - share));
        x[2] = grad * active;
    });
}

// Items are rows of logits. With p = exp(logit - greatest), tokens gets the first whose cumulative p exceeds that share of
// all p, or the likeliest where the share is negative, and logprobs its log p; NaN among the logits gives NaN.
void draw(const float *logits, const double *shares, int64_t *tokens, double *logprobs, int64_t width, int64_t begin,
          int64_t end) {
    constexpr long STRETCH = 1024; // Added up in fp32, and these sums in double precision.
    const long stretches = (width + STRETCH - 1) / STRETCH;
    std::vector<float> p(stretches * STRETCH);
    std::vector<double> sums(stretches);
    for (long row = begin; row < end; row++) {
        const float *from = logits + row * width;
        float greatest = from[0];
#pragma omp simd reduction(max : greatest)
        for (long i = 0; i < width; i++) greatest = from[i] > greatest ? from[i] : greatest;
        std::fill(p.begin() + width, p.end(), 0.0f);
        by_lanes({from}, {p.data()}, 0, width, [&](Lanes(&x)[1]) { x[0] = exp2_of((x[0] - greatest) * LOG2_E); });
        double total = 0.0;
        for (long stretch = 0; stretch < stretches; stretch++) {
            Lanes sum{};
            for (long i = 0; i < STRETCH; i += W) sum += load(&p[stretch * STRETCH + i]);
            total += sums[stretch] = sum_of(sum);
        }
        long token = 0;
        if (shares[row] < 0.0) {
            token = std::min<long>(std::find(from, from + width, greatest) - from, width - 1);
        } else {
            // In an order of its own within a stretch, so a rounding may find nothing there: the last p above 0 is next.
            double left = shares[row] * total;
            long stretch = 0;
            while (stretch + 1 < stretches && left >= sums[stretch]) left -= sums[stretch++];
            for (long i = stretch * STRETCH; i < std::min<long>(width, (stretch + 1) * STRETCH); i++) {
                if (p[i] > 0.0f) token = i;
                if (left < p[i]) break;
                left -= p[i];
            }
        }
        tokens[row] = token;
        logprobs[row] = (double)from[token] - greatest - std::log(total);
    }
}
}
