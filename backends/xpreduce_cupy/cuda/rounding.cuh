// What is left of each result is rounded once, to the dtype that the arguments ask for.
#pragma once
#include "arguments.cuh"
#include "elementary.cuh"

// high + low as a double whose last digit is odd unless it is exact: it can be rounded once more.
DEVICE double to_odd(Pair p) {
    if (p.low == 0 || !is_finite(p.high)) return p.high;
    u64 bits = bits_of(p.high);
    if (bits & 1) return p.high;
    // One more in the bits of a double is one more in its size.
    return double_of(is_negative(p.high) == is_negative(p.low) ? bits + 1 : bits - 1);
}

// The nearest number with so many bits of exponent and of fraction, as bits.
template <int EXPONENT, int FRACTION> DEVICE u32 narrowed(double x) {
    const int bias = (1 << (EXPONENT - 1)) - 1;
    const u32 infinite = ((1u << EXPONENT) - 1) << FRACTION;
    u64 bits = bits_of(x);
    u32 sign = (u32)(bits >> 63) << (EXPONENT + FRACTION);
    if (x != x) return infinite | (1u << (FRACTION - 1));
    int exponent = (int)((bits >> 52) & 0x7FF) - 1023;
    if (exponent > bias) return sign | infinite;
    u64 digits = (bits & 0xFFFFFFFFFFFFFull) | (exponent == -1023 ? 0 : 1ull << 52);
    // Below the normal numbers digits get lost, and the exponent stays.
    int lost = exponent < 1 - bias ? 1 - bias - exponent : 0, drop = 52 - FRACTION + lost;
    if (drop > 54) return sign;
    u64 kept = digits >> drop, rest = digits & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // The first digit counts as one in the exponent, and so does a carry.
    u32 base = lost ? 0 : (u32)(exponent + bias - 1) << FRACTION;
    u32 value = base + (u32)kept;
    return sign | (value < infinite ? value : infinite);
}

// An integer in sign and size, saturated; `known` is false where the size has more than 64 bits.
DEVICE void write_integer(const Arguments& a, i64 at, bool negative, u64 size, bool known) {
    int code = (int)a.result;
    if (code == R_BOOL) {
        address<unsigned char>(a.output)[at] = !negative && (size || !known);
        return;
    }
    bool is_signed = code < R_U8;
    int bytes = 1 << (code - (is_signed ? R_I8 : R_U8));
    u64 most = bytes == 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
    if (is_signed) most = (most >> 1) + negative;
    else if (negative) most = 0;
    size = known && size < most ? size : most;
    u64 value = negative ? 0 - size : size;
    if (bytes == 8) address<u64>(a.output)[at] = value;
    else if (bytes == 4) address<u32>(a.output)[at] = (u32)value;
    else if (bytes == 2) address<unsigned short>(a.output)[at] = (unsigned short)value;
    else address<unsigned char>(a.output)[at] = (unsigned char)value;
}

// A normalised pair without its fraction; NaN gives 0.
DEVICE void write_truncated(const Arguments& a, i64 at, Pair p) {
    bool negative = p.high < 0;
    if (p.high != p.high) p = {0.0, 0.0};
    double high = negative ? -p.high : p.high, low = negative ? -p.low : p.low;
    if (high > 0x1p64 || (high == 0x1p64 && low >= 0)) {
        write_integer(a, at, negative, 0, false);
        return;
    }
    u64 whole = high < 0x1p64 ? (u64)high : 0;  // 2**64 wraps to 0, and what is taken off it wraps back
    if (high >= 0x1p53) whole += (u64)(i64)floor(low);
    else if ((double)whole == high && low < 0) whole -= 1;
    write_integer(a, at, negative, whole, true);
}

DEVICE void write_rounded(const Arguments& a, i64 at, Pair p) {
    p = normalised(p);
    if (a.result == R_F64) address<double>(a.output)[at] = p.high;
    else if (a.result == R_F32) address<u32>(a.output)[at] = narrowed<8, 23>(to_odd(p));
    else if (a.result == R_F16) address<unsigned short>(a.output)[at] = narrowed<5, 10>(to_odd(p));
    else if (a.result == R_BF16) address<unsigned short>(a.output)[at] = narrowed<8, 7>(to_odd(p));
    else write_truncated(a, at, p);
}

// Logarithms as integers are defined by their value as float64.
DEVICE void write_logarithm(const Arguments& a, i64 at, Pair p) {
    p = normalised(p);
    write_rounded(a, at, a.result > R_F64 ? Pair{p.high, 0.0} : p);
}

// What comes after a sum, which is p times 2**exponent.
DEVICE void write_sum(const Arguments& a, i64 at, Pair p, i64 exponent) {
    p = normalised(p);
    if (a.last == LOG) {
        p = logarithm(p);
        double k = (double)exponent;
        if (exponent) p = add(p, two_sum(k * LN2_HIGH, k * LN2_LOW));
        write_logarithm(a, at, p);
        return;
    }
    if (a.last == SQRT) {
        p = square_root(p);
        exponent /= 2;
    } else if (a.last == MEAN) {
        p = divide(p, (double)terms_of(a));
    }
    write_rounded(a, at, {scaled(p.high, exponent), scaled(p.low, exponent)});
}
