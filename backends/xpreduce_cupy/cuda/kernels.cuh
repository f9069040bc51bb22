// The kernels: which thread takes which values, and how what they hold is put together.
#pragma once
#include "extremes.cuh"
#include "float_sums.cuh"
#include "integer_sums.cuh"
#include "log_sum_exp.cuh"
#include "products.cuh"

#define KERNEL template <class Family> __global__ void __launch_bounds__(BLOCK, Family::resident)

template <class T, int N> struct alignas(N * sizeof(T)) Vector { T values[N]; };

// One value after the other, every lanes-th of those from `first` on.
template <class Family>
DEVICE void take_singly(typename Family::Local& local, const typename Family::Input* values, i64 first,
                        i64 count, i64 lanes) {
    for (i64 i = first; i < count; i += lanes) {
        typename Family::Input value[1] = {values[i]};
        Family::take(local, value);
    }
}

// The values of a run: 16 bytes at a time, and one by one before and after what is aligned.
template <class Family>
DEVICE void take_run(typename Family::Local& local, const typename Family::Input* values, i64 count, i64 lane,
                     i64 lanes) {
    typedef typename Family::Input Input;
    const int width = 16 / sizeof(Input), ahead = 4;
    typedef Vector<Input, width> Wide16;
    i64 head = (i64)((0 - (u64)values) % 16 / sizeof(Input));
    head = head < count ? head : count;
    take_singly<Family>(local, values, lane, head, lanes);
    const Wide16* vectors = (const Wide16*)(values + head);
    i64 whole = (count - head) / width, i = lane;
    for (; i + (ahead - 1) * lanes < whole; i += ahead * lanes) {
        Wide16 loaded[ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++) loaded[k] = vectors[i + k * lanes];
#pragma unroll
        for (int k = 0; k < ahead; k++) Family::take(local, loaded[k].values);
    }
    for (; i < whole; i += lanes) {
        Wide16 loaded = vectors[i];
        Family::take(local, loaded.values);
    }
    take_singly<Family>(local, values, head + whole * width + lane, count, lanes);
}

// Every lanes-th value from `first` on, as `at` finds them.
template <class Family, class At>
DEVICE void take_spread(typename Family::Local& local, const Arguments& a, i64 first, i64 last, At at) {
    typedef typename Family::Input Input;
    const int ahead = sizeof(Input) == 8 ? 4 : 8;
    i64 i = first;
    for (; i + (ahead - 1) * a.lanes < last; i += ahead * a.lanes) {
        Input loaded[ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++) loaded[k] = at(i + k * a.lanes);
        Family::take(local, loaded);
    }
    for (; i < last; i += a.lanes) {
        Input loaded[1] = {at(i)};
        Family::take(local, loaded);
    }
}

// Puts together what the lanes of a result hold, and leaves it with lane 0. Neighbouring lanes are `step`
// threads apart. All threads of a block come here, and all of its results have as many lanes.
template <class Family>
DEVICE typename Family::State joined(typename Family::State state, i64 lane, i64 lanes, i64 step) {
    __shared__ typename Family::State held[BLOCK];
    if (lanes == 1) return state;
    held[threadIdx.x] = state;
    __syncthreads();
    for (i64 apart = lanes / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            state = Family::merge(state, held[threadIdx.x + apart * step]);
            held[threadIdx.x] = state;
        }
        __syncthreads();
    }
    return state;
}

// Which result and which split a thread works for, as which of the result's lanes.
struct Seat { i64 lane, index, split, step; };

// Lanes side by side, or `is_across` results side by side.
DEVICE Seat seat_of(const Arguments& a, i64 splits, bool is_across) {
    i64 side = quotient(blockDim.x, a.lanes), tile = quotient(blockIdx.x, splits), thread = threadIdx.x;
    i64 width = is_across ? side : a.lanes, above = quotient(thread, width), below = thread - above * width;
    i64 lane = is_across ? above : below, result = is_across ? below : above;
    return {lane, tile * side + result, blockIdx.x - tile * splits, is_across ? side : 1};
}

template <class Family>
DEVICE void deliver(const Arguments& a, typename Family::State state, Seat seat) {
    if (a.target == TO_SCRATCH) {
        address<typename Family::State>(a.scratch)[seat.split * a.results + seat.index] = state;
    } else if (a.target == TO_RESULTS) {
        Family::write(a, seat.index, state);
    } else {
        Family::store(a.states, seat.index, state);
    }
}

// The terms of a seat's split.
DEVICE void bounds_of(const Arguments& a, Seat seat, i64& first, i64& last) {
    first = seat.split * a.chunk;
    last = first + a.chunk < a.terms ? first + a.chunk : a.terms;
}

KERNEL rows(const __grid_constant__ Arguments a) {
    typedef typename Family::Input Input;
    Seat seat = seat_of(a, a.splits, false);
    i64 first, last;
    typename Family::Local local = Family::start();
    if (seat.index < a.results) {
        const Input* start = address<const Input>(a.input) + kept_offset(a, seat.index);
        bounds_of(a, seat, first, last);
        while (first < last) {
            i64 segment = quotient(first, a.run), begin = first - segment * a.run;
            i64 count = a.run - begin < last - first ? a.run - begin : last - first;
            const Input* values = start + reduced_offset(a, segment) + begin;
            take_run<Family>(local, values, count, seat.lane, a.lanes);
            first += count;
        }
    }
    typename Family::State state = joined<Family>(Family::close(local), seat.lane, a.lanes, seat.step);
    if (seat.lane == 0 && seat.index < a.results) deliver<Family>(a, state, seat);
}

KERNEL strided(const __grid_constant__ Arguments a) {
    typedef typename Family::Input Input;
    Seat seat = seat_of(a, a.splits, true);
    i64 first, last;
    typename Family::Local local = Family::start();
    if (seat.index < a.results) {
        bounds_of(a, seat, first, last);
        const Input* values = address<const Input>(a.input) + kept_offset(a, seat.index);
        if (a.reduced_dims > 1) {
            auto at = [&](i64 i) { return values[reduced_offset(a, i)]; };
            take_spread<Family>(local, a, first + seat.lane, last, at);
        } else {
            i64 stride = a.reduced[0].stride;
            auto at = [&](i64 i) { return values[i * stride]; };
            take_spread<Family>(local, a, first + seat.lane, last, at);
        }
    }
    typename Family::State state = joined<Family>(Family::close(local), seat.lane, a.lanes, seat.step);
    if (seat.lane == 0 && seat.index < a.results) deliver<Family>(a, state, seat);
}

KERNEL merge(const __grid_constant__ Arguments a) {
    typedef typename Family::State State;
    Seat seat = seat_of(a, 1, true);
    State state = Family::empty();
    if (seat.index < a.results) {
        const State* parts = address<const State>(a.scratch) + seat.index;
        for (i64 s = seat.lane; s < a.splits; s += a.lanes) {
            state = Family::merge(state, parts[s * a.results]);
        }
    }
    state = joined<Family>(state, seat.lane, a.lanes, seat.step);
    if (seat.lane == 0 && seat.index < a.results) deliver<Family>(a, state, seat);
}

KERNEL combine(const __grid_constant__ Arguments a) {
    i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= a.results) return;
    Family::store(a.states, index, Family::merge(Family::load(a.left, index), Family::load(a.right, index)));
}

KERNEL finish(const __grid_constant__ Arguments a) {
    i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index < a.results) Family::write(a, index, Family::load(a.left, index));
}
