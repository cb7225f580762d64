// Products of many rows with both factors in bf16, for packs and prompts: each factor is rounded and laid in tiles once.

#include "tiles.h"

#include <memory>

extern "C" {

struct Factors {
    const float *left, *right;
    int64_t left_row, left_step;      // Strides of rows and depth, one of which is 1,
    int64_t right_step, right_column; // and of depth and columns, one of which is 1.
    int64_t depth;
};

// out = left * right + scale * low * right of the second factors + bias + added, of factors in bf16 and sums in fp32; out may
// be added, and the depth of the second factors 0. Their left side, low, neighbours in depth, is filled with left * between.
// `tiles` is room for both left sides: (blocks of TILE rows, blocks of DEEP, TILE, DEEP).
struct TiledProduct {
    Factors factors[2];
    const float *bias, *added, *between;
    float *out;
    uint16_t *tiles;
    int64_t added_row, out_row; // Strides.
    int64_t between_step, between_column; // Strides of depth and columns, one of which is 1.
    int64_t rows, columns;
    float scale;
};
}

#if HAS_DOTS
namespace {

constexpr long PAIR = 2 * TILE;  // Rows and columns that meet in registers.
constexpr long PANEL = 16 * PAIR; // Columns of the right side whose tiles are kept at once,
constexpr long STEPS = 32;        // and as many blocks of its depth: half of a core's own cache.

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
    met(to, before, {left, apart, right, steps * NUMBERS, steps});
    if (is_edge) copy(out, to, high, wide);
}

// The right side of what is low, in tiles.
std::vector<uint16_t> between_tiles(const TiledProduct &p) {
    const long steps = steps_of(p.factors[0]), rank = p.factors[1].depth, depth = p.factors[0].depth;
    std::vector<uint16_t> tiles((rank + TILE - 1) / TILE * steps * NUMBERS);
    for (long column = 0; column < rank; column += TILE)
        for (long k = 0; k < steps; k++)
            lay_right(&tiles[(column / TILE * steps + k) * NUMBERS], p.between + column * p.between_column + k * DEEP * p.between_step,
                      p.between_step, p.between_column, rank - column, depth - k * DEEP);
    return tiles;
}

// Of a block of rows whose left side is laid: what is low, and its tiles, scaled.
void lay_low(const TiledProduct &p, const std::vector<uint16_t> &between, long block) {
    const long own = steps_of(p.factors[0]), rank = p.factors[1].depth, row = p.factors[1].left_row;
    const long count = std::min<long>(TILE, p.rows - block * TILE);
    float *low = (float *)p.factors[1].left + block * TILE * row;
    uint16_t *tiles = p.tiles + block * steps_of(p) * NUMBERS;
    alignas(64) float sums[TILE * TILE];
    for (long column = 0; column < rank; column += TILE) {
        meet<1, 1>({sums, TILE}, {}, {tiles, 0, &between[column / TILE * own * NUMBERS], 0, own});
        copy({low + column, row}, {sums, TILE}, count, std::min<long>(TILE, rank - column));
    }
    for (long start = 0; start < rank; start += DEEP) {
        alignas(64) float scaled[NUMBERS];
        const long deep = std::min<long>(DEEP, rank - start);
        for (long i = 0; i < count; i++)
            for (long k = 0; k < deep; k++) scaled[i * DEEP + k] = p.scale * low[i * row + start + k];
        lay_rows(tiles + (own + start / DEEP) * NUMBERS, scaled, DEEP, count, deep);
    }
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
#if HAS_DOTS

// Items are blocks of TILE rows of the left side.
void lay_tiles(const TiledProduct *product, int64_t begin, int64_t end) {
    const TiledProduct &p = *product;
    const Factors &of = p.factors[0];
    const TileRegisters registers;
    const bool has_low = p.factors[1].depth && begin < end;
    const std::vector<uint16_t> between = has_low ? between_tiles(p) : std::vector<uint16_t>();
    for (long block = begin; block < end; block++) {
        for (long step = 0; step < steps_of(of); step++) {
            uint16_t *tile = p.tiles + (block * steps_of(p) + step) * NUMBERS;
            const long start = step * DEEP, count = p.rows - block * TILE;
            const float *from = of.left + block * TILE * of.left_row + start * of.left_step;
            if (of.left_step == 1) lay_rows(tile, from, of.left_row, count, of.depth - start);
            else lay_columns(tile, from, of.left_step, count, of.depth - start);
        }
        if (has_low) lay_low(p, between, block);
    }
}

// Items are blocks of PAIR columns.
void multiply_tiles(const TiledProduct *product, int64_t begin, int64_t end) {
    const TiledProduct &p = *product;
    const TileRegisters registers;
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
                    lay_right(tile, at.factors.right + column * wide + at.start * deep, deep, wide, stop - column, at.deep);
                }
            for (long row = 0; row < p.rows; row += PAIR)
                for (long column = first; column < stop; column += PAIR)
                    meet_at(p, row, column, std::min<long>(PAIR, stop - column), step, count,
                            right + (column - first) / TILE * apart);
        }
        if (p.bias) add_bias(p, first, stop);
    }
}
#endif
}
