// One new token of each of many rows through all layers of a language model.
//
// Activations lie as (features, rows): a vector is one feature of W rows, so that weights are read as they are and nothing
// is summed across a vector.

#include "attention.h"

extern "C" {

// Weights of products are (width, depth); norms and biases that a model lacks are null.
struct DecodedLayer {
    const float *before_attention, *query_norm, *key_norm, *before_mlp;
    const float *query, *key, *value, *after_attention, *gate, *up, *down;
    const float *query_bias, *key_bias, *value_bias, *after_attention_bias, *gate_bias, *up_bias, *down_bias;
};

// Some rows. Of the attention, keys and values are those of the first layer; queries and results are put in here.
struct Decoding {
    Attention attention;
    const DecodedLayer *layers;
    const float *last;            // The norm after all layers.
    float *states;                // (rows, hidden): embeddings before, last hidden states after.
    const float *cosines, *sines; // (rows, dim / 2)
    const int64_t *places;        // Where the keys and values of each row go, in steps of kv_token.
    int64_t query_group_count, rows, hidden, mlp, key_heads;
    int64_t layer_count, layer_step; // From layer to layer in keys and in values.
    float epsilon;
};

void attend(const Attention *a, int64_t begin, int64_t end);
}

namespace {

constexpr int HIGH = W == 16 ? 8 : 6; // Rows of a weight that are worked on at once,
constexpr int WIDE = 2;               // and vectors of rows: what the registers hold.

// Features of some rows, (features, across); lanes beyond the last row hold numbers that are never read.
struct Block {
    long across; // A multiple of W.
    std::vector<Lanes> numbers;

    Block(long features, long across) : across(across), numbers(features * across / W) {}
    float *operator[](long feature) { return (float *)numbers.data() + feature * across; }
    const float *operator[](long feature) const { return (const float *)numbers.data() + feature * across; }
};

template <int M, int N>
void multiplied(float *out, const float *weight, const float *bias, const float *in, long across, long depth,
                bool adds) {
    Lanes sum[M][N];
    UNROLLED for (int i = 0; i < M; i++)
        UNROLLED for (int j = 0; j < N; j++) sum[i][j] = adds ? load(out + i * across + j * W) : Lanes{};
    for (long k = 0; k < depth; k++) {
        Lanes lanes[N];
        UNROLLED for (int j = 0; j < N; j++) lanes[j] = load(in + k * across + j * W);
        UNROLLED for (int i = 0; i < M; i++) {
            const Lanes one = all(weight[i * depth + k]);
            UNROLLED for (int j = 0; j < N; j++) sum[i][j] = fused(lanes[j], one, sum[i][j]);
        }
    }
    UNROLLED for (int i = 0; i < M; i++)
        UNROLLED for (int j = 0; j < N; j++) store(out + i * across + j * W, bias ? sum[i][j] + bias[i] : sum[i][j]);
}

// out = weight * in + bias, or what was there and that.
void product(Block &out, const float *weight, const float *bias, const Block &in, long width, long depth,
             bool adds = false) {
    const long across = in.across;
    for (long at = 0; at < width;) {
        with_rows<HIGH>(width - at, [&](auto m) {
            constexpr int M = decltype(m)::value;
            const float *rows = weight + at * depth, *more = bias ? bias + at : nullptr;
            long p = 0;
            for (; p + WIDE * W <= across; p += WIDE * W)
                multiplied<M, WIDE>(out[at] + p, rows, more, in[0] + p, across, depth, adds);
            for (; p < across; p += W) multiplied<M, 1>(out[at] + p, rows, more, in[0] + p, across, depth, adds);
            at += M;
        });
    }
}

// to = from / sqrt(mean(from^2) + epsilon) * weight over `width` features from `first` on; to may be from.
void normed(Block &to, const Block &from, const float *weight, float epsilon, long first, long width) {
    for (long p = 0; p < from.across; p += W) {
        Lanes squares[4] = {};
        for (long i = 0; i < width; i++) {
            const Lanes x = load(from[first + i] + p);
            squares[i % 4] += x * x;
        }
        Lanes root = (squares[0] + squares[1] + (squares[2] + squares[3])) / (float)width + epsilon;
        for (int lane = 0; lane < W; lane++) root[lane] = 1.0f / std::sqrt(root[lane]);
        for (long i = 0; i < width; i++) store(to[first + i] + p, load(from[first + i] + p) * root * weight[i]);
    }
}

// Norms, where there are any, and rotary positions of some heads.
void rotated(Block &x, const float *norm, float epsilon, const Block &cosines, const Block &sines, long heads, long dim) {
    const long half = dim / 2;
    for (long head = 0; head < heads * dim; head += dim) {
        if (norm) normed(x, x, norm, epsilon, head, dim);
        for (long i = 0; i < half; i++)
            for (long p = 0; p < x.across; p += W) {
                float *first = x[head + i] + p, *second = x[head + half + i] + p;
                const Lanes a = load(first), b = load(second), cosine = load(cosines[i] + p), sine = load(sines[i] + p);
                store(first, a * cosine - b * sine);
                store(second, b * cosine + a * sine);
            }
    }
}

// `dim` features from `first` on of each row, to where where(row) says, or INTO x from there. dim is a multiple of W.
template <bool INTO, class Where> void exchanged(Block &x, long first, long dim, long rows, Where where) {
    for (long row = 0; row < rows; row += W)
        for (long d = 0; d < dim; d += W) {
            const long count = std::min<long>(W, rows - row);
            Lanes square[W] = {};
            for (int i = 0; i < W; i++)
                if (INTO) square[i] = i < count ? load(where(row + i) + d) : Lanes{};
                else square[i] = load(x[first + d + i] + row);
            transpose_square<W / 2>(square);
            for (int i = 0; i < W; i++)
                if (INTO) store(x[first + d + i] + row, square[i]);
                else if (i < count) store(where(row + i) + d, square[i]);
        }
}

// (rows, width) as (width, rows).
void to_columns(Block &to, const float *from, long rows, long width) {
    for (long row = 0; row < rows; row++)
        for (long i = 0; i < width; i++) to[i][row] = from[row * width + i];
}

void decoded(const Decoding &d) {
    Attention a = d.attention;
    const long heads = a.heads * a.dim, key_heads = d.key_heads * a.dim, across = (d.rows + W - 1) / W * W;
    Block states(d.hidden, across), normal(d.hidden, across);
    Block query(heads, across), key(key_heads, across), value(key_heads, across), gate(d.mlp, across), up(d.mlp, across);
    Block cosines(a.dim / 2, across), sines(a.dim / 2, across);
    std::vector<float> query_rows(d.rows * heads), attended(d.rows * heads);
    to_columns(states, d.states, d.rows, d.hidden);
    to_columns(cosines, d.cosines, d.rows, a.dim / 2);
    to_columns(sines, d.sines, d.rows, a.dim / 2);
    a.query = query_rows.data(), a.out = attended.data(), a.query_stride = a.out_stride = heads;
    for (long n = 0; n < d.layer_count; n++, a.key += d.layer_step, a.value += d.layer_step) {
        const DecodedLayer &layer = d.layers[n];
        normed(normal, states, layer.before_attention, d.epsilon, 0, d.hidden);
        product(query, layer.query, layer.query_bias, normal, heads, d.hidden);
        product(key, layer.key, layer.key_bias, normal, key_heads, d.hidden);
        product(value, layer.value, layer.value_bias, normal, key_heads, d.hidden);
        rotated(query, layer.query_norm, d.epsilon, cosines, sines, a.heads, a.dim);
        rotated(key, layer.key_norm, d.epsilon, cosines, sines, d.key_heads, a.dim);
        exchanged<false>(query, 0, heads, d.rows, [&](long row) { return &query_rows[row * heads]; });
        for (long head = 0; head < d.key_heads; head++) {
            const auto place = [&](const float *of) {
                return [&, of](long row) { return (float *)of + d.places[row] * a.kv_token + head * a.kv_head; };
            };
            exchanged<false>(key, head * a.dim, a.dim, d.rows, place(a.key));
            exchanged<false>(value, head * a.dim, a.dim, d.rows, place(a.value));
        }
        attend(&a, 0, d.query_group_count * (a.heads / a.fold));
        exchanged<true>(query, 0, heads, d.rows, [&](long row) { return &attended[row * heads]; });
        product(states, layer.after_attention, layer.after_attention_bias, query, d.hidden, heads, true);
        normed(normal, states, layer.before_mlp, d.epsilon, 0, d.hidden);
        product(gate, layer.gate, layer.gate_bias, normal, d.mlp, d.hidden);
        product(up, layer.up, layer.up_bias, normal, d.mlp, d.hidden);
        for (long i = 0; i < d.mlp * across; i += W) {
            const Lanes x = load(gate[0] + i);
            store(gate[0] + i, x * sigmoid(x) * load(up[0] + i));
        }
        product(states, layer.down, layer.down_bias, gate, d.hidden, d.mlp, true);
    }
    normed(states, states, d.last, d.epsilon, 0, d.hidden);
    for (long row = 0; row < d.rows; row++)
        for (long i = 0; i < d.hidden; i++) d.states[row * d.hidden + i] = states[i][row];
}

} // namespace

extern "C" {

// Items are groups of rows, each of which knows where its own keys and values are.
void decode(const Decoding *groups, int64_t begin, int64_t end) {
    for (long group = begin; group < end; group++) decoded(groups[group]);
}
}
