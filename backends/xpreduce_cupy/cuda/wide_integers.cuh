// Integers of 192 bits in two's complement, and what sums of them need.
#pragma once
#include "rounding.cuh"

struct Wide { u64 low, middle, high; };

DEVICE Wide extended(u64 low, u64 middle, bool negative) { return {low, middle, negative ? ~0ull : 0ull}; }

DEVICE Wide add(Wide a, Wide b) {
    Wide r;
    r.low = a.low + b.low;
    r.middle = a.middle + b.middle;
    r.high = a.high + b.high + (r.middle < a.middle);
    u64 carry = r.low < a.low;
    r.middle += carry;
    r.high += r.middle < carry;
    return r;
}

DEVICE bool is_negative(Wide a) { return (i64)a.high < 0; }

DEVICE Wide magnitude(Wide a) {
    if (!is_negative(a)) return a;
    return add(Wide{~a.low, ~a.middle, ~a.high}, Wide{1, 0, 0});
}

DEVICE Wide product(u64 a, u64 b) { return {a * b, __umul64hi(a, b), 0}; }

DEVICE Wide difference(Wide a, Wide b) {
    return add(add(a, Wide{~b.low, ~b.middle, ~b.high}), Wide{1, 0, 0});
}

DEVICE double approximate(Wide a) {
    Wide size = magnitude(a);
    double value = (double)size.high * 0x1p128 + (double)size.middle * 0x1p64 + (double)size.low;
    return is_negative(a) ? -value : value;
}

DEVICE u64 saturated_word(double x) { return x >= 0x1p64 ? ~0ull : (u64)x; }

// a / by rounded down, for a from 0 to below 2**128 whose quotient is below 2**64.
DEVICE u64 divide(Wide a, u64 by) {
    if (a.middle == 0) return (a.low | by) >> 32 ? a.low / by : (u32)a.low / (u32)by;
    // The estimate is off by 2**13 at most, after one more step by one or two.
    u64 q = saturated_word(approximate(a) / (double)by);
    q += (u64)(i64)(approximate(difference(a, product(q, by))) / (double)by);
    Wide rest = difference(a, product(q, by));
    while (is_negative(rest)) {
        q -= 1;
        rest = add(rest, Wide{by, 0, 0});
    }
    while (!is_negative(difference(rest, Wide{by, 0, 0}))) {
        q += 1;
        rest = difference(rest, Wide{by, 0, 0});
    }
    return q;
}

// The root of a from 0 to below 2**128, rounded down.
DEVICE u64 integer_root(Wide a) {
    double estimate = sqrt(approximate(a));
    u64 root = saturated_word(estimate);
    if (a.middle != 0) {
        // Off by 2**12 at most; at the end of the range it could only step beyond it.
        double step = approximate(difference(a, product(root, root))) / (2 * estimate);
        if (root != ~0ull || step < 0) root += (u64)(i64)step;
    }
    while (is_negative(difference(a, product(root, root)))) root -= 1;
    while (root != ~0ull && !is_negative(difference(a, product(root + 1, root + 1)))) root += 1;
    return root;
}

DEVICE Pair pair_of(Wide a) {
    bool negative = is_negative(a);
    Wide size = magnitude(a);
    const u64 words[3] = {size.low, size.middle, size.high};
    Pair total = {0.0, 0.0};
#pragma unroll
    for (int k = 5; k >= 0; k--) {
        u32 limb = (u32)(words[k / 2] >> (32 * (k % 2)));
        Pair s = two_sum(total.high, (double)limb * power_of_two(32 * k));
        total = {s.high, total.low + s.low};
    }
    total = normalised(total);
    return negative ? Pair{-total.high, -total.low} : total;
}
