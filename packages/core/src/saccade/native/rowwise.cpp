#include "vectors.h"

namespace {

constexpr int64_t GATES = 4096; // Elements of an item of the gated kernels.

// Calls body with vectors of `read`, whose place it gives those of `written`; the last ones may be whole only in part.
template <int R, int N, class Body>
inline void by_lanes(const float *const (&read)[R], float *const (&written)[N], long first, long last, Body body) {
    constexpr int MOST = R > N ? R : N;
    for (long i = first; i < last; i += W) {
        Lanes x[MOST] = {};
        for (int n = 0; n < R; n++) x[n] = load_some(read[n] + i, last - i);
        body(x);
        for (int n = 0; n < N; n++) store_some(written[n] + i, x[n], last - i);
    }
}

} // namespace

extern "C" {

// Items are rows of x: out = x * r * weight with r = 1 / sqrt(mean(x^2) + epsilon), which is kept where it is wanted.
void rms_norm(const float *x, const float *weight, float epsilon, float *out, float *kept, int64_t width, int64_t begin,
              int64_t end) {
    for (long row = begin; row < end; row++) {
        const float *from = x + row * width;
        float *to = out + row * width;
        float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
        for (long i = 0; i < width; i++) squares += from[i] * from[i];
        const float r = 1.0f / std::sqrt(squares / width + epsilon);
        for (long i = 0; i < width; i++) to[i] = from[i] * r * weight[i];
        if (kept) kept[row] = r;
    }
}

// Items are blocks of 256 rows, each with sums of its own for the weight's gradient, (blocks, width).
// to_x may be grad; it is added to `more` where there is one.
void rms_norm_backward(const float *grad, const float *x, const float *weight, const float *kept, const float *more,
                       float *to_x, float *to_weight, int64_t width, int64_t rows, int64_t begin, int64_t end) {
    for (long block = begin; block < end; block++) {
        float *sums = to_weight + block * width;
        std::fill(sums, sums + width, 0.0f);
        for (long row = block * 256; row < std::min<long>(rows, (block + 1) * 256); row++) {
            const float *of = grad + row * width, *from = x + row * width;
            const float r = kept[row];
            float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
            for (long i = 0; i < width; i++) {
                sums[i] += of[i] * from[i] * r;
                dot += of[i] * weight[i] * from[i];
            }
            const float share = dot * r * r * r / width;
            float *to = to_x + row * width;
            if (more)
                for (long i = 0; i < width; i++)
                    to[i] = more[row * width + i] + (of[i] * weight[i] * r - from[i] * share);
            else
                for (long i = 0; i < width; i++) to[i] = of[i] * weight[i] * r - from[i] * share;
        }
    }
}

struct Rotation {
    const float *from; // (tokens, heads * repeats, dim)
    float *to;         // (tokens, heads, dim): the sum over repeats, rotated
    const float *cosines, *sines; // (tokens, dim / 2); null for the sum alone
    const int64_t *places;        // where each token goes, in steps of to_token; null for its own place
    int64_t from_token, to_token, to_head;
    int64_t heads, repeats, dim;
    float direction; // 1, or -1 to rotate back
};

// Items are tokens. Rotary positions: the pairs (x[i], x[i + dim / 2]) are rotated by their angles.
void rotate(const Rotation *t, int64_t begin, int64_t end) {
    const long half = t->dim / 2;
    std::vector<float> sum(t->dim);
    for (long token = begin; token < end; token++) {
        const float *cosines = t->cosines + token * half, *sines = t->sines + token * half;
        float *to = t->to + (t->places ? t->places[token] : token) * t->to_token;
        for (long head = 0; head < t->heads; head++, to += t->to_head) {
            const float *from = t->from + token * t->from_token + head * t->repeats * t->dim;
            if (t->repeats > 1) {
                std::copy(from, from + t->dim, sum.begin());
                for (long other = 1; other < t->repeats; other++)
                    for (long i = 0; i < t->dim; i++) sum[i] += from[other * t->dim + i];
                from = sum.data();
            }
            if (!t->cosines) {
                std::memmove(to, from, sizeof(float) * t->dim);
                continue;
            }
            for (long i = 0; i < half; i++) {
                const float x = from[i], y = from[i + half], sine = sines[i] * t->direction;
                to[i] = x * cosines[i] - y * sine;
                to[i + half] = y * cosines[i] + x * sine;
            }
        }
    }
}

// out = gate * sigmoid(gate) * up; items are GATES elements each. out may be gate.
void gated(const float *gate, const float *up, float *out, int64_t count, int64_t begin, int64_t end) {
    by_lanes({gate, up}, {out}, begin * GATES, std::min<long>(count, end * GATES),
             [](Lanes(&x)[2]) { x[0] = x[0] * sigmoid(x[0]) * x[1]; });
}

// In place: gate and up become their gradients, and grad what `gated` gave.
void gated_backward(float *grad, float *gate, float *up, int64_t count, int64_t begin, int64_t end) {
    by_lanes({grad, gate, up}, {grad, gate, up}, begin * GATES, std::min<long>(count, end * GATES), [](Lanes(&x)[3]) {
        const Lanes grad = x[0], gate = x[1], up = x[2], share = sigmoid(gate), active = gate * share;
        x[0] = active * up;
        x[1] = grad * up * share * (1.0f + gate * (1.0f - share));
        x[2] = grad * active;
    });
}

// Items are rows of logits. With p = exp(logit - greatest), tokens gets the first whose cumulative p exceeds that share of
// all p, or the likeliest where the share is negative, and logprobs its log p; NaN among the logits gives NaN.
void draw(const float *logits, const double *shares, int64_t *tokens, double *logprobs, int64_t width, int64_t begin,
          int64_t end) {
    constexpr long STRETCH = 1024; // Added up in fp32, and these sums in double precision.
    const long stretches = (width + STRETCH - 1) / STRETCH;
    std::vector<float> p(stretches * STRETCH);
    std::vector<double> sums(stretches);
    for (long row = begin; row < end; row++) {
        const float *from = logits + row * width;
        float greatest = from[0];
#pragma omp simd reduction(max : greatest)
        for (long i = 0; i < width; i++) greatest = from[i] > greatest ? from[i] : greatest;
        std::fill(p.begin() + width, p.end(), 0.0f);
        by_lanes({from}, {p.data()}, 0, width, [&](Lanes(&x)[1]) { x[0] = exp2_of((x[0] - greatest) * LOG2_E); });
        double total = 0.0;
        for (long stretch = 0; stretch < stretches; stretch++) {
            Lanes sum{};
            for (long i = 0; i < STRETCH; i += W) sum += load(&p[stretch * STRETCH + i]);
            total += sums[stretch] = sum_of(sum);
        }
        long token = 0;
        if (shares[row] < 0.0) {
            token = std::min<long>(std::find(from, from + width, greatest) - from, width - 1);
        } else {
            // In an order of its own within a stretch, so a rounding may find nothing there: the last p above 0 is next.
            double left = shares[row] * total;
            long stretch = 0;
            while (stretch + 1 < stretches && left >= sums[stretch]) left -= sums[stretch++];
            for (long i = stretch * STRETCH; i < std::min<long>(width, (stretch + 1) * STRETCH); i++) {
                if (p[i] > 0.0f) token = i;
                if (left < p[i]) break;
                left -= p[i];
            }
        }
        tokens[row] = token;
        logprobs[row] = (double)from[token] - greatest - std::log(total);
    }
}
}
