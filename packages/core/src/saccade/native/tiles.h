// What kernels for AMX share: a tile is TILE rows of DEEP numbers in bf16, or of TILE in fp32; matrices in fp32 are laid in them.

#pragma once

#include "vectors.h"

#if defined(__AMX_BF16__) && defined(__AVX512BF16__)
#define HAS_AMX 1
#else
#define HAS_AMX 0
#endif

namespace {

constexpr long TILE = 16, DEEP = 32, NUMBERS = TILE * DEEP;

struct alignas(64) TileShapes {
    uint8_t palette = 1, start = 0, unused[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

#if HAS_AMX
ALWAYS_INLINE __m512i rounded(Lanes low, Lanes high) { return (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low); }

// `count` rows of a matrix with neighbours in depth as a tile; zeros below them and beyond `deep`.
void lay_rows(uint16_t *tile, const float *from, long row, long count, long deep) {
    for (long i = 0; i < TILE; i++) {
        const bool is_there = i < count;
        const Lanes low = is_there ? load_some(from + i * row, deep) : Lanes{};
        const Lanes high = is_there && deep > W ? load_some(from + i * row + W, deep - W) : Lanes{};
        _mm512_storeu_si512(tile + i * DEEP, rounded(low, high));
    }
}

// The same of one with neighbours in rows, `step` apart in depth.
void lay_columns(uint16_t *tile, const float *from, long step, long count, long deep) {
    Lanes squares[2][W];
    for (long half = 0; half < 2; half++) {
        for (long i = 0; i < W; i++) {
            const long k = half * W + i;
            squares[half][i] = k < deep ? load_some(from + k * step, count) : Lanes{};
        }
        transpose_square<W / 2>(squares[half]);
    }
    for (long i = 0; i < TILE; i++) _mm512_storeu_si512(tile + i * DEEP, rounded(squares[0][i], squares[1][i]));
}

// Columns of the right side with neighbours in depth side by side: (DEEP / 2, TILE, 2).
void pair_columns(uint16_t *tile, const float *from, long column, long count, long deep) {
    lay_rows(tile, from, column, count, deep);
    Lanes square[W];
    for (int i = 0; i < W; i++) std::memcpy(&square[i], tile + i * DEEP, sizeof(Lanes));
    transpose_square<W / 2>(square);
    for (int i = 0; i < W; i++) std::memcpy(tile + i * DEEP, &square[i], sizeof(Lanes));
}

// The same of a right side with neighbours in its columns.
void pair_rows(uint16_t *tile, const float *from, long step, long count, long deep) {
    alignas(64) static constexpr uint16_t TURNS[DEEP] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                         8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i by_turns = _mm512_load_si512(TURNS);
    for (long k = 0; k < DEEP; k += 2) {
        const Lanes even = k < deep ? load_some(from + k * step, count) : Lanes{};
        const Lanes odd = k + 1 < deep ? load_some(from + (k + 1) * step, count) : Lanes{};
        _mm512_storeu_si512(tile + k * TILE, _mm512_permutexvar_epi16(by_turns, rounded(even, odd)));
    }
}

// A tile of a right side, of `count` columns and what is there of its depth.
void lay_right(uint16_t *tile, const float *from, long step, long column, long count, long deep) {
    if (column == 1) pair_rows(tile, from, step, count, deep);
    else pair_columns(tile, from, column, count, deep);
}
#endif

} // namespace
