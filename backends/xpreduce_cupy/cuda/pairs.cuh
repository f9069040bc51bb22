// Double-double arithmetic, as xpreduce.algebra.pairs has it; products take one fused operation more.
#pragma once
#include "machine.cuh"

struct Pair { double high, low; };

DEVICE Pair two_sum(double a, double b) {
    double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

DEVICE Pair fast_two_sum(double a, double b) {
    double s = a + b;
    return {s, b - (s - a)};
}

DEVICE Pair two_product(double a, double b) {
    double p = a * b;
    return {p, fma(a, b, -p)};
}

// Plain addition of the high parts is what decides about infinities, NaN and the sign of zero.
DEVICE Pair add(Pair a, Pair b) {
    Pair s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
    if ((s.high == 0 && t.high == 0) || !is_finite(s.high)) return {s.high, 0.0};
    Pair v = fast_two_sum(s.high, s.low + t.high);
    return fast_two_sum(v.high, t.low + v.low);
}

DEVICE Pair normalised(Pair p) {
    if (p.low == 0 || !is_finite(p.high)) return {p.high, 0.0};
    return two_sum(p.high, p.low);
}

DEVICE Pair multiply(Pair a, Pair b) {
    Pair p = two_product(a.high, b.high);
    return fast_two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// first + rest / slope; where that is not a number, first.
DEVICE Pair corrected(double first, double rest, double slope) {
    if (!is_finite(first) || slope == 0) return {first, 0.0};
    return normalised({first, rest / slope});
}

DEVICE Pair divide(Pair p, double by) {
    double q = p.high / by;
    return corrected(q, fma(-q, by, p.high) + p.low, by);
}

DEVICE Pair square_root(Pair p) {
    double root = sqrt(p.high);
    return corrected(root, fma(-root, root, p.high) + p.low, 2 * root);
}
