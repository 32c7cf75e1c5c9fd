// Copies that a Direct3D 12 device keeps of inputs and results that have an id: they are used
// instead of the host's bytes, and nothing depends on their being there.
//
// Tests break the rule that an id never has other bytes, to see which bytes are used.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/slab_pool.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;

using Bytes = std::vector<std::byte>;

class GpuContentTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) UseDevice({});
  }

  // A device of the test's own, which keeps nothing yet.
  void UseDevice(const d3d12::DeviceOptions& options) {
    own_ = MakeDevice(options);
    ASSERT_NE(own_, nullptr);
  }
  D3D12Device& own() { return *own_; }
  TransferCounters transfers() const { return own_->transfers(); }

  // The call of `example` with `input`, which is said to be `content`.
  static DeviceCall CallOn(const Example& example, const std::byte* input, ContentId content,
                           Bytes& output) {
    output.assign(example.call->output_bytes, std::byte{0x5A});
    DeviceCall call = {.invocation = example.call.get()};
    call.inputs[0] = {input, content};
    call.output = output.data();
    return call;
  }
  // Runs it alone; the result is to have an id.
  Bytes Run(const Example& example, const std::byte* input, ContentId content,
            const ResultContent& result = {}) {
    Bytes output;
    DeviceCall call = CallOn(example, input, content, output);
    call.content = result;
    const absl::Status status = own_->Run({&call, 1});
    EXPECT_TRUE(status.ok()) << status;
    return output;
  }
  Bytes RunOwn(const Example& example, ContentId content, const ResultContent& result = {}) {
    return Run(example, example.inputs[0].data(), content, result);
  }

  // Whether `output` is what `example` must answer.
  static bool IsRight(const Example& example, const Bytes& output) {
    return Difference(*example.call, example.expected.data(), output.data()).empty();
  }

  std::unique_ptr<D3D12Device> own_;
};

TEST_F(GpuContentTest, AnInputWithAnIdIsUploadedOnce) {
  const Example first = MakeExample(3001, 1);
  const Example other = MakeExample(3001, 2);
  EXPECT_TRUE(IsRight(first, RunOwn(first, 7)));
  const TransferCounters before = transfers();
  EXPECT_GE(before.uploaded_bytes, first.call->input_bytes[0]);
  EXPECT_GE(before.kept_bytes, first.call->input_bytes[0]);
  EXPECT_EQ(before.kept_inputs, 0u);
  // The bytes of another one, which nobody looks at.
  EXPECT_TRUE(IsRight(first, RunOwn(other, 7)));
  EXPECT_EQ(transfers().uploaded_bytes, before.uploaded_bytes);
  EXPECT_EQ(transfers().kept_inputs, 1u);
  EXPECT_TRUE(IsRight(other, RunOwn(other, 8)));
  EXPECT_TRUE(IsRight(first, RunOwn(first, 7)));
}

TEST_F(GpuContentTest, InputsWithoutAnIdAreNotKept) {
  const Example first = MakeExample(3001, 1);
  const Example other = MakeExample(3001, 2);
  EXPECT_TRUE(IsRight(first, RunOwn(first, kNoContent)));
  EXPECT_TRUE(IsRight(other, RunOwn(other, kNoContent)));
  EXPECT_EQ(transfers().kept_bytes, 0u);
}

TEST_F(GpuContentTest, AResultWithAnIdNeedsNoUpload) {
  const Example example = MakeExample(3001, 1);
  EXPECT_TRUE(IsRight(example, RunOwn(example, kNoContent, {.id = 8})));
  const uint64_t uploaded = transfers().uploaded_bytes;
  const Bytes garbage(example.call->input_bytes[0], std::byte{0x33});
  // What is rounded stays as it is.
  EXPECT_TRUE(IsRight(example, Run(example, garbage.data(), 8)));
  EXPECT_EQ(transfers().uploaded_bytes, uploaded);
}

// A failed run must not leave what it computed.
TEST_F(GpuContentTest, AFailedRunKeepsNothing) {
  const Example example = MakeExample(3001, 1);
  Bytes output;
  DeviceCall call = CallOn(example, example.inputs[0].data(), 7, output);
  call.content.id = 8;
  FailingCall fault("Close", kOutOfMemory);
  {
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(own().Run({&call, 1}).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(transfers().kept_bytes, 0u);
  EXPECT_EQ(transfers().uploaded_bytes, 0u);
  EXPECT_TRUE(IsRight(example, RunOwn(example, 7, {.id = 8})));
  EXPECT_EQ(transfers().kept_inputs, 0u);
}

// What replaces its own input again and again takes no more memory.
TEST_F(GpuContentTest, AChainInPlaceAllocatesNothingOnceWarm) {
  const Example example = MakeExample(3001, 1);
  Bytes value = RunOwn(example, 1, {.id = 2, .replaced = 1});
  const uint64_t kept = transfers().kept_bytes;
  const uint64_t uploaded = transfers().uploaded_bytes;
  const auto step = [&](ContentId id) {
    value = Run(example, value.data(), id, {.id = id + 1, .replaced = id});
    EXPECT_TRUE(IsRight(example, value));
  };
  step(2);
  FailingCall fault("Create", kOutOfMemory);
  d3d12::ScopedFaultInjector injector(fault);
  for (ContentId id = 3; id < 20; ++id) step(id);
  EXPECT_EQ(fault.failures, 0);
  EXPECT_EQ(transfers().kept_bytes, kept);
  EXPECT_EQ(transfers().uploaded_bytes, uploaded);
  EXPECT_EQ(transfers().kept_inputs, 18u);
  EXPECT_EQ(transfers().evictions, 0u);
}

// The gaps of a strided result are part of its content.
TEST_F(GpuContentTest, StridedInputsAndResults) {
  const Example example = MakeStridedExample(1001, 1);
  const Example other = MakeStridedExample(1001, 2);
  const Bytes result = RunOwn(example, 7, {.id = 8});
  EXPECT_TRUE(IsRight(example, result));
  EXPECT_TRUE(IsRight(example, RunOwn(other, 7)));
  const Example whole = MakeExample(static_cast<uint32_t>(result.size() / 2), 3);
  const Bytes expected = Run(whole, result.data(), kNoContent);
  EXPECT_EQ(RunOwn(whole, 8), expected);
  EXPECT_EQ(transfers().kept_inputs, 2u);
}

// The device has only the elements in the order of its loops.
TEST_F(GpuContentTest, ResultsThatTheHostPutsInOrderAreNotKept) {
  std::mt19937_64 random(1);
  const Example example =
      MakeExample(MakeCall({FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat16}, 0,
                           {"interleaved", {2, 3}, {{}, {}, {}, {3, 2}}}),
                  random);
  EXPECT_TRUE(IsRight(example, RunOwn(example, kNoContent, {.id = 8})));
  EXPECT_EQ(transfers().kept_bytes, 0u);
}

// Calls of every length, of which each third is kept, each third has a new id, and each third none.
TEST_F(GpuContentTest, ABatchMixesKeptInputsAndOthers) {
  for (const bool is_strided : {false, true}) {
    UseDevice({});
    const auto make = [is_strided](uint32_t count, uint64_t seed) {
      return is_strided ? MakeStridedExample(count, seed) : MakeExample(count, seed);
    };
    std::vector<Example> old;
    std::vector<Example> fresh;
    for (uint32_t i = 0; i < 60; ++i) {
      old.push_back(make(2 + i * 97 % 1000, i));
      fresh.push_back(make(2 + i * 97 % 1000, 100 + i));
    }
    for (size_t i = 0; i < old.size(); i += 3) RunOwn(old[i], 1 + i);
    std::vector<Bytes> outputs(fresh.size());
    std::vector<DeviceCall> calls;
    for (size_t i = 0; i < fresh.size(); ++i) {
      const ContentId content = i % 3 == 2 ? kNoContent : 1 + i;
      calls.push_back(CallOn(fresh[i], fresh[i].inputs[0].data(), content, outputs[i]));
    }
    // Most but not all of the other ones' bytes.
    const uint64_t uploaded = transfers().uploaded_bytes;
    ASSERT_TRUE(own().Run(calls).ok());
    for (size_t i = 0; i < fresh.size(); ++i) {
      EXPECT_TRUE(IsRight(i % 3 == 0 ? old[i] : fresh[i], outputs[i])) << i;
    }
    EXPECT_EQ(transfers().kept_inputs, 20u);
    const uint64_t first = transfers().uploaded_bytes - uploaded;
    ASSERT_TRUE(own().Run(calls).ok());
    EXPECT_LT(transfers().uploaded_bytes - uploaded - first, first);
    for (size_t i = 0; i < fresh.size(); ++i) {
      EXPECT_TRUE(IsRight(i % 3 == 0 ? old[i] : fresh[i], outputs[i])) << i;
    }
    EXPECT_EQ(transfers().kept_inputs, 60u);
  }
}

// What a device keeps in place of handing it over.
class GpuStayTest : public GpuContentTest {
 protected:
  // Runs `examples` as one batch; the results of those that are to stay get the ids 1, 2, ...
  void RunBatch(const std::vector<Example>& examples, const std::function<bool(size_t)>& stays) {
    outputs_.resize(examples.size());
    stayed_ = std::make_unique<bool[]>(examples.size());
    std::vector<DeviceCall> calls;
    for (size_t i = 0; i < examples.size(); ++i) {
      calls.push_back(CallOn(examples[i], examples[i].inputs[0].data(), kNoContent, outputs_[i]));
      calls.back().content.id = 1 + i;
      if (stays(i)) calls.back().content.stays = &stayed_[i];
    }
    const absl::Status status = own().Run(calls);
    EXPECT_TRUE(status.ok()) << status;
  }
  Bytes Read(ContentId content, size_t bytes) {
    Bytes read(bytes, std::byte{0x77});
    const absl::Status status = own().Read(content, read);
    EXPECT_TRUE(status.ok()) << status;
    return read;
  }

  std::vector<Bytes> outputs_;
  std::unique_ptr<bool[]> stayed_;
};

// Alone and between others, packed and strided, with the gaps.
TEST_F(GpuStayTest, ResultsStayUntilTheyAreRead) {
  for (const bool is_strided : {false, true}) {
    UseDevice({});
    std::vector<Example> examples;
    for (uint32_t i = 0; i < 40; ++i) {
      const uint32_t count = 2 + i * 97 % 1000;
      examples.push_back(is_strided ? MakeStridedExample(count, i) : MakeExample(count, i));
    }
    const auto stays = [](size_t i) { return i % 5 != 2 && i % 7 != 3; };
    RunBatch(examples, stays);
    size_t staying = 0;
    for (size_t i = 0; i < examples.size(); ++i) {
      const Bytes untouched(outputs_[i].size(), std::byte{0x5A});
      EXPECT_EQ(stayed_[i], stays(i)) << i;
      if (!stays(i)) {
        EXPECT_TRUE(IsRight(examples[i], outputs_[i])) << i;
        continue;
      }
      ++staying;
      EXPECT_EQ(outputs_[i], untouched) << i;
      EXPECT_TRUE(IsRight(examples[i], Read(1 + i, outputs_[i].size()))) << i;
    }
    EXPECT_EQ(transfers().kept_results, staying);
    EXPECT_EQ(transfers().read_results, staying);
  }
}

TEST_F(GpuStayTest, ABatchOfThemAloneReadsNothingBack) {
  std::vector<Example> examples;
  for (const uint64_t seed : {1, 2}) examples.push_back(MakeExample(3001, seed));
  RunBatch(examples, [](size_t) { return true; });
  const Bytes whole = Read(2, outputs_[1].size());
  EXPECT_TRUE(IsRight(examples[1], whole));
  // Any of the first bytes may be read.
  for (const size_t bytes : {1, 6, 3000}) {
    EXPECT_EQ(Read(2, bytes), Bytes(whole.begin(), whole.begin() + bytes));
  }
}

// Where the host puts them in order, and where there is no room for a copy.
TEST_F(GpuStayTest, SomeAreHandedOverAllTheSame) {
  std::mt19937_64 random(1);
  std::vector<Example> interleaved;
  interleaved.push_back(
      MakeExample(MakeCall({FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat16}, 0,
                           {"interleaved", {2, 3}, {{}, {}, {}, {3, 2}}}),
                  random));
  RunBatch(interleaved, [](size_t) { return true; });
  EXPECT_FALSE(stayed_[0]);
  EXPECT_TRUE(IsRight(interleaved[0], outputs_[0]));
  UseDevice({.memory_budget = 1 << 20});
  std::vector<Example> large;
  large.push_back(MakeExample(240000, 9));
  RunBatch(large, [](size_t) { return true; });
  EXPECT_FALSE(stayed_[0]);
  EXPECT_TRUE(IsRight(large[0], outputs_[0]));
  EXPECT_EQ(transfers().kept_results, 0u);
}

TEST_F(GpuStayTest, WhatIsNotKeptCannotBeRead) {
  std::vector<Example> examples;
  examples.push_back(MakeExample(3001, 1));
  RunBatch(examples, [](size_t) { return true; });
  Bytes read(outputs_[0].size() + 4);
  EXPECT_TRUE(absl::IsNotFound(own().Read(1, read)));
  read.resize(4);
  EXPECT_TRUE(absl::IsNotFound(own().Read(2, read)));
  RunOwn(examples[0], kNoContent, {.id = 2, .replaced = 1});
  EXPECT_TRUE(absl::IsNotFound(own().Read(1, read)));
  EXPECT_TRUE(own().Read(2, read).ok());
}

TEST_F(GpuStayTest, AReadMayFindTheDeviceLost) {
  std::vector<Example> examples;
  examples.push_back(MakeExample(3001, 1));
  RunBatch(examples, [](size_t) { return true; });
  Bytes read(outputs_[0].size(), std::byte{0x77});
  {
    FailingCall fault("Close", kOutOfMemory);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_TRUE(absl::IsResourceExhausted(own().Read(1, read)));
  }
  EXPECT_TRUE(IsRight(examples[0], Read(1, read.size())));
  FailingCall fault("->Signal", kDeviceRemoved);
  d3d12::ScopedFaultInjector injector(fault);
  EXPECT_TRUE(absl::IsUnavailable(own().Read(1, read)));
  EXPECT_TRUE(absl::IsUnavailable(own().status()));
  EXPECT_EQ(read, Bytes(read.size(), std::byte{0x77}));
}

TEST_F(GpuContentTest, CallsOfABatchShareACopy) {
  const Example example = MakeExample(3001, 1);
  std::vector<Bytes> outputs(10);
  std::vector<DeviceCall> calls;
  for (Bytes& output : outputs) {
    calls.push_back(CallOn(example, example.inputs[0].data(), 7, output));
  }
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(own().Run(calls).ok());
    for (const Bytes& output : outputs) EXPECT_TRUE(IsRight(example, output));
  }
  EXPECT_EQ(transfers().kept_inputs, 10u);
  // Once, in whole parts of a slab.
  EXPECT_EQ(transfers().kept_bytes, 6144u);
}

// Each would take 64 KiB in a buffer of its own, and drivers limit how many there may be.
TEST_F(GpuContentTest, TenThousandSmallCopiesTakeOneBuffer) {
  const Example example = MakeExample(2048, 1);
  FailingCall made("CreateCommittedResource", kOutOfMemory);
  made.armed = false;
  d3d12::ScopedFaultInjector injector(made);
  for (ContentId batch = 0; batch < 40; ++batch) {
    std::vector<Bytes> outputs(250);
    std::vector<DeviceCall> calls;
    for (ContentId i = 0; i < 250; ++i) {
      calls.push_back(CallOn(example, example.inputs[0].data(), 1 + batch * 250 + i, outputs[i]));
    }
    const absl::Status status = own().Run(calls);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(transfers().kept_bytes, 10000u * 4096);
  EXPECT_EQ(transfers().evictions, 0u);
  // The slab, and the buffers of a batch.
  EXPECT_EQ(made.passes, 3);
  EXPECT_LT(own().pooled_bytes(), d3d12::kSlabBytes + (uint64_t{4} << 20));
  // All of them are there.
  const uint64_t uploaded = transfers().uploaded_bytes;
  for (const ContentId content : {1, 5000, 10000}) {
    EXPECT_TRUE(IsRight(example, RunOwn(example, content)));
  }
  EXPECT_EQ(transfers().uploaded_bytes, uploaded);
}

// The buffer of a copy that is read is written, too.
TEST_F(GpuContentTest, ASubmissionReadsAndWritesASlab) {
  const Example example = MakeExample(3001, 1);
  const Example other = MakeExample(3001, 2);
  RunOwn(example, 1);
  for (ContentId id = 2; id < 10; ++id) {
    EXPECT_TRUE(IsRight(example, RunOwn(other, id - 1, {.id = id})));
  }
  for (ContentId id = 1; id < 10; ++id) EXPECT_TRUE(IsRight(example, RunOwn(other, id)));
}

// Room for three copies or so beside a call.
TEST_F(GpuContentTest, CopiesLeaveWhereMemoryIsShort) {
  UseDevice({.memory_budget = 1 << 20});
  std::vector<Example> examples;
  for (uint64_t i = 0; i < 8; ++i) examples.push_back(MakeExample(60000, i));
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < examples.size(); ++i) {
      EXPECT_TRUE(IsRight(examples[i], RunOwn(examples[i], 1 + i))) << i;
    }
  }
  EXPECT_GT(transfers().evictions, 8u);
  EXPECT_GT(transfers().kept_bytes, 0u);
  EXPECT_LE(own().pooled_bytes(), uint64_t{1} << 20);
  // One that has left is uploaded again.
  EXPECT_TRUE(IsRight(examples[7], RunOwn(examples[7], 1)));
  // A batch that needs all memory gets it.
  const Example large = MakeExample(240000, 9);
  EXPECT_TRUE(IsRight(large, RunOwn(large, kNoContent)));
  EXPECT_EQ(transfers().kept_bytes, 0u);
  // Nothing can be kept of what leaves no room.
  EXPECT_TRUE(IsRight(large, RunOwn(large, 20, {.id = 21})));
  EXPECT_EQ(transfers().kept_bytes, 0u);
}

// The copies of both inputs and the rest of the call do not fit together.
TEST_F(GpuContentTest, ACallDoesNotFailForTheCopiesThatItReads) {
  UseDevice({.memory_budget = 1 << 20});
  std::mt19937_64 random(1);
  const auto make = [&random](const char* op) {
    return MakeExample(MakeCall({FindOperator(op), DataType::kFloat32}, 0, Packed(1 << 16)),
                       random);
  };
  const Example round = make("ELEMENT_WISE_ROUND");
  const Example modulus = make("ELEMENT_WISE_MODULUS_TRUNCATE");
  for (const ContentId i : {0, 1}) Run(round, modulus.inputs[i].data(), 1 + i);
  EXPECT_EQ(transfers().kept_bytes, uint64_t{2} << 18);
  Bytes output;
  DeviceCall call = CallOn(modulus, modulus.inputs[0].data(), 1, output);
  call.inputs[1] = {modulus.inputs[1].data(), 2};
  const absl::Status status = own().Run({&call, 1});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(IsRight(modulus, output));
}

TEST_F(GpuContentTest, ANewDeviceKeepsNothing) {
  const Example first = MakeExample(3001, 1);
  const Example other = MakeExample(3001, 2);
  RunOwn(first, 7);
  UseDevice({});
  EXPECT_TRUE(IsRight(other, RunOwn(other, 7)));
}

class GpuSequenceContentTest : public GpuContentTest {
 protected:
  void SetUp() override {
    GpuContentTest::SetUp();
    SequenceBuilder builder;
    const TensorSource first = builder.Input({DataType::kFloat32, {1000}});
    const TensorSource second = builder.Input({DataType::kFloat32, {1000}});
    builder.Return(builder.Round(builder.Round(first))).Return(builder.Round(second));
    sequence_ = builder.Validate().sequence;
    ASSERT_NE(sequence_, nullptr);
    ASSERT_EQ(sequence_->outputs.size(), 2u);
  }

  // Runs it on inputs that are `value` and a half everywhere. The first number of each output.
  std::vector<float> Run(const std::vector<float>& values, const std::vector<ContentId>& contents,
                         const std::vector<ResultContent>& results, bool hands_over = false) {
    std::vector<std::vector<float>> inputs;
    std::vector<std::vector<float>> outputs(2, std::vector<float>(1000));
    SequenceCall call = {.sequence = sequence_.get()};
    for (size_t i = 0; i < 2; ++i) {
      inputs.emplace_back(1000, values[i]);
      call.inputs.emplace_back(reinterpret_cast<const std::byte*>(inputs[i].data()), contents[i]);
      call.outputs.push_back(reinterpret_cast<std::byte*>(outputs[i].data()));
    }
    call.contents = results;
    const DeviceCall device_call = {.sequence = &call, .hands_over = hands_over};
    const absl::Status status = own().Run({&device_call, 1});
    EXPECT_TRUE(status.ok()) << status;
    for (const auto& output : outputs) EXPECT_EQ(output, std::vector<float>(1000, output[0]));
    return {outputs[0][0], outputs[1][0]};
  }

  std::shared_ptr<const SequenceInvocation> sequence_;
};

TEST_F(GpuSequenceContentTest, InputsAndResultsAreKept) {
  using Floats = std::vector<float>;
  const std::vector<ResultContent> results = {{.id = 8}, {.id = 9}};
  EXPECT_EQ(Run({1.25f, 5.25f}, {7, kNoContent}, results), (Floats{1, 5}));
  // The first is kept, the second one not.
  EXPECT_EQ(Run({2.25f, 6.25f}, {7, kNoContent}, {}), (Floats{1, 6}));
  EXPECT_EQ(transfers().kept_inputs, 1u);
  const uint64_t uploaded = transfers().uploaded_bytes;
  EXPECT_EQ(Run({3.25f, 7.25f}, {9, 8}, {}), (Floats{5, 1}));
  EXPECT_EQ(transfers().uploaded_bytes, uploaded);
  EXPECT_EQ(transfers().kept_inputs, 3u);
}

TEST_F(GpuSequenceContentTest, OneResultStaysBesideOneThatIsReadBack) {
  using Floats = std::vector<float>;
  bool stays = false;
  const std::vector<ResultContent> results = {{.id = 8, .stays = &stays, .is_volatile = true},
                                              {.id = 9}};
  EXPECT_EQ(Run({1.25f, 5.25f}, {kNoContent, kNoContent}, results), (Floats{0, 5}));
  EXPECT_TRUE(stays);
  EXPECT_EQ(transfers().kept_results, 1u);
  Floats read(1000);
  ASSERT_TRUE(own().Read(8, std::as_writable_bytes(std::span(read))).ok());
  EXPECT_EQ(read, Floats(1000, 1));
  // What takes its place does not take its copy, which others may still read.
  EXPECT_EQ(Run({3.25f, 7.25f}, {kNoContent, kNoContent}, {{.id = 10, .replaced = 8}, {}}),
            (Floats{3, 7}));
  EXPECT_TRUE(own().Read(8, std::as_writable_bytes(std::span(read))).ok());
  own().Release(8, /*is_of_use=*/true);
  EXPECT_TRUE(own().Read(8, std::as_writable_bytes(std::span(read))).ok());
  own().Release(8, /*is_of_use=*/false);
  EXPECT_TRUE(absl::IsNotFound(own().Read(8, std::as_writable_bytes(std::span(read)))));
  stays = false;
  EXPECT_EQ(Run({1.25f, 5.25f}, {kNoContent, kNoContent}, results, /*hands_over=*/true),
            (Floats{1, 5}));
  EXPECT_FALSE(stays);
}

}  // namespace
}  // namespace opserve::testing
