// What products of bf16 factors share: a tile is TILE rows of DEEP numbers in bf16, or of TILE in fp32; matrices in fp32 are laid
// in them. Tiles are multiplied by AMX or, without it, by AVX-512's dot products of pairs.

#pragma once

#include "vectors.h"

#if defined(__AMX_BF16__) && defined(__AVX512BF16__)
#define HAS_AMX 1
#else
#define HAS_AMX 0
#endif
#if HAS_AMX || (defined(__AVX512BF16__) && defined(__AVX512BW__))
#define HAS_DOTS 1
#else
#define HAS_DOTS 0
#endif

namespace {

constexpr long TILE = 16, DEEP = 32, NUMBERS = TILE * DEEP;

#if HAS_DOTS
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

// A matrix in fp32.
struct Sums {
    float *at;
    long row; // Stride.
};

// Tiles of two sides, `M` by `N` of which meet at once; those of a side lie `apart`, and sums are of `steps` tiles in depth.
struct Sides {
    const uint16_t *left;
    long left_apart;
    const uint16_t *right;
    long right_apart;
    long steps;
};

#if HAS_AMX
// The registers of tiles, while it lives.
struct TileRegisters {
    struct alignas(64) Shapes {
        uint8_t palette = 1, start = 0, unused[14] = {};
        uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    TileRegisters() {
        const Shapes shapes;
        _tile_loadconfig(&shapes);
    }
    ~TileRegisters() { _tile_release(); }
};

// M tiles of rows with N of columns, added to what is `before`, where there is any; what is ONCE on the left is read from memory.
template <int M, int N, bool ONCE = false> void meet(Sums out, Sums before, const Sides &of) {
    if (before.at) {
        _tile_loadd(0, before.at, before.row * 4);
        if constexpr (N > 1) _tile_loadd(1, before.at + TILE, before.row * 4);
        if constexpr (M > 1) _tile_loadd(2, before.at + TILE * before.row, before.row * 4);
        if constexpr (M > 1 && N > 1) _tile_loadd(3, before.at + TILE * before.row + TILE, before.row * 4);
    } else {
        _tile_zero(0);
        if constexpr (N > 1) _tile_zero(1);
        if constexpr (M > 1) _tile_zero(2);
        if constexpr (M > 1 && N > 1) _tile_zero(3);
    }
    for (long k = 0; k < of.steps; k++) {
        if constexpr (ONCE) _tile_stream_loadd(4, of.left + k * NUMBERS, 64);
        else _tile_loadd(4, of.left + k * NUMBERS, 64);
        _tile_loadd(6, of.right + k * NUMBERS, 64);
        _tile_dpbf16ps(0, 4, 6);
        if constexpr (N > 1) {
            _tile_loadd(7, of.right + of.right_apart + k * NUMBERS, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if constexpr (M > 1) {
            if constexpr (ONCE) _tile_stream_loadd(5, of.left + of.left_apart + k * NUMBERS, 64);
            else _tile_loadd(5, of.left + of.left_apart + k * NUMBERS, 64);
            _tile_dpbf16ps(2, 5, 6);
        }
        if constexpr (M > 1 && N > 1) _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out.at, out.row * 4);
    if constexpr (N > 1) _tile_stored(1, out.at + TILE, out.row * 4);
    if constexpr (M > 1) _tile_stored(2, out.at + TILE * out.row, out.row * 4);
    if constexpr (M > 1 && N > 1) _tile_stored(3, out.at + TILE * out.row + TILE, out.row * 4);
}
#else
struct TileRegisters {
    ~TileRegisters() {}
};

// M tiles of rows with N of columns, added to what is `before`, where there is any. The sums of as many rows as fit are in
// registers over all depth.
template <int M, int N, bool = false> void meet(Sums out, Sums before, const Sides &of) {
    constexpr int ROWS = TILE / N;
    for (long row = 0; row < M * TILE; row += ROWS) {
        Lanes sums[ROWS][N];
        UNROLLED
        for (int i = 0; i < ROWS; i++)
            for (int n = 0; n < N; n++) sums[i][n] = before.at ? load(before.at + (row + i) * before.row + n * TILE) : Lanes{};
        const uint16_t *left = of.left + row / TILE * of.left_apart + row % TILE * DEEP;
        for (long k = 0; k < of.steps; k++)
            for (long pair = 0; pair < DEEP; pair += 2) {
                Lanes columns[N];
                UNROLLED
                for (int n = 0; n < N; n++)
                    columns[n] = load((const float *)(of.right + n * of.right_apart + k * NUMBERS + pair * TILE));
                UNROLLED
                for (int i = 0; i < ROWS; i++) {
                    int32_t numbers;
                    std::memcpy(&numbers, left + k * NUMBERS + i * DEEP + pair, sizeof numbers);
                    const __m512bh both = (__m512bh)_mm512_set1_epi32(numbers);
                    for (int n = 0; n < N; n++)
                        sums[i][n] = (Lanes)_mm512_dpbf16_ps((__m512)sums[i][n], both, (__m512bh)columns[n]);
                }
            }
        UNROLLED
        for (int i = 0; i < ROWS; i++)
            for (int n = 0; n < N; n++) store(out.at + (row + i) * out.row + n * TILE, sums[i][n]);
    }
}
#endif
#endif

} // namespace
