// What every kernel takes (kernels.py explains it), and where elements and results lie.
#pragma once
#include "machine.cuh"

enum Target { TO_SCRATCH, TO_RESULTS, TO_STATES };
enum Last { IDENTITY, SQRT, MEAN, LOG };
enum Result { R_F16, R_BF16, R_F32, R_F64, R_I8, R_I16, R_I32, R_I64, R_U8, R_U16, R_U32, R_U64, R_BOOL };

static const int BLOCK = 256;

struct Kept { i64 size, stride, output; };
struct Reduced { i64 size, stride; };

struct Arguments {
    i64 input, scratch, output;
    i64 states[6], left[6], right[6];
    i64 count;
    i64 target, result, last;
    i64 results, terms, splits, chunk, lanes;
    i64 kept_dims, reduced_dims, run;
    Kept kept[8];
    Reduced reduced[8];
};

template <class T> DEVICE T* address(i64 word) { return (T*)word; }

DEVICE i64 terms_of(const Arguments& a) { return a.count ? *address<const i64>(a.count) : a.terms; }

// Where the values behind a result start, and where the result belongs.
DEVICE void locate(const Arguments& a, i64 index, i64& input, i64& output) {
    input = output = 0;
#pragma unroll 1
    for (i64 d = a.kept_dims - 1; d >= 0; d--) {
        i64 above = d ? quotient(index, a.kept[d].size) : 0;
        i64 here = index - above * a.kept[d].size;
        input += here * a.kept[d].stride;
        output += here * a.kept[d].output;
        index = above;
    }
}

// Where a segment, or for any strides a value, lies behind the first one of its result.
DEVICE i64 locate_reduced(const Arguments& a, i64 index) {
    i64 offset = 0;
#pragma unroll 1
    for (i64 d = a.reduced_dims - 1; d > 0; d--) {
        i64 above = quotient(index, a.reduced[d].size);
        offset += (index - above * a.reduced[d].size) * a.reduced[d].stride;
        index = above;
    }
    return a.reduced_dims ? offset + index * a.reduced[0].stride : 0;
}
