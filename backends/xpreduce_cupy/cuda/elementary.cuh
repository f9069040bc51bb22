// Exponential and logarithm from additions, products and quotients alone: the same bits on every machine.
#pragma once
#include "pairs.cuh"

static const int PRECISE = 14, QUICK = 11;  // degrees of series for exp

// Two parts of ln(2), the first with so few digits that its multiples are exact.
#define LN2_HIGH 0x1.62e42fefa0000p-1
#define LN2_LOW 0x1.cf79abc9e3b3ap-40

__device__ constexpr double factorial(int n) { return n < 2 ? 1.0 : n * factorial(n - 1); }

// 1 / K! + x / (K + 1)! + ... + x**(N - K) / N!
template <int N, int K> DEVICE double exponential_series(double x) {
    constexpr double first = 1 / factorial(K);
    if constexpr (K == N) return first;
    else return fma(exponential_series<N, K + 1>(x), x, first);
}

// exp(x) for x up to 0, as a pair off by 2**-56 of its size; below -708 it is 0.
DEVICE Pair exponential(Pair x) {
    if (!(x.high >= -708)) return {x.high != x.high ? x.high : 0.0, 0.0};
    const double integer = 0x1.8p52;
    double shifted = fma(x.high, 0x1.71547652b82fep0, integer), steps = shifted - integer;
    Pair r = two_sum(fma(steps, -LN2_HIGH, x.high), fma(steps, -LN2_LOW, x.low));
    double series = exponential_series<PRECISE, 2>(r.high);
    Pair one = fast_two_sum(1.0, r.high);
    Pair e = fast_two_sum(one.high, one.low + fma(r.high * r.high, series, fma(r.high, r.low, r.low)));
    double scale = power_of_two((i64)(int)(u32)bits_of(shifted));
    return {e.high * scale, e.low * scale};
}

// exp(x) for x up to 0, off by 2**-46 of its size; below -708 it is 0.
DEVICE double quick_exponential(double x) {
    if (!(x >= -708)) return x != x ? x : 0.0;
    const double integer = 0x1.8p52;
    double shifted = fma(x, 0x1.71547652b82fep0, integer), steps = shifted - integer;
    double r = fma(steps, -LN2_LOW, fma(steps, -LN2_HIGH, x));
    double series = exponential_series<QUICK, 2>(r);
    return fma(r * r, series, r + 1.0) * power_of_two((i64)(int)(u32)bits_of(shifted));
}

// 2/3 + 2/5 z + 2/7 z**2 + ... + 2/25 z**11
template <int K> DEVICE double logarithm_series(double z) {
    if constexpr (K == 25) return 2.0 / 25;
    else return fma(logarithm_series<K + 2>(z), z, 2.0 / K);
}

// The logarithm of a normalised pair, as a pair off by 2**-58 of its size.
DEVICE Pair logarithm(Pair x) {
    if (!(x.high > 0)) return {x.high == 0 ? -infinity() : not_a_number(), 0.0};
    if (!is_finite(x.high)) return {x.high, 0.0};
    i64 power = 0;
    if (x.high < 0x1p-900) {
        x = {x.high * 0x1p200, x.low * 0x1p200};
        power = -200;
    }
    // From the root of 1/2 to the root of 2.
    i64 steps = (i64)(bits_of(x.high) - 0x3FE6A09E667F3BCDull) >> 52;
    double m = scaled(x.high, -steps), low = scaled(x.low, -steps), k = (double)(power + steps);
    // log(m) = 2 s + 2/3 s**3 + ..., where s = (m - 1) / (m + 1).
    Pair above = two_sum(m - 1, low), below = two_sum(m, 1.0);
    double s = above.high / below.high;
    double rest = fma(-s, below.high, above.high) + (above.low - s * (below.low + low));
    double z = s * s;
    Pair log = fast_two_sum(2 * s, fma(s * z, logarithm_series<3>(z), 2 * (rest / below.high)));
    return k == 0 ? log : add(two_sum(k * LN2_HIGH, k * LN2_LOW), log);
}
