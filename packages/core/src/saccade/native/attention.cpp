#include "attention.h"

namespace {

static_assert(ROWS <= W);

struct Running { // Of a query's softmax: its greatest score so far in units of ln 2, and its sum, lane by lane.
    Lanes sum;
    float greatest;
};

// All tiles of some items, in the order in which these meet them.
class Tiles {
  public:
    Tiles(const Attention *a, long begin, long end) : a(a), item(begin), end(end) {
        if (begin < end) rect = group().first_block;
    }

    // No keys at the end.
    Tile next() {
        while (item < end && first >= a->blocks[rect].count) {
            first = 0;
            if (++rect == group().last_block && ++item < end) rect = group().first_block;
        }
        if (item >= end) return {};
        const long head = item % shares() * a->fold;
        const long at = (a->blocks[rect].keys + first) * a->kv_token + head / a->repeats * a->kv_head;
        const long count = std::min<long>(KEYS, a->blocks[rect].count - first);
        first += KEYS;
        return {a->key + at, a->value + at, count};
    }

  private:
    const Attention *a;
    long item, end, rect = 0, first = 0;

    long shares() const { return a->heads / a->fold; }
    const QueryGroup &group() const { return a->groups[item / shares()]; }
};

} // namespace

extern "C" {

// Items are (group, heads / fold), the latter innermost.
void attend(const Attention *a, int64_t begin, int64_t end) {
    const long dim = a->dim, fold = a->fold, shares = a->heads / fold;
    const float factor = a->scale * LOG2_E;
    std::vector<float> columns(dim * KEYS);
    std::vector<Running> running;
    float weights[ROWS * KEYS];
    // With few queries a tile takes longer to come from memory than to work on, so each is asked for two tiles ahead.
    Tiles ahead(a, begin, end);
    ahead.next(), ahead.next();
    for (long item = begin; item < end; item++) {
        const QueryGroup &group = a->groups[item / shares];
        const long head = item % shares * fold;
        const auto row_of = [&](long query) { return a->order ? a->order[query] : query; };
        const auto out_of = [&](long query, long j) { return a->out + row_of(query) * a->out_stride + (head + j) * dim; };
        running.assign((group.last - group.first) * fold, {Lanes{}, -std::numeric_limits<float>::infinity()});
        for (long query = group.first; query < group.last; query++)
            std::memset(out_of(query, 0), 0, sizeof(float) * dim * fold);
        for (long v = group.first_block; v < group.last_block; v++) {
            const MaskBlock &rect = a->blocks[v];
            const long at = rect.keys * a->kv_token + head / a->repeats * a->kv_head;
            const long queries = rect.queries();
            for (long first = 0; first < rect.count; first += KEYS) {
                const long count = std::min<long>(KEYS, rect.count - first);
                const float *value = a->value + at + first * a->kv_token;
                // Queries before this one see none of the tile.
                const long start = rect.is_causal ? std::max<long>(0, first - (rect.count - queries)) : 0;
                if (start >= queries) break;
                transposed(columns.data(), a->key + at + first * a->kv_token, a->kv_token, count, dim, ahead.next());
                for (long q = start * fold; q < queries * fold;) {
                    const auto asked = [&](auto m, auto n, long keys) {
                        constexpr int M = decltype(m)::value, N = decltype(n)::value;
                        const float *rows[M];
                        float *outs[M], keeping[W];
                        Running *state[M];
                        for (int i = 0; i < M; i++) {
                            const long query = rect.first + (q + i) / fold, j = (q + i) % fold;
                            rows[i] = a->query + row_of(query) * a->query_stride + (head + j) * dim;
                            outs[i] = out_of(query, j);
                            state[i] = &running[(query - group.first) * fold + j];
                        }
                        Lanes s[M][N];
                        products<M, N>(s, rows, columns.data(), dim);
                        float now[M];
                        Lanes gaps{}; // One exponential for all rows, since a call would send all scores through memory.
                        for (int i = 0; i < M; i++) {
                            mask(s[i], first, rect.seen((q + i) / fold));
                            Lanes most = s[i][0];
                            for (int j = 1; j < N; j++) most = s[i][j] > most ? s[i][j] : most;
                            const float before = state[i]->greatest;
                            now[i] = std::max(before, greatest(most) * factor);
                            gaps[i] = before == now[i] ? 0.0f : before - now[i];
                        }
                        store(keeping, exp2_of(gaps));
                        for (int i = 0; i < M; i++) {
                            Lanes sum{}; // Fused in so many words: a compiler does it for some M and not for others.
                            for (int j = 0; j < N; j++) {
                                const Lanes weight = exp2_of(fused(s[i][j], all(factor), all(-now[i])));
                                store(weights + i * KEYS + j * W, weight);
                                sum = j ? sum + weight : fused(state[i]->sum, all(keeping[i]), weight);
                            }
                            *state[i] = {sum, now[i]};
                        }
                        gathered<M>(outs, keeping, weights, KEYS, 1, value, a->kv_token, keys, dim);
                    };
                    with_rows<ROWS>(queries * fold - q, [&](auto m) {
                        constexpr int M = decltype(m)::value;
                        const long keys = std::min<long>(count, rect.seen((q + M - 1) / fold) - first);
                        with_rows<COLUMNS>((keys + W - 1) / W, [&](auto n) { asked(m, n, keys); });
                        q += M;
                    });
                }
            }
        }
        for (long query = group.first; query < group.last; query++)
            for (long j = 0; j < fold; j++) {
                const Running &state = running[(query - group.first) * fold + j];
                const float total = sum_of(state.sum);
                float *out = out_of(query, j);
                for (long d = 0; d < dim; d++) out[d] *= 1.0f / total;
                if (a->lse)
                    a->lse[row_of(query) * a->heads + head + j] = state.greatest + std::log2(total);
            }
    }
}
}
