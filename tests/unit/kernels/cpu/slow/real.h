// Numbers of MPFR with 256 digits, for which every result here is as good as exact.

#ifndef OPSERVE_TESTS_UNIT_KERNELS_CPU_SLOW_REAL_H_
#define OPSERVE_TESTS_UNIT_KERNELS_CPU_SLOW_REAL_H_

#include <mpfr.h>

#include "kernels/cpu/slow/double_double.h"

namespace opserve::cpu::slow {

class Real {
 public:
  Real() { mpfr_init2(value_, 256); }
  explicit Real(const DoubleDouble& x) : Real() {
    mpfr_set_d(value_, x.high, MPFR_RNDN);
    mpfr_add_d(value_, value_, x.low, MPFR_RNDN);
  }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

  // The magnitude's logarithm to base 2, rounded down; far below all numbers here for zero.
  int Exponent() const {
    if (mpfr_zero_p(value_)) return -100000;
    return mpfr_regular_p(value_) ? static_cast<int>(mpfr_get_exp(value_)) - 1 : 100000;
  }

 private:
  mpfr_t value_;
};

// Of the relative error of x, the logarithm to base 2, rounded up.
inline int RelativeErrorExponent(const DoubleDouble& x, const Real& exact) {
  Real error;
  mpfr_sub_d(error.get(), exact.get(), x.high, MPFR_RNDN);
  mpfr_sub_d(error.get(), error.get(), x.low, MPFR_RNDN);
  mpfr_div(error.get(), error.get(), exact.get(), MPFR_RNDN);
  return error.Exponent() + 1;
}

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_TESTS_UNIT_KERNELS_CPU_SLOW_REAL_H_
