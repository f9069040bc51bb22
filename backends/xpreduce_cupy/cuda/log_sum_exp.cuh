// Logarithms of sums of exponentials: the largest value, and the sum relative to it as a pair.
#pragma once
#include "float_sums.cuh"

struct LogSumExpState { double largest, high, low; };

template <class T, Precision precision> struct LogSumExp {
    static const int resident = 2;  // blocks that a processor must have registers for
    typedef typename T::Input Input;
    typedef LogSumExpState State;
    typedef LogSumExpState Local;

    static __device__ __forceinline__ State empty() { return {-infinity(), 0.0, 0.0}; }
    static __device__ __forceinline__ Local start() { return empty(); }

    // NaN is larger than all, and stays.
    static __device__ __forceinline__ double larger(double a, double b) { return b > a || b != b ? b : a; }

    // exp(x - largest), which is 1 of the largest itself, infinite or not.
    static __device__ __forceinline__ Pair term(double x, double largest) {
        if (x == largest) return {1.0, 0.0};
        if constexpr (precision == BRIEF) return {quick_exponential(x - largest), 0.0};
        Pair d = two_sum(x, -largest);
        return exponential({d.high, is_finite(d.low) ? d.low : 0.0});
    }

    static __device__ __forceinline__ State relative_to(State s, double largest) {
        if (s.largest == largest) return s;
        Pair p = multiply(Pair{s.high, s.low}, term(s.largest, largest));
        return {largest, p.high, p.low};
    }

    template <int N> static __device__ __forceinline__ void take(Local& local, const Input (&values)[N]) {
        double x[N], largest = local.largest;
#pragma unroll
        for (int i = 0; i < N; i++) {
            x[i] = T::wide(values[i]);
            largest = larger(largest, x[i]);
        }
        local = relative_to(local, largest);
#pragma unroll
        for (int i = 0; i < N; i++) {
            Pair e = term(x[i], largest), s = two_sum(local.high, e.high);
            local.high = s.high;
            local.low += s.low + e.low;
        }
    }

    static __device__ __forceinline__ State close(const Local& local) {
        Pair p = normalised({local.high, local.low});
        return {local.largest, p.high, p.low};
    }

    static __device__ __forceinline__ State merge(State a, State b) {
        double largest = larger(a.largest, b.largest);
        a = relative_to(a, largest);
        b = relative_to(b, largest);
        Pair p = add(Pair{a.high, a.low}, Pair{b.high, b.low});
        return {largest, p.high, p.low};
    }

    static __device__ __forceinline__ void write(const Arguments& a, i64 at, State s) {
        Pair log = {s.largest, 0.0};
        if (is_finite(s.largest)) log = add(log, logarithm({s.high, s.low}));
        write_logarithm(a, at, log);
    }

    static __device__ __forceinline__ void store(const i64* arrays, i64 at, State s) {
        address<double>(arrays[0])[at] = s.largest;
        address<double>(arrays[1])[at] = s.high;
        address<double>(arrays[2])[at] = s.low;
    }

    static __device__ __forceinline__ State load(const i64* arrays, i64 at) {
        const double *largest = address<double>(arrays[0]), *high = address<double>(arrays[1]);
        return {largest[at], high[at], address<double>(arrays[2])[at]};
    }
};
