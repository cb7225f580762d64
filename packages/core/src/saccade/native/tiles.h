// What kernels for AMX share: a tile is TILE rows of DEEP numbers in bf16, or of TILE in fp32.

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

} // namespace
