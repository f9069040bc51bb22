// The largest and the smallest, by keys: integers in the order of the values (see algebra/extremes.py).
//
// The bits of a float are in its order once those of negative numbers are turned around, with -0 below
// +0. NaN becomes the key at the end that wins.
#pragma once
#include "rounding.cuh"

struct Largest {
    static const bool is_largest = true;
    template <class Key> static __device__ __forceinline__ Key of(Key a, Key b) { return a > b ? a : b; }
};
struct Smallest {
    static const bool is_largest = false;
    template <class Key> static __device__ __forceinline__ Key of(Key a, Key b) { return a < b ? a : b; }
};

template <bool is_wide> struct Keys {
    typedef int Key;
    static const int most = 0x7FFFFFFF;
};
template <> struct Keys<true> {
    typedef i64 Key;
    static const i64 most = 0x7FFFFFFFFFFFFFFFll;
};

template <class Side, class T> struct Extreme {
    static const int resident = 3;  // blocks that a processor must have registers for
    typedef typename T::Input Input;
    typedef Keys<T::size == 8> K;
    typedef typename K::Key Key;
    typedef i64 State;
    typedef Key Local;
    static const Key wins = Side::is_largest ? K::most : -K::most - 1;
    // What unsigned integers of the key's own size are moved down by.
    static const Key moved = !T::is_float && !T::is_signed && sizeof(Input) == sizeof(Key) ? -K::most - 1 : 0;

    static __device__ __forceinline__ int turned(int bits) { return bits ^ ((bits >> 31) & 0x7FFFFFFF); }
    static __device__ __forceinline__ i64 turned(i64 bits) {
        return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFFll);
    }

    static __device__ __forceinline__ Key key_of_float(double x) {
        if constexpr (T::size == 8) return x != x ? wins : turned((i64)bits_of(x));
        else return x != x ? wins : turned((int)__float_as_uint((float)x));
    }

    static __device__ __forceinline__ double float_of_key(Key key) {
        if constexpr (T::size == 8) return double_of((u64)turned(key));
        else return (double)__uint_as_float((u32)turned(key));
    }

    static __device__ __forceinline__ Key key_of(Input x) {
        if constexpr (T::is_float) return key_of_float(T::wide(x));
        else return (Key)x ^ moved;
    }

    static __device__ __forceinline__ State empty() {
        if constexpr (T::is_float) return key_of_float(Side::is_largest ? -infinity() : infinity());
        else return key_of(Side::is_largest ? T::least : T::most);
    }
    static __device__ __forceinline__ Local start() { return (Key)empty(); }

    template <int N> static __device__ __forceinline__ void take(Local& local, const Input (&values)[N]) {
#pragma unroll
        for (int i = 0; i < N; i++) local = Side::of(local, key_of(values[i]));
    }

    static __device__ __forceinline__ State close(const Local& local) { return local; }
    static __device__ __forceinline__ State merge(State a, State b) { return Side::of(a, b); }

    static __device__ __forceinline__ void write(const Arguments& a, i64 at, State s) {
        bool known = terms_of(a) != 0;
        if constexpr (T::is_float) {
            write_rounded(a, at, {float_of_key((Key)s), 0.0});
        } else {
            u64 word = (u64)(i64)(Key)((Key)s ^ moved);
            if constexpr (!T::is_signed && T::size == 4) word = (u32)word;
            bool below = T::is_signed && (i64)word < 0;
            u64 size = below ? 0 - word : word;
            if (a.result > R_F64) {
                // The value of an empty set is the end of the result's range.
                write_integer(a, at, known ? below : Side::is_largest, size, known);
                return;
            }
            Pair p = fast_two_sum((double)(u32)(size >> 32) * 0x1p32, (double)(u32)size);
            if (!known) p = {Side::is_largest ? -infinity() : infinity(), 0.0};
            write_rounded(a, at, below && known ? Pair{-p.high, -p.low} : p);
        }
    }

    static __device__ __forceinline__ void store(const i64* arrays, i64 at, State s) {
        if constexpr (T::is_float) {
            double value = float_of_key((Key)s);
            if constexpr (T::size == 8) address<double>(arrays[0])[at] = value;
            else address<float>(arrays[0])[at] = (float)value;
            // Whether the zero that wins is among the values.
            address<bool>(arrays[1])[at] = value == 0 && is_negative(value) != Side::is_largest;
        } else {
            i64 value = (Key)s ^ moved;
            if constexpr (!T::is_signed && T::size == 4) value = (u32)value;
            address<u64>(arrays[0])[at] = (u64)value ^ (!T::is_signed && T::size == 8 ? 1ull << 63 : 0);
        }
    }

    static __device__ __forceinline__ State load(const i64* arrays, i64 at) {
        if constexpr (T::is_float) {
            double value;
            if constexpr (T::size == 8) value = address<double>(arrays[0])[at];
            else value = address<float>(arrays[0])[at];
            if (value == 0) value = address<bool>(arrays[1])[at] == Side::is_largest ? 0.0 : -0.0;
            return key_of_float(value);
        } else {
            u64 value = address<u64>(arrays[0])[at];
            if constexpr (T::size == 8) return (i64)value;
            else return (Key)(u32)value ^ moved;
        }
    }
};
