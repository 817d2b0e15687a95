/* Every C type of the spec: by value, by pointer in, by pointer out, returned, returned by pointer, in arrays. */
#include <stdbool.h>
#include <stddef.h>

#define FOR_TYPE(name, T)                                                                          \
    T value_##name(T v) { return v; }                                                              \
    T pointer_in_##name(const T *v) { return *v; }                                                 \
    bool is_null_##name(const T *v) { return v == NULL; }                                          \
    void pointer_out_##name(T in, T *out) { *out = in; }                                           \
    void in_out_##name(T *both) { *both = (T)(*both + 1); }                                        \
    T *returned_pointer_##name(T v) { static T kept; kept = v; return &kept; }                     \
    T last_of_##name(const T *values, int count) { return values[count - 1]; }                     \
    int copy_##name(const T *from, int count, T *to) {                                             \
        for (int i = 0; i < count; i++) to[i] = from[count - 1 - i];                               \
        return count;                                                                              \
    }

FOR_TYPE(bool, bool)
FOR_TYPE(char, char)
FOR_TYPE(unsigned_char, unsigned char)
FOR_TYPE(short, short)
FOR_TYPE(unsigned_short, unsigned short)
FOR_TYPE(int, int)
FOR_TYPE(unsigned_int, unsigned int)
FOR_TYPE(long, long)
FOR_TYPE(unsigned_long, unsigned long)
FOR_TYPE(long_long, long long)
FOR_TYPE(unsigned_long_long, unsigned long long)
FOR_TYPE(float, float)
FOR_TYPE(double, double)

/* Narrow types whose register is dirty above: the caller must look at the low bits only. */
long long dirty_char(void) { return 0x7fffffffffffff80LL; }
long long dirty_bool(void) { return 0x7fffffffffffff01LL; }
long long dirty_short(void) { return 0x7fffffffffff8000LL; }
long long dirty_unsigned_int(void) { return (long long)0xffffffff80000000ULL; }

long long add_ten(long long a, long long b, long long c, long long d, long long e, long long f, long long g,
                  long long h, long long i, long long j) {
    return a + 10 * (b + 10 * (c + 10 * (d + 10 * (e + 10 * (f + 10 * (g + 10 * (h + 10 * (i + 10 * j))))))));
}

double sum_twelve(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j,
                  double k, double l) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

double mixed(int a, double b, long c, float d, char e, double f, unsigned long long g, short h, double i, float j,
             bool k, double l, double m, double n, double o, int p, long q, unsigned char r) {
    return a + b + c + d + e + f + (double)g + h + i + j + k + l + m + n + o + p + q + r;
}

int subtract(int minuend, int subtrahend) { return minuend - subtrahend; }

int truth_of(int v) { return v; }
double nan_of(void) { return __builtin_nan(""); }
double infinity_of(int negative) { return negative ? -__builtin_inf() : __builtin_inf(); }
float nan_of_float(void) { return __builtin_nanf(""); }
void nothing(void) {}
