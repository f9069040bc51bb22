// Words, bits and elements: what is as narrow as the machine's own types.
#pragma once

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#define DEVICE __device__ __forceinline__

DEVICE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
DEVICE double double_of(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE u32 upper_word(double x) { return (u32)(bits_of(x) >> 32); }
DEVICE double infinity() { return double_of(0x7FF0000000000000ull); }
DEVICE double not_a_number() { return double_of(0x7FF8000000000000ull); }
DEVICE bool is_finite(double x) { return (upper_word(x) & 0x7FF00000u) != 0x7FF00000u; }
DEVICE bool is_negative(double x) { return (i64)bits_of(x) < 0; }

// 2**n for n from -1022 to 1023.
DEVICE double power_of_two(i64 n) { return double_of((u64)(n + 1023) << 52); }

// x times 2**n for n from -2044 to 2046: exact unless it leaves the range.
DEVICE double scaled(double x, i64 n) { return x * power_of_two(n / 2) * power_of_two(n - n / 2); }

// Division of what mostly has 32 bits.
DEVICE i64 quotient(i64 a, i64 b) {
    return ((u64)(a | b) >> 32) == 0 ? (i64)((u32)a / (u32)b) : a / b;
}

DEVICE float float_of_half(unsigned short x) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
    return value;
#else
    u32 size = x & 0x7FFFu, sign = (u32)(x & 0x8000u) << 16;
    // Infinity and NaN keep the largest exponent; for others the biases differ by 112.
    u32 bits = __float_as_uint(__uint_as_float(size << 13) * __uint_as_float((127u + 112u) << 23));
    return __uint_as_float((size >= 0x7C00u ? 0x7F800000u | (size << 13) : bits) | sign);
#endif
}

// Elements: what is in memory, and the same as a double (64-bit integers: rounded).
#define FLOAT_ELEMENT(name, type, bytes, expression)                              \
    struct name {                                                                 \
        typedef type Input;                                                       \
        static const bool is_float = true, is_signed = true;                      \
        static const int size = bytes;                                            \
        static __device__ __forceinline__ double wide(Input x) { return expression; } \
    };
#define INTEGER_ELEMENT(name, type, bytes, sign, least_value, most_value)         \
    struct name {                                                                 \
        typedef type Input;                                                       \
        static const bool is_float = false, is_signed = sign;                     \
        static const int size = bytes;                                            \
        static const type least = least_value, most = most_value;                 \
        static __device__ __forceinline__ double wide(Input x) { return (double)x; } \
    };

FLOAT_ELEMENT(float16, unsigned short, 2, (double)float_of_half(x))
FLOAT_ELEMENT(bfloat16, unsigned short, 2, (double)__uint_as_float((u32)x << 16))
FLOAT_ELEMENT(float32, float, 4, (double)x)
FLOAT_ELEMENT(float64, double, 8, x)
INTEGER_ELEMENT(int8, signed char, 1, true, -128, 127)
INTEGER_ELEMENT(int16, short, 2, true, -32768, 32767)
INTEGER_ELEMENT(int32, int, 4, true, -2147483647 - 1, 2147483647)
INTEGER_ELEMENT(int64, i64, 8, true, -9223372036854775807ll - 1, 9223372036854775807ll)
INTEGER_ELEMENT(uint8, unsigned char, 1, false, 0, 255)
INTEGER_ELEMENT(uint16, unsigned short, 2, false, 0, 65535)
INTEGER_ELEMENT(uint32, u32, 4, false, 0, 4294967295u)
INTEGER_ELEMENT(uint64, u64, 8, false, 0, 18446744073709551615ull)
INTEGER_ELEMENT(boolean, unsigned char, 1, false, 0, 1)

template <class A, class B> struct Same { static const bool value = false; };
template <class A> struct Same<A, A> { static const bool value = true; };
