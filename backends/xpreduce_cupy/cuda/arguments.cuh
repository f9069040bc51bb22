// What every kernel takes (kernels.py explains it), and where elements and results lie.
#pragma once
#include "machine.cuh"

enum Target { TO_SCRATCH, TO_RESULTS, TO_STATES };
enum Last { IDENTITY, SQRT, MEAN, LOG };
enum Result { R_F16, R_BF16, R_F32, R_F64, R_I8, R_I16, R_I32, R_I64, R_U8, R_U16, R_U32, R_U64, R_BOOL };

static const int BLOCK = 256;

struct Dimension { i64 size, stride; };

struct Arguments {
    i64 input, scratch, output;
    i64 states[6], left[6], right[6];
    i64 count;
    i64 target, result, last;
    i64 results, terms, splits, chunk, lanes;
    i64 kept_dims, reduced_dims, run;
    Dimension kept[8], reduced[8];
};

template <class T> DEVICE T* address(i64 word) { return (T*)word; }

DEVICE i64 terms_of(const Arguments& a) { return a.count ? *address<const i64>(a.count) : a.terms; }

// How far an index in C order leads along some dimensions.
DEVICE i64 offset_of(const Dimension* dimensions, i64 count, i64 index) {
    i64 offset = 0;
#pragma unroll 1
    for (i64 d = count - 1; d > 0; d--) {
        i64 above = quotient(index, dimensions[d].size);
        offset += (index - above * dimensions[d].size) * dimensions[d].stride;
        index = above;
    }
    return count ? offset + index * dimensions[0].stride : 0;
}

// Where the values behind a result start.
DEVICE i64 kept_offset(const Arguments& a, i64 result) { return offset_of(a.kept, a.kept_dims, result); }

// Where a segment, or for any strides a value, lies behind the first one of its result.
DEVICE i64 reduced_offset(const Arguments& a, i64 i) { return offset_of(a.reduced, a.reduced_dims, i); }
