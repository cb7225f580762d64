#include "attention.h"

constexpr int BLOCK = 96; // Queries of a tile.
constexpr int SLIM = 8;   // Keys whose gradients lie in registers at once.
static_assert(KEYS % SLIM == 0);

extern "C" {

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
}
