// Products of many rows with both factors in bf16 by AMX, for packs and prompts: each factor is rounded and laid in tiles once.

#include "tiles.h"

#include <memory>

extern "C" {

struct Factors {
    const float *left, *right;
    int64_t left_row, left_step;      // Strides of rows and depth, one of which is 1,
    int64_t right_step, right_column; // and of depth and columns, one of which is 1.
    int64_t depth;
};

// out = left * right for both pairs of factors + bias + added, of factors in bf16 and sums in fp32; out may be added, and the
// depth of a pair 0. `tiles` is room for both left sides: (blocks of TILE rows, blocks of DEEP, TILE, DEEP).
struct TiledProduct {
    Factors factors[2];
    const float *bias, *added;
    float *out;
    uint16_t *tiles;
    int64_t added_row, out_row; // Strides.
    int64_t rows, columns;
};
}

#if HAS_AMX
namespace {

constexpr long PAIR = 2 * TILE;  // Rows and columns that meet in registers.
constexpr long PANEL = 16 * PAIR; // Columns of the right side whose tiles are kept at once,
constexpr long STEPS = 32;        // and as many blocks of its depth: half of a core's own cache.

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

long steps_of(const Factors &factors) { return (factors.depth + DEEP - 1) / DEEP; }
long steps_of(const TiledProduct &p) { return steps_of(p.factors[0]) + steps_of(p.factors[1]); }

// A block of depth of either pair of factors.
struct Block {
    const Factors &factors;
    long start, deep; // Where it begins in the factors, and what is there from it on.
    Block(const TiledProduct &p, long step) : Block(p.factors[step >= steps_of(p.factors[0])], p, step) {}

  private:
    Block(const Factors &of, const TiledProduct &p, long step)
        : factors(of), start((&of == p.factors ? step : step - steps_of(p.factors[0])) * DEEP), deep(of.depth - start) {}
};

struct Sums {
    float *at;
    long row; // Stride.
};

// M tiles of rows with N of columns, added to what is `before`, where there is any; tiles of a side lie `apart`.
template <int M, int N>
void meet(Sums out, Sums before, const uint16_t *left, long left_apart, const uint16_t *right, long right_apart, long steps) {
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
    for (long k = 0; k < steps; k++) {
        _tile_loadd(4, left + k * NUMBERS, 64);
        _tile_loadd(6, right + k * NUMBERS, 64);
        _tile_dpbf16ps(0, 4, 6);
        if constexpr (N > 1) {
            _tile_loadd(7, right + right_apart + k * NUMBERS, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if constexpr (M > 1) {
            _tile_loadd(5, left + left_apart + k * NUMBERS, 64);
            _tile_dpbf16ps(2, 5, 6);
        }
        if constexpr (M > 1 && N > 1) _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out.at, out.row * 4);
    if constexpr (N > 1) _tile_stored(1, out.at + TILE, out.row * 4);
    if constexpr (M > 1) _tile_stored(2, out.at + TILE * out.row, out.row * 4);
    if constexpr (M > 1 && N > 1) _tile_stored(3, out.at + TILE * out.row + TILE, out.row * 4);
}

void copy(Sums to, Sums from, long rows, long columns) {
    for (long i = 0; i < rows; i++) std::copy(from.at + i * from.row, from.at + i * from.row + columns, to.at + i * to.row);
}

// A pair of blocks of rows with one of columns, `wide` of which are there, over `steps` blocks of depth from `step` on.
void meet_at(const TiledProduct &p, long row, long column, long wide, long step, long steps, const uint16_t *right) {
    alignas(64) float edge[PAIR * PAIR];
    const long apart = steps_of(p) * NUMBERS, high = std::min<long>(PAIR, p.rows - row);
    const uint16_t *left = p.tiles + row / TILE * apart + step * NUMBERS;
    const Sums out{p.out + row * p.out_row + column, p.out_row};
    Sums to = out, before = out;
    if (!step) before = p.added ? Sums{(float *)p.added + row * p.added_row + column, p.added_row} : Sums{};
    const bool is_edge = high < PAIR || wide < PAIR;
    if (is_edge) {
        to = {edge, PAIR};
        if (before.at) copy(to, before, high, wide), before = to;
    }
    const auto met = high > TILE ? (wide > TILE ? meet<2, 2> : meet<2, 1>) : (wide > TILE ? meet<1, 2> : meet<1, 1>);
    met(to, before, left, apart, right, steps * NUMBERS, steps);
    if (is_edge) copy(out, to, high, wide);
}

void add_bias(const TiledProduct &p, long begin, long end) {
    for (long row = 0; row < p.rows; row++)
        for (long at = begin; at < end; at += W) {
            float *out = p.out + row * p.out_row + at;
            store_some(out, load_some(out, end - at) + load_some(p.bias + at, end - at), end - at);
        }
}

} // namespace
#endif

extern "C" {
#if HAS_AMX

// Items are blocks of TILE rows of the left side.
void lay_tiles(const TiledProduct *product, int64_t begin, int64_t end) {
    const TiledProduct &p = *product;
    const long steps = steps_of(p);
    for (long block = begin; block < end; block++)
        for (long step = 0; step < steps; step++) {
            const Block at(p, step);
            uint16_t *tile = p.tiles + (block * steps + step) * NUMBERS;
            const long row = at.factors.left_row, deep = at.factors.left_step, count = p.rows - block * TILE;
            const float *from = at.factors.left + block * TILE * row + at.start * deep;
            if (deep == 1) lay_rows(tile, from, row, count, at.deep);
            else lay_columns(tile, from, deep, count, at.deep);
        }
}

// Items are blocks of PAIR columns.
void multiply_tiles(const TiledProduct *product, int64_t begin, int64_t end) {
    const TiledProduct &p = *product;
    const TileShapes shapes;
    _tile_loadconfig(&shapes);
    const long steps = steps_of(p), last = std::min<long>(p.columns, end * PAIR);
    // Not zeroed: what is read has been laid before.
    const std::unique_ptr<Lanes[]> kept(new Lanes[PANEL / TILE * std::min(STEPS, steps) * NUMBERS / (2 * W)]);
    uint16_t *right = (uint16_t *)kept.get();
    for (long first = begin * PAIR; first < last; first += PANEL) {
        const long stop = std::min<long>(last, first + PANEL);
        for (long step = 0; step < steps; step += STEPS) {
            const long count = std::min<long>(STEPS, steps - step), apart = count * NUMBERS;
            for (long column = first; column < stop; column += TILE)
                for (long k = 0; k < count; k++) {
                    const Block at(p, step + k);
                    uint16_t *tile = right + (column - first) / TILE * apart + k * NUMBERS;
                    const long wide = at.factors.right_column, deep = at.factors.right_step;
                    const float *from = at.factors.right + column * wide + at.start * deep;
                    if (wide == 1) pair_rows(tile, from, deep, stop - column, at.deep);
                    else pair_columns(tile, from, wide, stop - column, at.deep);
                }
            for (long row = 0; row < p.rows; row += PAIR)
                for (long column = first; column < stop; column += PAIR)
                    meet_at(p, row, column, std::min<long>(PAIR, stop - column), step, count,
                            right + (column - first) / TILE * apart);
        }
        if (p.bias) add_bias(p, first, stop);
    }
    _tile_release();
}
#endif
}
