// Drivers of kernels: how operators of each shape walk over packed runs of elements. Included once
// per target.
//
// A step loads one vector per input, calls the body and stores the results. One loop takes the
// steps of all shapes; kernels/cpu/step_kernel.h lets it begin and end so that it never touches
// memory beyond the run.

#if defined(OPSERVE_KERNELS_CPU_SHAPES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_SHAPES_INL_H_
#undef OPSERVE_KERNELS_CPU_SHAPES_INL_H_
#else
#define OPSERVE_KERNELS_CPU_SHAPES_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/step_kernel.h"
#include "kernels/op_shape.h"
#include "kernels/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Attributes

// The attributes of a call, as bodies see them.
class Attributes {
 public:
  HWY_INLINE explicit Attributes(const AttributeValues& bits) : bits_(bits) {}
  // Attribute `i`, which is a FLOAT.
  HWY_INLINE float operator[](size_t i) const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits_[i]));
  }
  // Attribute `i`, which is a scalar.
  HWY_INLINE Scalar scalar(size_t i) const { return Scalar{bits_[i]}; }

 private:
  AttributeValues bits_;
};

// ------------------------------------------------------------------ Choice of vectors

template <class Body, class D, size_t... kInput>
constexpr bool AcceptsInputs(std::index_sequence<kInput...>) {
  return requires(D d, const Attributes& p, Value<D> v) {
    Body()(d, p, (static_cast<void>(kInput), v)...);
  };
}
template <class Body, class D, int kArity>
concept Accepts = AcceptsInputs<Body, D>(std::make_index_sequence<kArity>());

// The tag of the largest vectors of T that the body accepts and of which a vector holds as many
// TWidest; void if it takes no T at all.
template <class Body, class T, int kArity, class TWidest = T>
constexpr auto ChooseTag() {
  using Full = hn::ScalableTag<T>;
  using AsFloat = hn::Rebind<T, hn::ScalableTag<float>>;
  using AsDouble = hn::Rebind<T, hn::ScalableTag<double>>;
  if constexpr (sizeof(TWidest) <= sizeof(T) && Accepts<Body, Full, kArity>) {
    return Full();
  } else if constexpr (sizeof(T) < 4 && sizeof(TWidest) <= 4 && Accepts<Body, AsFloat, kArity>) {
    return AsFloat();
  } else if constexpr (Accepts<Body, AsDouble, kArity>) {
    return AsDouble();
  }
}

// Vectors of T in memory, and as the body sees them.
template <class Body, class T, int kArity, class TWidest>
struct Lanes {
  using Tag = decltype(ChooseTag<Body, T, kArity, TWidest>());
  static HWY_INLINE Value<Tag> Load(const std::byte* from) { return LoadAt(ValueTag<Tag>(), from); }
  template <bool kStream>
  static HWY_INLINE void Store(Value<Tag> v, std::byte* to) {
    StoreAt<kStream>(v, ValueTag<Tag>(), to);
  }
};

// FLOAT16 for bodies that know only floats: promoted on the way in, demoted on the way out.
template <class Body, int kArity>
struct PromotedLanes {
  using Tag = decltype(ChooseTag<Body, float, kArity>());
  using HalfBits = hn::Rebind<uint16_t, Tag>;
  static HWY_INLINE Value<Tag> Load(const std::byte* from) {
    return PromoteHalf(Tag(), LoadAt(HalfBits(), from));
  }
  template <bool kStream>
  static HWY_INLINE void Store(Value<Tag> v, std::byte* to) {
    StoreAt<kStream>(DemoteHalf(Tag(), v), HalfBits(), to);
  }
};

template <class Body, class T, int kArity, class TWidest = T>
using LanesFor =
    std::conditional_t<std::is_same_v<T, hwy::float16_t> &&
                           std::is_void_v<decltype(ChooseTag<Body, T, kArity, TWidest>())>,
                       PromotedLanes<Body, kArity>, Lanes<Body, T, kArity, TWidest>>;

// ------------------------------------------------------------------ Steps

// Bytes of one element of input `i` of a kernel whose lanes have `lane_size` bytes.
constexpr size_t InputSize(const OpShape& shape, int i, size_t lane_size) {
  return shape.is_condition(i) ? 1 : shape.is_number(i) ? sizeof(double) : lane_size;
}

// The type of flags and counts.
template <bool kIsWide>
using FlagType = std::conditional_t<kIsWide, uint32_t, uint8_t>;

template <const OpShape& kShape, size_t... kInput>
constexpr auto InputSizes(size_t lane_size, std::index_sequence<kInput...>) {
  return std::array{InputSize(kShape, static_cast<int>(kInput), lane_size)...};
}

// Bytes of one element of each input and of the output, in kernels of a shape for lane type T with
// results of TResult.
template <const OpShape& kShape, class T, class TResult>
struct ElementSizes {
  static constexpr auto kInputs = std::make_index_sequence<kShape.operands.size()>();
  static constexpr auto kInputSizes = InputSizes<kShape>(sizeof(T), kInputs);
  static constexpr size_t kOutputSize = sizeof(TResult);
  // Whether many steps are best taken as a block.
  static constexpr bool kHasBlocks = false;
};

// Calls the body with element `i` and those behind it of all inputs, which are of lane type T.
template <class Body, class T, class L, size_t... kInput>
HWY_INLINE auto CallAt(const std::byte* const* in, size_t i, const Attributes& p,
                       std::index_sequence<kInput...>) {
  return Body()(typename L::Tag(), p, L::Load(in[kInput] + i * sizeof(T))...);
}

// Results of a body that leaves rare lanes to be finished: it says which, and can tell from a
// result alone what becomes of it. So a block of vectors may be looked at once, after it is stored.
template <class R>
concept UnfinishedResult = requires(R r) {
  R::AreFinished(r.marks);
  R::Finish(r.lanes);
};

// Results of the lane type.
template <const OpShape& kShape, class Body, class T>
struct ValueStep : ElementSizes<kShape, T, T> {
  using L = LanesFor<Body, T, kShape.input_count()>;
  static constexpr size_t kCount = MaxLanes(typename L::Tag());

  using Result = decltype(CallAt<Body, T, L>(nullptr, 0, std::declval<const Attributes&>(),
                                             ElementSizes<kShape, T, T>::kInputs));
  static constexpr bool kHasBlocks = UnfinishedResult<Result>;

  static HWY_INLINE Result Call(const std::byte* const* in, size_t i, const Attributes& p) {
    return CallAt<Body, T, L>(in, i, p, ValueStep::kInputs);
  }

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& p) {
    if constexpr (kHasBlocks) {
      RunBlock<kStream>(in, out, i, i + kCount, p);
    } else {
      L::template Store<kStream>(Call(in, i, p), out + i * sizeof(T));
    }
  }

  // The steps of elements `begin` to `end`.
  template <bool kStream>
  static HWY_INLINE void RunBlock(const std::byte* const* in, std::byte* out, size_t begin,
                                  size_t end, const Attributes& p) {
    auto marks = hn::Zero(ValueTag<typename L::Tag>());
    size_t next = begin;
    // One operation has the marks of two steps.
    for (; next + 2 * kCount <= end; next += 2 * kCount) {
      const Result first = Call(in, next, p);
      const Result second = Call(in, next + kCount, p);
      L::template Store<kStream>(first.lanes, out + next * sizeof(T));
      L::template Store<kStream>(second.lanes, out + (next + kCount) * sizeof(T));
      marks = hn::Or3(marks, first.marks, second.marks);
    }
    if (next < end) {
      const Result last = Call(in, next, p);
      L::template Store<kStream>(last.lanes, out + next * sizeof(T));
      marks = hn::Or(marks, last.marks);
    }
    if (HWY_LIKELY(Result::AreFinished(marks))) return;
    for (size_t i = begin; i < end; i += kCount) {
      std::byte* const at = out + i * sizeof(T);
      L::template Store<kStream>(Result::Finish(L::Load(at)), at);
    }
  }
};
template <class Body, class T, bool kIsAlternative = false>
using UnaryStep = ValueStep<op_shapes::kUnary, Body, T>;
template <class Body, class T, bool kIsAlternative>
using BinaryStep = ValueStep<op_shapes::kBinary, Body, T>;
template <class Body, class T, bool kIsAlternative>
using MoveStep = ValueStep<op_shapes::kMove, Body, T>;
template <class Body, class T, bool kIsAlternative>
using BitsStep = ValueStep<op_shapes::kBits, Body, T>;
template <class Body, class T, bool kIsAlternative>
using BitPairStep = ValueStep<op_shapes::kBitPair, Body, T>;

// Results that are flags.
template <const OpShape& kShape, class Body, class T, class TFlag>
struct FlagStep : ElementSizes<kShape, T, TFlag> {
  using L = LanesFor<Body, T, kShape.input_count(), TFlag>;
  using Bits = BitsTag<typename L::Tag>;
  using Flags = hn::Rebind<TFlag, typename L::Tag>;
  static constexpr size_t kCount = MaxLanes(typename L::Tag());

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& p) {
    const auto holds = CallAt<Body, T, L>(in, i, p, FlagStep::kInputs);
    const auto lanes = ConvertMask(Flags(), Bits(), hn::RebindMask(Bits(), holds));
    StoreAt<kStream>(hn::IfThenElseZero(lanes, hn::Set(Flags(), TFlag{1})), Flags(),
                     out + i * sizeof(TFlag));
  }
};
template <class Body, class T, bool kIsWide>
using PredicateStep = FlagStep<op_shapes::kPredicate, Body, T, FlagType<kIsWide>>;
template <class Body, class T, bool kIsWide>
using ComparisonStep = FlagStep<op_shapes::kComparison, Body, T, FlagType<kIsWide>>;

// Results that are small numbers.
template <class Body, class T, bool kIsWide>
struct CountStep : ElementSizes<op_shapes::kCount, T, FlagType<kIsWide>> {
  using TCount = FlagType<kIsWide>;
  using L = LanesFor<Body, T, 1, TCount>;
  using Counts = hn::Rebind<TCount, typename L::Tag>;
  static constexpr size_t kCount = MaxLanes(typename L::Tag());

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& p) {
    const auto counts = CallAt<Body, T, L>(in, i, p, CountStep::kInputs);
    StoreAt<kStream>(ConvertCount(Counts(), typename L::Tag(), counts), Counts(),
                     out + i * sizeof(TCount));
  }
};

template <class Body, class T, bool kIsAlternative>
struct SelectStep : ElementSizes<op_shapes::kSelect, T, T> {
  using D = hn::ScalableTag<T>;
  using Bytes = hn::Rebind<uint8_t, D>;
  static constexpr size_t kCount = MaxLanes(D());

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& p) {
    const auto condition = LoadAt(Bytes(), in[0] + i);
    const auto c = ConvertMask(D(), Bytes(), hn::Ne(condition, hn::Zero(Bytes())));
    const auto x = LoadAt(D(), in[1] + i * sizeof(T));
    const auto y = LoadAt(D(), in[2] + i * sizeof(T));
    StoreAt<kStream>(Body()(D(), p, c, x, y), D(), out + i * sizeof(T));
  }
};

// Powers by exponents of any type, which come as FLOAT64: as whole numbers where the lanes and they
// are integers.
template <class Body, class T, bool kHasFractions>
struct PowerStep : ElementSizes<op_shapes::kPower, T, T> {
  using Exponents = hn::ScalableTag<double>;
  using D = hn::Rebind<T, Exponents>;
  static constexpr size_t kCount = MaxLanes(D());

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& p) {
    const auto x = LoadAt(ValueTag<D>(), in[0] + i * sizeof(T));
    const auto e = LoadAt(Exponents(), in[1] + i * sizeof(double));
    std::byte* const to = out + i * sizeof(T);
    if constexpr (std::integral<T> && !kHasFractions) {
      StoreAt<kStream>(Body()(D(), p, x, WholeNumbers{e}), ValueTag<D>(), to);
    } else {
      StoreAt<kStream>(Body()(D(), p, x, e), ValueTag<D>(), to);
    }
  }
};

// Results of the lane type, of numbers only.
template <const OpShape& kShape, class Body, class T>
struct NumbersStep : ElementSizes<kShape, T, T> {
  using Numbers = hn::ScalableTag<double>;
  using D = hn::Rebind<T, Numbers>;
  static constexpr size_t kCount = MaxLanes(D());

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& p) {
    StoreAt<kStream>(Result(in, i, p, NumbersStep::kInputs), ValueTag<D>(), out + i * sizeof(T));
  }

 private:
  template <size_t... kInput>
  static HWY_INLINE auto Result(const std::byte* const* in, size_t i, const Attributes& p,
                                std::index_sequence<kInput...>) {
    return Body()(D(), p, LoadAt(Numbers(), in[kInput] + i * sizeof(double))...);
  }
};
template <class Body, class T, bool kIsAlternative>
using QuantizationStep = NumbersStep<op_shapes::kQuantization, Body, T>;
template <class Body, class T, bool kIsAlternative>
using QuantizedSumStep = NumbersStep<op_shapes::kQuantizedSum, Body, T>;

// ------------------------------------------------------------------ The loop

// A block is small enough to be in the first-level cache when it is looked at again.
inline constexpr size_t kBlockSteps = 64;

// The loop of a StepKernel.
template <class Step, bool kStream>
size_t RunSteps(const std::byte* const* inputs, std::byte* output, size_t begin, size_t end,
                const AttributeValues& attributes) {
  constexpr size_t kCount = Step::kCount;
  // Local copies, so that stores to the output cannot change them.
  const Attributes p(attributes);
  std::array<const std::byte*, Step::kInputSizes.size()> in;
  std::copy_n(inputs, in.size(), in.begin());
  // With an end that is a whole number of steps away, a step costs one addition and one comparison.
  const size_t whole_end = begin + (end - begin) / kCount * kCount;
  if constexpr (Step::kHasBlocks) {
    constexpr size_t kBlock = kBlockSteps * kCount;
    for (size_t i = begin; i != whole_end;) {
      const size_t block_end = i + std::min(whole_end - i, kBlock);
      Step::template RunBlock<kStream>(in.data(), output, i, block_end, p);
      i = block_end;
    }
  } else {
    for (size_t i = begin; i != whole_end; i += kCount) {
      Step::template Run<kStream>(in.data(), output, i, p);
    }
  }
  return whole_end;
}

template <class Step>
constexpr StepKernel MakeStepKernel() {
  static_assert(Step::kCount <= kMaxStepElements);
  StepKernel kernel = {.cached = &RunSteps<Step, false>, .streaming = &RunSteps<Step, true>};
  std::copy(Step::kInputSizes.begin(), Step::kInputSizes.end(), kernel.input_sizes.begin());
  kernel.input_count = static_cast<uint8_t>(Step::kInputSizes.size());
  kernel.output_size = static_cast<uint8_t>(Step::kOutputSize);
  kernel.step_elements = static_cast<uint8_t>(Step::kCount);
  return kernel;
}

// The FlatKernel of a step.
template <class Step>
void RunFlat(const std::byte* const* inputs, std::byte* output, size_t count, StoreMode store_mode,
             const AttributeValues& attributes) {
  static constexpr StepKernel kKernel = MakeStepKernel<Step>();
  RunInSteps(kKernel, inputs, output, count, store_mode, attributes);
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_SHAPES_INL_H_
