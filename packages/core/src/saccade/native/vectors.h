// Vectors of floats, whatever the compiler has, for kernels in fp32 behind a plain C interface; one thread each.
//
// Every kernel works on items [begin, end), which are independent of one another, so that callers may spread them over
// threads; a result does not depend on how. Pointers are to contiguous last dimensions; strides are in elements.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>
#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__)
constexpr int W = 16; // Floats of a vector.
#else
constexpr int W = 8;
#endif

typedef float Lanes __attribute__((vector_size(4 * W)));
typedef float Anywhere __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t Whole __attribute__((vector_size(4 * W)));

// What lies in registers must not go through memory, which it would at a call.
#define ALWAYS_INLINE [[gnu::always_inline]] inline

// Before a loop over an array of vectors that shall stay in registers. Where the compiler leaves one such loop rolled up, each
// vector is found by its number, so the array lies in memory and is written there at every step of the loops before it.
#define UNROLLED _Pragma("GCC unroll 16")

namespace {

inline Lanes load(const float *from) { return *(const Anywhere *)from; }
inline void store(float *to, Lanes lanes) { *(Anywhere *)to = lanes; }
inline Lanes all(float value) { return value - Lanes{}; }

// a * b + c, rounded once where the processor can. A compiler that fuses some of the loops over the same row, and others
// not, would make a row depend on its place among the others.
ALWAYS_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
#if defined(__AVX512F__)
    return (Lanes)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (Lanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

inline Whole lane_numbers() {
    Whole numbers;
    for (int lane = 0; lane < W; lane++) numbers[lane] = lane;
    return numbers;
}

// The first `count` lanes of a vector, zeros beyond them; by a mask, since a call to copy a few floats costs more than a tile.
ALWAYS_INLINE Lanes load_some(const float *from, long count) {
    if (count >= W) return load(from);
#if defined(__AVX512F__)
    return (Lanes)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#elif defined(__AVX2__)
    return (Lanes)_mm256_maskload_ps(from, (__m256i)(lane_numbers() < (int32_t)count));
#else
    Lanes lanes{};
    std::memcpy(&lanes, from, sizeof(float) * count);
    return lanes;
#endif
}
ALWAYS_INLINE void store_some(float *to, Lanes lanes, long count) {
    if (count >= W) return store(to, lanes);
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)lanes);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(to, (__m256i)(lane_numbers() < (int32_t)count), (__m256)lanes);
#else
    std::memcpy(to, &lanes, sizeof(float) * count);
#endif
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
ALWAYS_INLINE Lanes exp2_of(Lanes x) {
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

// 1 / (1 + exp(-x))
inline Lanes sigmoid(Lanes x) {
    const Lanes power = x * -LOG2_E;
    return 1.0f / (1.0f + exp2_of(power > 126.0f ? all(126.0f) : power));
}

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
template <int STEP> inline void transpose_square(Lanes (&rows)[W]) {
    constexpr auto lanes = std::make_integer_sequence<int, W>{};
    for (int i = 0; i < W; i++) {
        if (i & STEP) continue;
        const Lanes first = rows[i], second = rows[i + STEP];
        rows[i] = crossed<STEP, false>(first, second, lanes);
        rows[i + STEP] = crossed<STEP, true>(first, second, lanes);
    }
    if constexpr (STEP > 1) transpose_square<STEP / 2>(rows);
}

} // namespace
