// Requests whose tensors are in shared memory, and clients that misuse it.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "proto/base/mutex.h"
#include "server/device/cpu/cpu_device.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/memory_fixture.h"
#include "tests/integration/test_stream.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class SharedMemoryTest : public MemoryTest {
 protected:
  // Starts the server and a client of its regions.
  void Connect(const ServerEnvironment& environment = {}) {
    Start(environment);
    client_ = std::make_unique<RegionClient>(region_socket());
  }

  std::unique_ptr<RegionClient> client_;
};

TEST_F(SharedMemoryTest, ServerInfoTellsTheSocket) {
  options_.regions.limits.max_bytes = 12345;
  Start();
  EXPECT_EQ(Info().shared_memory().socket(), region_socket());
  EXPECT_EQ(Info().shared_memory().max_bytes(), 12345);
}

TEST_F(SharedMemoryTest, TheSocketHasThePermissionsOfTheServers) {
  Start();
  struct stat server = {};
  struct stat regions = {};
  const std::string path = region_socket();
  ASSERT_EQ(stat(path.substr(0, path.rfind('.')).c_str(), &server), 0);
  ASSERT_EQ(stat(path.c_str(), &regions), 0);
  EXPECT_EQ(regions.st_mode & 0777, server.st_mode & 0777);
}

TEST_F(SharedMemoryTest, IsOffWhereItIsSwitchedOff) {
  options_.regions.is_on = false;
  Start();
  EXPECT_FALSE(Info().has_shared_memory());
  EXPECT_FALSE(std::filesystem::exists(region_socket()));
}

TEST_F(SharedMemoryTest, IsOffWithoutASocketFile) {
  options_.listen = {"127.0.0.1:0"};
  Start();
  EXPECT_FALSE(Info().has_shared_memory());
}

TEST_F(SharedMemoryTest, TheSocketGoesWithTheServer) {
  Start();
  EXPECT_TRUE(std::filesystem::exists(region_socket()));
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(region_socket()));
}

TEST_F(SharedMemoryTest, ReadsInputsAndWritesResults) {
  Connect();
  const auto memory = std::make_unique<SharedMemory>(256);
  const Floats values = {-1.5f, 0.5f, 2.5f};
  std::memcpy(memory->data() + 8, values.data(), 12);
  const std::string region = client_->Register(*memory);

  const Answer answer =
      server_->Execute(RoundAt(3, InRegion(region, 8, 12), InRegion(region, 64, 12)));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(ValuesAt(*memory, 64, 3), (Floats{-2, 0, 2}));
  EXPECT_TRUE(answer.response.payload().empty());
  EXPECT_THAT(answer.response.output().sizes(), ElementsAre(3));
  // Nothing but the result is written.
  EXPECT_EQ(ValuesAt(*memory, 76, 1), Floats{0});
}

TEST_F(SharedMemoryTest, MixesPlacesOfAllKinds) {
  Connect();
  const auto memory = SharedValues<float>({7, 8, 9});
  const std::string region = client_->Register(*memory);
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_IF");
  AddInput(request, v1::DATA_TYPE_UINT8, {3}, std::string("\1\0\1", 3));
  AddInput(request, v1::DATA_TYPE_FLOAT32, {3}, "");
  AddInput(request, v1::DATA_TYPE_FLOAT32, {3}, BytesOf(Floats{1, 2, 3}));
  request.mutable_payloads()->DeleteSubrange(1, 1);
  request.add_input_places();
  *request.add_input_places() = InRegion(region, 0, 12);
  request.add_input_places();
  const Answer answer = server_->Execute(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(ValuesOf<float>(answer.response.payload()), (Floats{7, 2, 9}));
}

TEST_F(SharedMemoryTest, WorksInPlaceWhereTheOperatorMay) {
  Connect();
  const auto memory = SharedValues<float>({-1.5f, 0.5f, 2.5f});
  const std::string region = client_->Register(*memory);
  const v1::TensorPlace place = InRegion(region, 0, 12);
  EXPECT_TRUE(server_->Execute(RoundAt(3, place, place)).status.ok());
  EXPECT_EQ(ValuesAt(*memory, 0, 3), (Floats{-2, 0, 2}));
}

TEST_F(SharedMemoryTest, RefusesOtherOverlaps) {
  Connect();
  const SharedMemory memory(1024);
  const std::string region = client_->Register(memory);
  const std::string same = client_->Register(memory);
  for (const std::string& output : {region, same}) {
    const Answer answer =
        server_->Execute(RoundAt(32, InRegion(region, 0, 128), InRegion(output, 64, 128)));
    EXPECT_THAT(ViolationsOf(answer.status), ElementsAre(StartsWith("output_place: The place")));
  }
  v1::ExecuteRequest predicate;
  predicate.set_operator_("ELEMENT_WISE_IS_INFINITY");
  AddEnum(predicate, "InfinityMode", "EITHER");
  AddInput(predicate, v1::DATA_TYPE_FLOAT16, {2}, "");
  predicate.clear_payloads();
  *predicate.add_input_places() = InRegion(region, 0, 4);
  *predicate.mutable_output_place() = InRegion(region, 0, 4);
  EXPECT_THAT(ViolationsOf(server_->Execute(predicate).status),
              ElementsAre(HasSubstr("in whose place this operator cannot work")));
}

TEST_F(SharedMemoryTest, RefusesRangesOutsideTheRegion) {
  Connect();
  const SharedMemory memory(128);
  const std::string region = client_->Register(memory);
  const auto refusal = [&](uint64_t offset, uint64_t bytes) {
    return ViolationsOf(server_->Execute(RoundAt(16, InRegion(region, offset, bytes))).status);
  };
  EXPECT_THAT(refusal(68, 64), ElementsAre(StartsWith("input_places[0].region.bytes: ")));
  EXPECT_THAT(refusal(129, 64), ElementsAre(StartsWith("input_places[0].region.offset: ")));
  EXPECT_THAT(refusal(UINT64_MAX - 32, 64),
              ElementsAre(StartsWith("input_places[0].region.offset: ")));
  EXPECT_THAT(refusal(0, 60), ElementsAre(StartsWith("input_places[0].region.bytes: ")));
  EXPECT_THAT(refusal(1, UINT64_MAX), SizeIs(2));
  const auto output = [&](uint64_t offset, uint64_t bytes) {
    return ViolationsOf(
        server_->Execute(RoundAt(1, InRegion(region, 0, 4), InRegion(region, offset, bytes)))
            .status);
  };
  EXPECT_THAT(output(68, 4), ElementsAre(StartsWith("output_place.region.offset: ")));
  EXPECT_THAT(output(64, 8), ElementsAre(StartsWith("output_place.region.bytes: ")));
  EXPECT_THAT(output(192, 4), ElementsAre(StartsWith("output_place.region.offset: ")));
}

TEST_F(SharedMemoryTest, ReportsPlacesAndTheRestTogether) {
  Connect();
  const SharedMemory memory(128);
  const std::string region = client_->Register(memory);
  v1::ExecuteRequest request = RoundAt(1, InRegion(region, 126, 4), InRegion(region, 3, 4));
  request.mutable_attributes(0)->set_enum_name("UPWARDS");
  EXPECT_THAT(ViolationsOf(server_->Execute(request).status),
              ElementsAre(StartsWith("input_places[0].region.bytes: "),
                          StartsWith("output_place.region.offset: "), StartsWith("attributes[0]")));
}

TEST_F(SharedMemoryTest, CountsPlacesAndPayloads) {
  Connect();
  const std::string region = client_->Register(SharedMemory(128));
  v1::ExecuteRequest request = RoundAt(1, InRegion(region, 0, 4));
  request.add_payloads("1234");
  EXPECT_THAT(ViolationsOf(server_->Execute(request).status),
              ElementsAre(StartsWith("payloads: ")));
  request = RoundAt(1, InRegion(region, 0, 4));
  request.add_input_places();
  EXPECT_THAT(ViolationsOf(server_->Execute(request).status),
              ElementsAre(StartsWith("input_places: ")));
}

TEST_F(SharedMemoryTest, UnknownRegionsAreNotFound) {
  Connect();
  const std::string region = client_->Register(SharedMemory(128));
  for (const std::string& id : {std::string("x"), region.substr(1), std::string()}) {
    const grpc::Status status = server_->Execute(RoundAt(1, InRegion(id, 0, 4))).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(ReasonOf(status), "REGION_NOT_FOUND");
  }
  EXPECT_EQ(
      ReasonOf(server_->Execute(RoundAt(1, InRegion(region, 0, 4), InRegion("y", 0, 4))).status),
      "REGION_NOT_FOUND");
}

TEST_F(SharedMemoryTest, RefusesMemoryThatCouldBeCutOff) {
  Connect();
  const SharedMemory unsealed(4096, 0);
  EXPECT_EQ(ReasonOf(client_->Ask(RegisterPacket(4096), unsealed.fd().get())), "INVALID_REQUEST");
  const SharedMemory sealed(4096);
  const std::string region = client_->Register(sealed);
  EXPECT_NE(ftruncate(sealed.fd().get(), 0), 0);
  // Cut off before it was sealed.
  const UniqueFd cut = MakeMemfd(8192, 0);
  ASSERT_EQ(ftruncate(cut.get(), 100), 0);
  ASSERT_EQ(fcntl(cut.get(), F_ADD_SEALS, kRegionSeals), 0);
  EXPECT_EQ(ReasonOf(client_->Ask(RegisterPacket(8192), cut.get())), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client_->Ask(RegisterPacket(100), cut.get())), "OK");
}

TEST_F(SharedMemoryTest, RegionsMayGrowWithoutEffect) {
  Connect();
  const SharedMemory memory(4096);
  const std::string region = client_->Register(memory);
  ASSERT_EQ(ftruncate(memory.fd().get(), 8192), 0);
  EXPECT_THAT(ViolationsOf(server_->Execute(RoundAt(1, InRegion(region, 4096, 4))).status),
              SizeIs(1));
}

TEST_F(SharedMemoryTest, FreedPagesCountAsZeros) {
  Connect();
  const auto memory = SharedValues(Floats(4096, 1.5f));
  const std::string region = client_->Register(*memory);
  ASSERT_EQ(fallocate(memory->fd().get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192), 0);
  const Answer answer = server_->Execute(RoundAt(4096, InRegion(region, 0, 16384)));
  ASSERT_TRUE(answer.status.ok());
  EXPECT_EQ(ValuesOf<float>(answer.response.payload())[0], 0);
  EXPECT_EQ(ValuesOf<float>(answer.response.payload())[4095], 2);
}

TEST_F(SharedMemoryTest, ARequestUnderWayKeepsItsRegion) {
  const auto device = std::make_shared<GatedDevice>();
  Connect({.cpu = device});
  const auto memory = std::make_unique<SharedMemory>(128);
  const Floats values = {-1.5f};
  std::memcpy(memory->data(), values.data(), 4);
  const std::string region = client_->Register(*memory);
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(*device);
    calls.push_back(server_->Start(RoundAt(1, InRegion(region, 0, 4), InRegion(region, 64, 4))));
    ASSERT_TRUE(device->WaitForHeld(1));
    EXPECT_EQ(ReasonOf(client_->Ask(UnregisterPacket(region))), "OK");
    EXPECT_EQ(ReasonOf(server_->Execute(RoundAt(1, InRegion(region, 0, 4))).status),
              "REGION_NOT_FOUND");
  }
  EXPECT_TRUE(calls[0].Get().status.ok());
  EXPECT_EQ(ValuesAt(*memory, 64, 1), Floats{-2});
}

// One input lies in a region, which is given up while the other one comes in pieces: by its client,
// or with the connection of that.
TEST_F(SharedMemoryTest, ARequestOfAStreamKeepsItsRegionBetweenPieces) {
  Connect();
  const uint64_t bytes = 40'000;
  const Floats values(bytes / sizeof(float), 1.5f);
  const auto memory = SharedValues(values);
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ADD");
  const auto count = static_cast<uint32_t>(values.size());
  for (int i = 0; i < 2; ++i) AddInput(request, v1::DATA_TYPE_FLOAT32, {count}, "");
  request.set_payloads(0, BytesOf(values));
  request.mutable_payloads()->RemoveLast();
  request.add_input_places();
  request.add_input_places();
  for (const bool is_killed : {false, true}) {
    SCOPED_TRACE(is_killed);
    const std::string region = client_->Register(*memory);
    *request.mutable_input_places(1) = InRegion(region, 0, bytes);
    TestStream stream(server_->stub());
    ASSERT_TRUE(stream.Announce(1, request));
    ASSERT_TRUE(stream.SendPiece(1, request.payloads(0).substr(0, 999)));
    ASSERT_TRUE(stream.Send(2, RoundRequest({0.5f})));
    ASSERT_EQ(stream.ReadAnswer(), 2u);
    if (is_killed) {
      client_ = nullptr;
      client_ = std::make_unique<RegionClient>(region_socket());
      // It is served after the end of the one before.
      EXPECT_EQ(ReasonOf(client_->Ask(UnregisterPacket(region))), "REGION_NOT_FOUND");
    } else {
      EXPECT_EQ(ReasonOf(client_->Ask(UnregisterPacket(region))), "OK");
    }
    EXPECT_EQ(ReasonOf(server_->Execute(RoundAt(1, InRegion(region, 0, 4))).status),
              "REGION_NOT_FOUND");
    ASSERT_TRUE(stream.SendPiece(1, request.payloads(0).substr(999)));
    ASSERT_EQ(stream.ReadAnswer(), 1u);
    EXPECT_EQ(stream.answer(1).payload, BytesOf(Floats(count, 3)))
        << stream.answer(1).error.message();
    EXPECT_TRUE(stream.Finish().ok());
    EXPECT_TRUE(server_->WaitForRequests(0));
    EXPECT_EQ(server_->server().usage().bytes, 0u);
  }
}

TEST_F(SharedMemoryTest, AClientThatIsKilledLeavesNothing) {
  Start();
  const auto memory = SharedValues<float>({2.5f});
  const std::string packet = RegisterPacket(memory->bytes());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto socket = ConnectForPackets(region_socket());
    char answer[256];
    if (!socket.ok() || !SendPacket(*socket, packet, memory->fd().get()).ok()) _exit(1);
    const ssize_t length = recv(socket->get(), answer, sizeof(answer), 0);
    if (length <= 0 || write(ends[1], answer, length) != length) _exit(1);
    while (true) pause();
  }
  const UniqueFd reader(ends[0]);
  close(ends[1]);
  char answer[256];
  const ssize_t length = read(reader.get(), answer, sizeof(answer));
  ASSERT_GT(length, 0);
  v1::RegionResponse response;
  ASSERT_TRUE(response.ParseFromArray(answer, static_cast<int>(length)));
  const v1::ExecuteRequest request = RoundAt(1, InRegion(response.region(), 0, 4));
  EXPECT_TRUE(server_->Execute(request).status.ok());

  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  // Who comes later is served later.
  const RegionClient later(region_socket());
  EXPECT_EQ(ReasonOf(later.Ask(UnregisterPacket("x"))), "REGION_NOT_FOUND");
  EXPECT_EQ(ReasonOf(server_->Execute(request).status), "REGION_NOT_FOUND");
}

// A processor that does something before it computes: in the middle of a comparison with a GPU.
class HookedProcessor final : public ComputeDevice {
 public:
  explicit HookedProcessor(std::function<void()> hook) : hook_(std::move(hook)) {}
  const DeviceProfile& profile() const override { return cpu_.profile(); }
  bool Supports(OpId op, DataType lane) const override { return cpu_.Supports(op, lane); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    hook_();
    return cpu_.Run(calls);
  }

 private:
  const std::function<void()> hook_;
  CpuDevice cpu_{1};
};

TEST_F(SharedMemoryTest, RewritingARegionMakesNoDeviceLookBroken) {
  const SharedMemory memory(8192);
  // The processor is tried out by several threads when the server starts.
  Mutex mutex;
  const auto fill = [&](float value) {
    const Floats values(2048, value);
    const MutexLock lock(mutex);
    std::memcpy(memory.data(), values.data(), memory.bytes());
  };
  NullDeviceFactory gpu(NullProfile("null/0", /*is_software=*/true));
  // The server makes devices, and uses the processor, until it has stopped.
  const absl::Cleanup stop = [this] { server_.reset(); };
  Connect(
      {.cpu = std::make_shared<HookedProcessor>([&] { fill(7.5f); }), .find_gpus = gpu.finder()});
  const std::string region = client_->Register(memory);
  v1::ExecuteRequest request =
      RoundAt(1000, InRegion(region, 0, 4000), InRegion(region, 4096, 4000));
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  request.set_verify(true);
  for (const v1::TensorPlace& output : {request.output_place(), v1::TensorPlace()}) {
    *request.mutable_output_place() = output;
    fill(1.5f);
    const Answer answer = server_->Execute(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.response.execution().device(), "null/0");
    EXPECT_TRUE(answer.response.execution().verified());
    // What was there when the run began. The lock orders it after the processor, as gRPC does
    // unseen.
    const MutexLock lock(mutex);
    EXPECT_EQ(output.has_region() ? ValuesAt(memory, 4096, 1000)
                                  : ValuesOf<float>(answer.response.payload()),
              Floats(1000, 2));
  }
  EXPECT_EQ(Info().devices(1).counters().verified(), 2);
  EXPECT_EQ(Info().devices(1).counters().mismatches(), 0);
  EXPECT_EQ(Info().devices(1).state(), v1::DEVICE_STATE_READY);
}

// Another thread rewrites inputs and outputs all the time.
TEST_F(SharedMemoryTest, RewritingRegionsInFlightHarmsNobody) {
  Connect();
  const SharedMemory memory(1 << 16);
  const std::string region = client_->Register(memory);
  std::atomic<bool> done{false};
  std::thread scribbler([&] {
    volatile char* const bytes = reinterpret_cast<char*>(memory.data());
    for (uint32_t i = 0; !done; ++i) bytes[i * 61 % (1 << 16)] = static_cast<char>(i);
  });
  v1::ExecuteRequest modulus;
  modulus.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
  for (int i = 0; i < 2; ++i) AddInput(modulus, v1::DATA_TYPE_INT32, {4096}, "");
  modulus.clear_payloads();
  *modulus.add_input_places() = InRegion(region, 0, 16384);
  *modulus.add_input_places() = InRegion(region, 16384, 16384);
  *modulus.mutable_output_place() = InRegion(region, 32768, 16384);
  for (int i = 0; i < 50; ++i) {
    const Answer answer = server_->Execute(modulus);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
  done = true;
  scribbler.join();
}

}  // namespace
}  // namespace opserve::testing
