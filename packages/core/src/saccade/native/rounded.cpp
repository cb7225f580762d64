// Products of a few rows with a weight in bf16, for decoding: what takes time is to read the weight, once, in its order.

#include "tiles.h"

extern "C" {

// out = left * weight^T + bias + added, of factors in bf16 and sums in fp32; out may be added. The weight lies in tiles of
// TILE rows (columns of out) by DEEP, those of the same rows one after the other, and zeros beyond the last row.
struct RoundedProduct {
    const float *left;
    const uint16_t *weight;
    const float *bias, *added;
    float *out;
    int64_t left_row, added_row, out_row; // Strides of rows.
    int64_t rows, columns, depth;         // depth is a multiple of DEEP.
};

#if HAS_DOTS
extern const int64_t HAS_TILES, NEEDS_AMX;
const int64_t HAS_TILES = 1, NEEDS_AMX = HAS_AMX;
}

namespace {

constexpr long AT_ONCE = 2; // Tiles of each side that meet in registers.

// The left side as tiles with neighbours in depth side by side: (blocks of rows, blocks of depth, DEEP / 2, TILE, 2).
std::vector<uint16_t> paired(const RoundedProduct &p) {
    const long steps = p.depth / DEEP;
    std::vector<uint16_t> tiles((p.rows + TILE - 1) / TILE * steps * NUMBERS);
    for (long row = 0; row < p.rows; row++)
        for (long k = 0; k < p.depth; k += W) {
            const __m256bh rounded = _mm512_cvtneps_pbh((__m512)load(p.left + row * p.left_row + k));
            uint32_t pairs[W / 2];
            std::memcpy(pairs, &rounded, sizeof pairs);
            uint16_t *tile = tiles.data() + (row / TILE * steps + k / DEEP) * NUMBERS;
            for (long i = 0; i < W / 2; i++)
                std::memcpy(tile + 2 * ((k % DEEP / 2 + i) * TILE + row % TILE), &pairs[i], sizeof(uint32_t));
        }
    return tiles;
}

// The sums of one tile, to their places.
void placed(const RoundedProduct &p, const float *sums, long first_row, long first_column) {
    Lanes square[W];
    for (int i = 0; i < W; i++) square[i] = load(sums + i * AT_ONCE * TILE);
    transpose_square<W / 2>(square);
    const long count = std::min<long>(TILE, p.columns - first_column);
    for (long i = 0; i < std::min<long>(TILE, p.rows - first_row); i++) {
        Lanes lanes = square[i];
        if (p.bias) lanes += load_some(p.bias + first_column, count);
        if (p.added) lanes += load_some(p.added + (first_row + i) * p.added_row + first_column, count);
        store_some(p.out + (first_row + i) * p.out_row + first_column, lanes, count);
    }
}

} // namespace

extern "C" {

// Items are blocks of AT_ONCE tiles of columns.
void multiply_rounded(const RoundedProduct *product, int64_t begin, int64_t end) {
    const RoundedProduct &p = *product;
    const TileRegisters registers;
    const std::vector<uint16_t> left = paired(p);
    const long steps = p.depth / DEEP, apart = steps * NUMBERS;
    alignas(64) float sums[AT_ONCE * AT_ONCE * TILE * TILE];
    for (long column = begin * AT_ONCE * TILE; column < std::min<long>(p.columns, end * AT_ONCE * TILE);
         column += AT_ONCE * TILE)
        for (long row = 0; row < p.rows; row += AT_ONCE * TILE) {
            const bool is_wide = column + TILE < p.columns, is_high = row + TILE < p.rows;
            const Sides of{p.weight + column / TILE * apart, apart, left.data() + row / TILE * apart, apart, steps};
            const auto met = is_wide ? (is_high ? meet<2, 2, true> : meet<2, 1, true>) : is_high ? meet<1, 2, true> : meet<1, 1, true>;
            met({sums, AT_ONCE * TILE}, {}, of);
            for (long i = 0; i <= is_wide; i++)
                for (long j = 0; j <= is_high; j++)
                    placed(p, sums + (i * AT_ONCE * TILE + j) * TILE, row + j * TILE, column + i * TILE);
        }
}
#else
extern const int64_t HAS_TILES, NEEDS_AMX;
const int64_t HAS_TILES = 0, NEEDS_AMX = 0;
#endif
}
