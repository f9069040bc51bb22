// Sums of floats: a compensated pair, and for float64 a level that scales it (see algebra/float_sums.py).
#pragma once
#include "rounding.cuh"

// How a sum is kept. BRIEF: for results of at most 32 bits, 2**-43 of the terms' sizes is what it may be
// off by. FULL: every sum stays normalised, and is off by n * 2**-105 of the terms' sizes.
enum Precision { BRIEF, FULL };

struct Identity {
    static const bool is_signed = true, is_square = false;
    static __device__ __forceinline__ double of(double x) { return x; }
};
struct Absolute {
    static const bool is_signed = false, is_square = false;
    static __device__ __forceinline__ double of(double x) { return fabs(x); }
};
struct Square {
    static const bool is_signed = false, is_square = true;
    static __device__ __forceinline__ double of(double x) { return x * x; }
};

struct FloatState {
    double high, low;
    i64 level;  // it stands for (high + low) * 2**(level * step)
};

template <class Lift, class T, Precision precision> struct FloatSum {
    static const int resident = 3;  // blocks that a processor must have registers for
    typedef typename T::Input Input;
    typedef FloatState State;
    static const bool is_scaled = Same<T, float64>::value;
    static const int factor = Lift::is_square ? 600 : 128, step = Lift::is_square ? 1200 : 128;
    static const int lowest = is_scaled && Lift::is_square ? -1 : 0;
    // Upper words from which on, and below which, the level changes.
    static const u32 large = (1023u + (Lift::is_square ? 480 : 900)) << 20, small = (1023u - 400) << 20;

    struct Local {
        double high, low;
        double special;  // sum of the terms that are infinite or NaN
        double scale;
        int level;
    };

    // -0 is what leaves every sum as it is; terms without sign never are -0.
    static __device__ __forceinline__ State empty() { return {Lift::is_signed ? -0.0 : 0.0, 0.0, lowest}; }

    static __device__ __forceinline__ Local start() {
        return {empty().high, 0.0, 0.0, lowest < 0 ? power_of_two(factor) : 1.0, lowest};
    }

    static __device__ __forceinline__ int level_of(u32 upper) {
        return upper >= large ? 1 : lowest < 0 && upper < small ? -1 : 0;
    }

    static __device__ __forceinline__ State at_level(State s, i64 level) {
        const double down = power_of_two(-step / 2);
        if (s.level < level) s = {s.high * down * down, s.low * down * down, s.level + 1};
        if (s.level < level) s = {s.high * down * down, s.low * down * down, s.level + 1};
        return s;
    }

    template <int N> static __device__ __forceinline__ void take(Local& local, const Input (&values)[N]) {
        double x[N];
#pragma unroll
        for (int i = 0; i < N; i++) x[i] = T::wide(values[i]);
        if constexpr (precision == BRIEF) take_briefly(local, x);
        else take_fully(local, x);
    }

    static __device__ __forceinline__ void put(Local& local, double term) {
        Pair s = two_sum(local.high, term);
        local.high = s.high;
        local.low += s.low;
    }

    template <int N> static __device__ __forceinline__ void take_briefly(Local& local, double (&x)[N]) {
#pragma unroll
        for (int i = 0; i < N; i++) x[i] = Lift::of(x[i]);
        if constexpr (sizeof(Input) == 2) {
            // Few enough for plain sums; for float32 the widest of terms would show.
#pragma unroll
            for (int width = N / 2; width > 0; width /= 2) {
#pragma unroll
                for (int i = 0; i < width; i++) x[i] += x[i + width];
            }
            put(local, x[0]);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) put(local, x[i]);
        }
    }

    template <int N> static __device__ __forceinline__ void take_fully(Local& local, double (&x)[N]) {
        u32 largest = 0;
#pragma unroll
        for (int i = 0; i < N; i++) largest = max(largest, upper_word(x[i]) & 0x7FFFFFFFu);
        if (largest >= 0x7FF00000u) {
            largest = 0;
#pragma unroll
            for (int i = 0; i < N; i++) {
                if (is_finite(x[i])) {
                    largest = max(largest, upper_word(x[i]) & 0x7FFFFFFFu);
                } else {
                    local.special += Lift::of(x[i]);
                    x[i] = 0;
                }
            }
        }
        if constexpr (is_scaled) {
            int level = level_of(largest);
            if (level > local.level) {
                State s = at_level({local.high, local.low, local.level}, level);
                local.high = s.high;
                local.low = s.low;
                local.level = level;
                local.scale = power_of_two(-factor * level);
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) {
            double value = is_scaled ? x[i] * local.scale : x[i];
            double term = Lift::of(value);
            Pair s = two_sum(local.high, term);
            double low = local.low + s.low;
            if constexpr (is_scaled && Lift::is_square) low += fma(value, value, -term);
            // Not where the rest is 0: there the sum may be -0.
            Pair sum = fast_two_sum(s.high, low);
            local.high = low == 0 ? s.high : sum.high;
            local.low = sum.low;
        }
    }

    static __device__ __forceinline__ State close(const Local& local) {
        if (local.special != 0) return {local.special, 0.0, local.level};
        Pair p = normalised({local.high, local.low});
        return {p.high, p.low, local.level};
    }

    static __device__ __forceinline__ State merge(State a, State b) {
        i64 level = a.level > b.level ? a.level : b.level;
        if constexpr (is_scaled) {
            a = at_level(a, level);
            b = at_level(b, level);
        }
        Pair p = add(Pair{a.high, a.low}, Pair{b.high, b.low});
        return {p.high, p.low, level};
    }

    static __device__ __forceinline__ void write(const Arguments& a, i64 at, State s) {
        // A sum of no terms is +0, though -0 is the identity.
        if (Lift::is_signed && terms_of(a) == 0) s.high = 0;
        write_sum(a, at, {s.high, s.low}, s.level * step);
    }

    static __device__ __forceinline__ void store(const i64* arrays, i64 at, State s) {
        address<double>(arrays[0])[at] = s.high;
        address<double>(arrays[1])[at] = s.low;
        if constexpr (is_scaled) address<signed char>(arrays[2])[at] = (signed char)s.level;
    }

    static __device__ __forceinline__ State load(const i64* arrays, i64 at) {
        i64 level = is_scaled ? address<signed char>(arrays[2])[at] : 0;
        return {address<double>(arrays[0])[at], address<double>(arrays[1])[at], level};
    }
};
