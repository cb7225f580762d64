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

// Items are (group, head).
void attend_backward(const AttentionGradient *g, int64_t begin, int64_t end) {
    const Attention *a = &g->forward;
    const long dim = a->dim;
    const float factor = a->scale * LOG2_E;
    std::vector<float> keys_over(dim * KEYS), values_over(dim * KEYS), for_keys(dim * KEYS), for_values(dim * KEYS), dots;
    std::vector<float> weights(BLOCK * KEYS), changes(BLOCK * KEYS);
    const float ones[SLIM] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (long item = begin; item < end; item++) {
        const QueryGroup &group = a->groups[item / a->heads];
        const long head = item % a->heads, own = head * dim;
        dots.assign(group.last - group.first, 0.0f);
        for (long query = group.first; query < group.last; query++) {
            const float *grad = g->grad + query * g->grad_stride + own, *out = a->out + query * a->out_stride + own;
            Lanes dot{};
            for (long d = 0; d < dim; d += W) dot += load(grad + d) * load(out + d);
            dots[query - group.first] = sum_of(dot);
            std::memset(g->to_query + query * g->to_stride + own, 0, sizeof(float) * dim);
        }
        for (long v = group.first_block; v < group.last_block; v++) {
            const MaskBlock &rect = a->blocks[v];
            const long queries = rect.queries();
            for (long first = 0; first < rect.count; first += KEYS) {
                const long count = std::min<long>(KEYS, rect.count - first);
                const long start = rect.is_causal ? std::max<long>(0, first - (rect.count - queries)) : 0;
                if (start >= queries) break;
                const long at = (rect.keys + first) * a->kv_token + head / a->repeats * a->kv_head;
                transposed(keys_over.data(), a->key + at, a->kv_token, count, dim);
                transposed(values_over.data(), a->value + at, a->kv_token, count, dim);
                std::fill(for_keys.begin(), for_keys.end(), 0.0f);
                std::fill(for_values.begin(), for_values.end(), 0.0f);
                for (long block = start; block < queries; block += BLOCK) {
                    const long size = std::min<long>(BLOCK, queries - block);
                    const long base = rect.first + block;
                    for (long q = 0; q < size;) {
                        const auto asked = [&](auto m, auto n, long keys) {
                            constexpr int M = decltype(m)::value, N = decltype(n)::value;
                            const float *rows[M], *grads[M];
                            float *to[M];
                            for (int i = 0; i < M; i++) {
                                rows[i] = a->query + (base + q + i) * a->query_stride + own;
                                grads[i] = g->grad + (base + q + i) * g->grad_stride + own;
                                to[i] = g->to_query + (base + q + i) * g->to_stride + own;
                            }
                            Lanes s[M][N];
                            products<M, N>(s, rows, keys_over.data(), dim);
                            for (int i = 0; i < M; i++) {
                                mask(s[i], first, rect.seen(block + q + i));
                                const float total = a->lse[(base + q + i) * a->heads + head];
                                for (int j = 0; j < N; j++)
                                    store(&weights[(q + i) * KEYS + j * W], exp2_of(s[i][j] * factor - total));
                            }
                            products<M, N>(s, grads, values_over.data(), dim);
                            for (int i = 0; i < M; i++) {
                                const float dot = dots[base + q + i - group.first];
                                for (int j = 0; j < N; j++)
                                    store(&changes[(q + i) * KEYS + j * W],
                                          load(&weights[(q + i) * KEYS + j * W]) * (s[i][j] - dot));
                            }
                            gathered<M>(to, ones, &changes[q * KEYS], KEYS, 1, a->key + at, a->kv_token, keys, dim);
                        };
                        with_rows<ROWS>(size - q, [&](auto m) {
                            constexpr int M = decltype(m)::value;
                            const long keys = std::min<long>(count, rect.seen(block + q + M - 1) - first);
                            with_rows<COLUMNS>((keys + W - 1) / W, [&](auto n) { asked(m, n, keys); });
                            q += M;
                        });
                    }
                    for (long key = 0; key < count; key += SLIM) {
                        // Queries of the block before this one see none of these keys.
                        const long q = rect.is_causal ? std::max<long>(0, first + key - (rect.count - queries) - block) : 0;
                        if (q >= size) break;
                        float *to_key[SLIM], *to_value[SLIM];
                        for (int i = 0; i < SLIM; i++) {
                            to_key[i] = &for_keys[(key + i) * dim];
                            to_value[i] = &for_values[(key + i) * dim];
                        }
                        const long from = q * KEYS + key;
                        gathered<SLIM>(to_value, ones, &weights[from], 1, KEYS,
                                       g->grad + (base + q) * g->grad_stride + own, g->grad_stride, size - q, dim);
                        gathered<SLIM>(to_key, ones, &changes[from], 1, KEYS,
                                       a->query + (base + q) * a->query_stride + own, a->query_stride, size - q, dim);
                    }
                }
                for (long key = 0; key < count; key++) {
                    float *to_key = g->to_key + (rect.keys + first + key) * g->to_stride + own;
                    float *to_value = g->to_value + (rect.keys + first + key) * g->to_stride + own;
                    for (long d = 0; d < dim; d++) {
                        to_key[d] += for_keys[key * dim + d] * a->scale;
                        to_value[d] += for_values[key * dim + d];
                    }
                }
            }
        }
        for (long query = group.first; query < group.last; query++) {
            float *to = g->to_query + query * g->to_stride + own;
            for (long d = 0; d < dim; d++) to[d] *= a->scale;
        }
    }
}
}
