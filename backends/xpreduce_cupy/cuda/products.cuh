// Products: of floats as a pair and its exponent, of integers in sign and size (see algebra/products.py).
#pragma once
#include "wide_integers.cuh"

struct FloatProductState {
    double high, low;  // high from 1/2 to 1 in size, or 0, infinite or NaN
    i64 exponent;
};

// The same product with its high part from 1/2 to 1, where it is a number and not 0.
DEVICE FloatProductState with_fraction(double high, double low, i64 exponent) {
    if (high == 0 || !is_finite(high)) return {high, 0.0, 0};
    if (fabs(high) < 0x1p-1022) {
        high *= 0x1p54;
        low *= 0x1p54;
        exponent -= 54;
    }
    i64 by = (i64)((bits_of(high) >> 52) & 0x7FF) - 1022;
    return {scaled(high, -by), scaled(low, -by), exponent + by};
}

template <class T> struct FloatProduct {
    static const int resident = 3;  // blocks that a processor must have registers for
    typedef typename T::Input Input;
    typedef FloatProductState State;
    typedef FloatProductState Local;
    // Products of four such numbers and a fraction stay inside float64's range, their errors too.
    static const bool is_wide = Same<T, float64>::value, is_long = T::size == 8 && !T::is_float;

    static __device__ __forceinline__ State empty() { return {0.5, 0.0, 1}; }
    static __device__ __forceinline__ Local start() { return empty(); }

    static __device__ __forceinline__ Pair pair_of_element(Input x) {
        if constexpr (!is_long) return {T::wide(x), 0.0};
        bool below = T::is_signed && (i64)x < 0;
        u64 size = below ? 0 - (u64)x : (u64)x;
        Pair p = fast_two_sum((double)(u32)(size >> 32) * 0x1p32, (double)(u32)size);
        return below ? Pair{-p.high, -p.low} : p;
    }

    template <int N> static __device__ __forceinline__ void take(Local& local, const Input (&values)[N]) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            Pair x = pair_of_element(values[i]);
            if constexpr (is_wide) {
                FloatProductState f = with_fraction(x.high, 0.0, 0);
                x.high = f.high;
                local.exponent += f.exponent;
            }
            // Plain products decide about infinities, NaN and zeros; the low part is then of no account.
            Pair p = two_product(local.high, x.high);
            p.low = fma(local.low, x.high, p.low);
            if constexpr (is_long) p.low = fma(local.high, x.low, p.low);
            local.high = p.high;
            local.low = p.low;
            if (i % 4 == 3 || i == N - 1) local = with_fraction(local.high, local.low, local.exponent);
        }
    }

    static __device__ __forceinline__ State close(const Local& local) {
        Pair p = normalised({local.high, local.low});
        return with_fraction(p.high, p.low, local.exponent);
    }

    static __device__ __forceinline__ State merge(State a, State b) {
        double plain = a.high * b.high;
        if (plain == 0 || !is_finite(plain)) return {plain, 0.0, 0};
        Pair p = multiply(Pair{a.high, a.low}, Pair{b.high, b.low});
        return with_fraction(p.high, p.low, a.exponent + b.exponent);
    }

    static __device__ __forceinline__ void write(const Arguments& a, i64 at, State s) {
        // Beyond these exponents there is but 0 and infinity, which scaling leads to.
        i64 by = s.exponent < -2000 ? -2000 : s.exponent > 2000 ? 2000 : s.exponent;
        write_rounded(a, at, {scaled(s.high, by), scaled(s.low, by)});
    }

    static __device__ __forceinline__ void store(const i64* arrays, i64 at, State s) {
        address<double>(arrays[0])[at] = s.high;
        address<double>(arrays[1])[at] = s.low;
        address<i64>(arrays[2])[at] = s.exponent;
    }

    static __device__ __forceinline__ State load(const i64* arrays, i64 at) {
        return {address<double>(arrays[0])[at], address<double>(arrays[1])[at], address<i64>(arrays[2])[at]};
    }
};

struct IntegerProductState {
    u64 size;
    u32 below, over;  // whether it is negative, and whether its size has more than 64 bits
};

template <class T> struct IntegerProduct {
    static const int resident = 3;  // blocks that a processor must have registers for
    typedef typename T::Input Input;
    typedef IntegerProductState State;
    typedef IntegerProductState Local;

    static __device__ __forceinline__ State empty() { return {1, 0, 0}; }
    static __device__ __forceinline__ Local start() { return empty(); }

    static __device__ __forceinline__ State merge(State a, State b) {
        bool zero = (a.size == 0 && !a.over) || (b.size == 0 && !b.over);
        u32 over = a.over | b.over | (__umul64hi(a.size, b.size) != 0);
        return {zero ? 0 : a.size * b.size, a.below ^ b.below, zero ? 0 : over};
    }

    template <int N> static __device__ __forceinline__ void take(Local& local, const Input (&values)[N]) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            bool below = T::is_signed && values[i] < 0;
            local = merge(local, {below ? 0 - (u64)values[i] : (u64)values[i], below, 0});
        }
    }

    static __device__ __forceinline__ State close(const Local& local) { return local; }

    static __device__ __forceinline__ void write(const Arguments& a, i64 at, State s) {
        write_integer(a, at, s.below, s.size, !s.over);
    }

    static __device__ __forceinline__ void store(const i64* arrays, i64 at, State s) {
        address<u64>(arrays[0])[at] = (u32)s.size;
        address<u64>(arrays[1])[at] = s.size >> 32;
        address<bool>(arrays[2])[at] = s.below;
        address<bool>(arrays[3])[at] = s.over;
    }

    static __device__ __forceinline__ State load(const i64* arrays, i64 at) {
        u64 size = address<u64>(arrays[0])[at] | address<u64>(arrays[1])[at] << 32;
        return {size, address<bool>(arrays[2])[at], address<bool>(arrays[3])[at]};
    }
};
