// Sums of integers, exact: 192 bits, and states in limbs of 32 (see algebra/integer_sums.py).
#pragma once
#include "float_sums.cuh"
#include "wide_integers.cuh"

template <class Lift, class T> struct IntegerSum {
    static const int resident = 3;  // blocks that a processor must have registers for
    typedef typename T::Input Input;
    typedef Wide State;
    static const int term_bits = 8 * T::size * (Lift::is_square ? 2 : 1);
    // Of terms this narrow a split's longest chunk fits 64 bits.
    static const bool is_narrow = term_bits <= 32;
    static const int limbs = (term_bits + 48 + 31) / 32 < 3 ? 3 : (term_bits + 48 + 31) / 32;

    typedef Wide Local;

    static __device__ __forceinline__ State empty() { return {0, 0, 0}; }
    static __device__ __forceinline__ Local start() { return {0, 0, 0}; }

    static __device__ __forceinline__ u64 size_of(Input x) { return x < 0 ? 0 - (u64)x : (u64)x; }

    template <int N> static __device__ __forceinline__ void take(Local& local, const Input (&values)[N]) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            Input x = values[i];
            u64 word = Lift::is_signed ? (u64)x : size_of(x);
            if constexpr (is_narrow) {
                local.low += Lift::is_square ? word * word : word;
            } else if constexpr (Lift::is_square) {
                if constexpr (term_bits == 128) {
                    local = add(local, product(word, word));
                } else {
                    word *= word;
                    local.low += word;
                    local.middle += local.low < word;
                }
            } else {
                bool below = T::is_signed && Lift::is_signed && x < 0;
                local.low += word;
                local.middle += (local.low < word) + (below ? ~0ull : 0ull);
            }
        }
    }

    static __device__ __forceinline__ State close(const Local& local) {
        const bool can_be_negative = T::is_signed && Lift::is_signed;
        if constexpr (is_narrow) {
            bool below = can_be_negative && (i64)local.low < 0;
            return extended(local.low, below ? ~0ull : 0ull, below);
        }
        if constexpr (term_bits == 128) return local;
        return extended(local.low, local.middle, can_be_negative && (i64)local.middle < 0);
    }

    static __device__ __forceinline__ State merge(State a, State b) { return add(a, b); }

    static __device__ __forceinline__ void write(const Arguments& a, i64 at, State s) {
        if (a.result <= R_F64 || a.last == LOG) {
            write_sum(a, at, pair_of(s), 0);
            return;
        }
        Wide size = magnitude(s);
        bool known = size.high == 0;
        if (a.last == SQRT) {
            size = {known ? integer_root(size) : 0, 0, 0};
        } else if (a.last == MEAN) {
            i64 terms = terms_of(a);
            size = {divide(size, terms ? (u64)terms : 1), 0, 0};
        } else {
            known = known && size.middle == 0;
        }
        write_integer(a, at, is_negative(s), size.low, known);
    }

    static __device__ __forceinline__ void store(const i64* arrays, i64 at, State s) {
        const u64 words[4] = {s.low, s.middle, s.high, is_negative(s) ? ~0ull : 0ull};
#pragma unroll
        for (int k = 0; k < limbs; k++) {
            u64 limb = words[k / 2] >> (32 * (k % 2));
            // The last limb has the sign, and what the others do not hold.
            if (k == limbs - 1) limb |= k % 2 ? words[k / 2 + 1] << 32 : 0;
            else limb &= 0xFFFFFFFFull;
            address<u64>(arrays[k])[at] = limb;
        }
    }

    static __device__ __forceinline__ State load(const i64* arrays, i64 at) {
        u64 words[4] = {0, 0, 0, 0};
        u64 last = address<u64>(arrays[limbs - 1])[at], sign = (i64)last < 0 ? ~0ull : 0ull;
#pragma unroll
        for (int k = 0; k < 6; k++) {
            u64 limb = k < limbs - 1 ? address<u64>(arrays[k])[at] : k == limbs - 1 ? last : last >> 32;
            if (k > limbs) limb = sign;
            words[k / 2] |= (limb & 0xFFFFFFFFull) << (32 * (k % 2));
        }
        return {words[0], words[1], words[2]};
    }
};
