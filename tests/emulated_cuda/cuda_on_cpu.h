// CUDA on a CPU: enough of it for kernels of one-dimensional blocks that meet at __syncthreads alone.
//
// The threads of a block are fibers. Each runs until it comes to __syncthreads or to its end; then the next
// one does. So every run has the same order, and the opposite order is another legal one: kernels whose
// threads do not wait for each other where they must give other results in it.
#pragma once
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static

struct Index { unsigned x; };
inline Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

constexpr size_t STACK = 1 << 17;

struct Fiber {
    ucontext_t context;
    jmp_buf here;
    std::unique_ptr<char[]> stack{new char[STACK]};
    bool has_started = false, is_done;
};

inline ucontext_t scheduler;
inline jmp_buf scheduler_here;
inline std::vector<Fiber> fibers;
inline void (*body)(const void*);
inline const void* argument;

// Contexts change the signal mask with each switch, which takes most of the time; jumps do not, but
// AddressSanitizer only knows what to do with contexts.
#ifdef __SANITIZE_ADDRESS__
inline void resume(Fiber& fiber) { swapcontext(&scheduler, &fiber.context); }
inline void pause(Fiber& fiber) { swapcontext(&fiber.context, &scheduler); }
#else
inline __attribute__((noinline)) void resume(Fiber& fiber) {
    if (_setjmp(scheduler_here)) return;
    if (fiber.has_started) _longjmp(fiber.here, 1);
    setcontext(&fiber.context);
}
inline __attribute__((noinline)) void pause(Fiber& fiber) {
    if (!_setjmp(fiber.here)) _longjmp(scheduler_here, 1);
}
#endif

// A fiber runs the threads of one number, block after block.
inline void run_threads() {
    for (;;) {
        body(argument);
        fibers[threadIdx.x].is_done = true;
        pause(fibers[threadIdx.x]);
    }
}

// Runs a block; false if some threads wait for others that have ended.
inline bool run_block(bool backward) {
    unsigned threads = blockDim.x, done = 0;
    for (unsigned t = 0; t < threads; t++) fibers[t].is_done = false;
    while (done == 0) {
        for (unsigned k = 0; k < threads; k++) {
            threadIdx.x = backward ? threads - 1 - k : k;
            Fiber& fiber = fibers[threadIdx.x];
            if (!fiber.has_started) {
                getcontext(&fiber.context);
                fiber.context.uc_stack.ss_sp = fiber.stack.get();
                fiber.context.uc_stack.ss_size = STACK;
                makecontext(&fiber.context, run_threads, 0);
            }
            resume(fiber);
            fiber.has_started = true;
            done += fiber.is_done;
        }
    }
    return done == threads;
}

inline bool launch(void (*kernel)(const void*), const void* arguments, unsigned grid, unsigned block,
                   bool backward) {
    body = kernel;
    argument = arguments;
    gridDim.x = grid;
    blockDim.x = block;
    if (fibers.size() < block) fibers = std::vector<Fiber>(block);
    for (unsigned b = 0; b < grid; b++) {
        blockIdx.x = backward ? grid - 1 - b : b;
        if (!run_block(backward)) {
            fibers.clear();
            return false;
        }
    }
    return true;
}

template <class To, class From> To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    std::memcpy(&result, &value, sizeof(To));
    return result;
}

}  // namespace emulator

inline void __syncthreads() { emulator::pause(emulator::fibers[threadIdx.x]); }

inline long long __double_as_longlong(double x) { return emulator::same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator::same_bits<double>(x); }
inline unsigned __float_as_uint(float x) { return emulator::same_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return emulator::same_bits<float>(x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
using std::fma, std::fabs, std::floor, std::sqrt;
