// MaxSim over many pages: for each vector of a query its greatest product with a page's vectors, summed over the query.
// Several queries take one pass over the pages; what one of them scores does not depend on the others.

#include "vectors.h"

namespace {

constexpr int HIGH = 4;       // Vectors of a page that are multiplied at once,
constexpr int WIDE = 3;       // by as many groups of W query vectors: 12 sums, and 16 registers in AVX2.
constexpr long TOGETHER = 32; // Vectors of a page that are widened at once.

typedef Whole WholeAnywhere __attribute__((aligned(4), may_alias));

} // namespace

extern "C" {

// score[q * pages + i] of query q, whose vectors are rows [end[q - 1], end[q]) of `query`, with the page whose vectors are
// rows [first[i], beyond[i]), none of them empty.
struct PageScan {
    const void *vectors; // int8 (times `scale` of its row) or IEEE half precision,
    const float *scale;
    const int64_t *first, *beyond;
    const void *query;   // int16 (times `weight` of its row) for int8, otherwise float.
    const float *weight;
    const int64_t *end;
    float *score;
    int64_t queries, pages, depth; // Both kinds of rows are `depth` long, an even number.

    int64_t rows() const { return end[queries - 1]; } // Vectors of all queries together.
};
}

namespace {

// What the two precisions differ in: a vector of one step of the products, and a step of each.
struct Integers {
    typedef Whole Sum;
    typedef int16_t Number;
    static constexpr int STEP = 2; // Products that one instruction sums.

    ALWAYS_INLINE static Sum at(const Number *from) { return *(const WholeAnywhere *)from; }
    ALWAYS_INLINE static Sum everywhere(const Number *from) {
        int32_t pair;
        std::memcpy(&pair, from, sizeof pair);
        return pair - Whole{};
    }
    ALWAYS_INLINE static Sum more(Sum a, Sum b, Sum sum) {
#if defined(__AVX512BW__)
        return sum + (Sum)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__) && !defined(__AVX512F__)
        return sum + (Sum)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
        const Sum low_a = (Sum)((Sum)(a << 16) >> 16), low_b = (Sum)((Sum)(b << 16) >> 16);
        return sum + low_a * low_b + (a >> 16) * (b >> 16);
#endif
    }
    ALWAYS_INLINE static Lanes value(Sum sum, float scale) { return __builtin_convertvector(sum, Lanes) * all(scale); }
    static void widen(Number *to, const PageScan &p, int64_t row) {
        const int8_t *from = (const int8_t *)p.vectors + row * p.depth;
        for (long k = 0; k < p.depth; k++) to[k] = from[k];
    }
    static float scale(const PageScan &p, int64_t row) { return p.scale[row]; }
};

inline float of_half(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000) << 16, rest = half & 0x7fff;
    uint32_t bits = sign | ((rest << 13) + ((127 - 15) << 23));
    float value;
    if (rest < 0x0400) return (sign ? -1.0f : 1.0f) * float(rest) * 5.9604644775390625e-08f;
    if (rest >= 0x7c00) bits = sign | 0x7f800000 | (rest << 13);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct Floats {
    typedef Lanes Sum;
    typedef float Number;
    static constexpr int STEP = 1;

    ALWAYS_INLINE static Sum at(const Number *from) { return load(from); }
    ALWAYS_INLINE static Sum everywhere(const Number *from) { return all(*from); }
    ALWAYS_INLINE static Sum more(Sum a, Sum b, Sum sum) { return fused(a, b, sum); }
    ALWAYS_INLINE static Lanes value(Sum sum, float) { return sum; }
    static void widen(Number *to, const PageScan &p, int64_t row) {
        const uint16_t *from = (const uint16_t *)p.vectors + row * p.depth;
        long k = 0;
#if defined(__F16C__)
        for (; k + 8 <= p.depth; k += 8) _mm256_storeu_ps(to + k, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + k))));
#endif
        for (; k < p.depth; k++) to[k] = of_half(from[k]);
    }
    static float scale(const PageScan &, int64_t) { return 1.0f; }
};

// The query in groups of W vectors, one step of all of them side by side; beyond the last vector zeros.
template <class Kind> std::vector<typename Kind::Number> grouped(const PageScan &p, long groups) {
    std::vector<typename Kind::Number> to(groups * W * p.depth);
    const auto *from = (const typename Kind::Number *)p.query;
    for (long q = 0; q < p.rows(); q++)
        for (long k = 0; k < p.depth; k++)
            to[(q / W) * W * p.depth + (k / Kind::STEP) * W * Kind::STEP + (q % W) * Kind::STEP + k % Kind::STEP] =
                from[q * p.depth + k];
    return to;
}

// The greatest products of N groups with M vectors, into `best`. Unrolled, or the sums would be written to memory.
template <class Kind, int M, int N>
void tile(const typename Kind::Number *vectors, const float *scales, const typename Kind::Number *query, long depth, Lanes *best) {
    typename Kind::Sum sum[M][N] = {};
    for (long k = 0; k < depth; k += Kind::STEP) {
        typename Kind::Sum right[N];
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) right[j] = Kind::at(query + j * W * depth + k * W);
#pragma GCC unroll 8
        for (int i = 0; i < M; i++) {
            const typename Kind::Sum one = Kind::everywhere(vectors + i * depth + k);
#pragma GCC unroll 8
            for (int j = 0; j < N; j++) sum[i][j] = Kind::more(one, right[j], sum[i][j]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < M; i++)
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) {
            const Lanes value = Kind::value(sum[i][j], scales[i]);
            best[j] = value > best[j] ? value : best[j];
        }
}

// `count` vectors, a multiple of HIGH, with N groups.
template <class Kind, int N>
void tiles(const typename Kind::Number *vectors, const float *scales, const typename Kind::Number *query, long depth, long count,
           Lanes *best) {
    for (long i = 0; i < count; i += HIGH) tile<Kind, HIGH, N>(vectors + i * depth, scales + i, query, depth, best);
}

template <class Kind> void scan(const PageScan &p, int64_t begin, int64_t end) {
    const long groups = (p.rows() + W - 1) / W;
    const auto query = grouped<Kind>(p, groups);
    std::vector<typename Kind::Number> vectors(TOGETHER * p.depth);
    std::vector<Lanes> best(groups);
    float scales[TOGETHER];
    for (int64_t page = begin; page < end; page++) {
        std::fill(best.begin(), best.end(), all(-std::numeric_limits<float>::infinity()));
        for (int64_t row = p.first[page]; row < p.beyond[page]; row += TOGETHER) {
            const long count = std::min<int64_t>(TOGETHER, p.beyond[page] - row);
            const long filled = (count + HIGH - 1) / HIGH * HIGH;
            for (long i = 0; i < filled; i++) {
                // Beyond the last vector it stands again, which changes no maximum.
                const int64_t from = row + std::min(i, count - 1);
                Kind::widen(vectors.data() + i * p.depth, p, from);
                scales[i] = Kind::scale(p, from);
            }
            for (long group = 0; group < groups; group += WIDE) {
                const auto work = groups - group >= WIDE ? tiles<Kind, WIDE> : groups - group == 2 ? tiles<Kind, 2> : tiles<Kind, 1>;
                work(vectors.data(), scales, query.data() + group * W * p.depth, p.depth, filled, &best[group]);
            }
        }
        for (long asked = 0, q = 0; asked < p.queries; asked++) {
            double total = 0;
            for (; q < p.end[asked]; q++) total += double(best[q / W][q % W]) * p.weight[q];
            p.score[asked * p.pages + page] = float(total);
        }
    }
}

// As above, of vectors that are their signs alone, `depth` words of 64: the greatest share of signs that agree, less of
// those that do not.
template <long WORDS> void scan_signs(const PageScan &p, int64_t begin, int64_t end) {
    const long words = WORDS ? WORDS : p.depth;
    const auto *query = (const uint64_t *)p.query, *vectors = (const uint64_t *)p.vectors;
    for (int64_t page = begin; page < end; page++) {
        for (long asked = 0, q = 0; asked < p.queries; asked++) {
            double total = 0;
            for (; q < p.end[asked]; q++) {
                long least = 64 * words;
                for (int64_t row = p.first[page]; row < p.beyond[page]; row++) {
                    long apart = 0;
                    for (long k = 0; k < words; k++) apart += __builtin_popcountll(query[q * words + k] ^ vectors[row * words + k]);
                    least = std::min(least, apart);
                }
                total += (1.0 - double(least) / double(32 * words)) * p.weight[q];
            }
            p.score[asked * p.pages + page] = float(total);
        }
    }
}

} // namespace

extern "C" {

void score_pages_signs(const PageScan *p, int64_t begin, int64_t end) {
    p->depth == 2 ? scan_signs<2>(*p, begin, end) : p->depth == 1 ? scan_signs<1>(*p, begin, end) : scan_signs<0>(*p, begin, end);
}
void score_pages_int8(const PageScan *p, int64_t begin, int64_t end) { scan<Integers>(*p, begin, end); }
void score_pages_half(const PageScan *p, int64_t begin, int64_t end) { scan<Floats>(*p, begin, end); }
}
