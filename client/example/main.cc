// Rounds numbers on an opserve server in several ways: waiting for the result, with a handle of a
// call under way, with a callback, with many calls over one stream, and in a tensor that stays at
// the server as long as it is needed. Then asks for something that cannot work and prints why.
//
//   example 127.0.0.1:50051

#include <opserve/client.h>
#include <opserve/owned_tensor.h>
#include <opserve/stream.h>

#include <future>
#include <iostream>
#include <vector>

namespace {

void Print(const char* how, const absl::StatusOr<opserve::Tensor>& output) {
  const auto values = output.ok() ? output->Elements<float>() : output.status();
  if (!values.ok()) {
    std::cout << how << ": " << values.status().message() << '\n';
    return;
  }
  std::cout << how << ":";
  for (float value : *values) std::cout << ' ' << value;
  std::cout << '\n';
}

// Sends all calls at once; answers come as they are done.
absl::Status RunOverAStream(opserve::Client& client,
                            const std::vector<opserve::OperatorCall>& calls) {
  auto stream = client.OpenStream({.request_timeout = absl::Seconds(5)});
  if (!stream.ok()) return stream.status();
  std::vector<opserve::Call<opserve::Tensor>> results;
  for (const opserve::OperatorCall& call : calls) results.push_back((*stream)->Start(call));
  for (const auto& result : results) Print("from a stream", result.Wait());
  return (*stream)->Finish();
}

// Keeps a tensor at the server, has it rounded there, and reads it back. The server gives it up
// when `x` ends, on every way out of here.
absl::StatusOr<opserve::Tensor> RoundAtTheServer(opserve::Client& client,
                                                 opserve::OperatorCall call) {
  auto x = opserve::OwnedTensor::Create(client, call.inputs[0], {.ttl = absl::Minutes(1)},
                                        opserve::LeaseRenewal::kBackground);
  if (!x.ok()) return x.status();
  call.inputs[0] = x->view();
  auto layout = client.ExecuteTo(call, x->handle());
  if (!layout.ok()) return layout.status();
  return client.ReadTensor(x->handle());
}

void RunAll(opserve::Client& client) {
  const std::vector<float> x = {-1.5f, -0.25f, 0.5f, 1.5f, 2.5f, 3.75f};
  opserve::OperatorCall call;
  call.operator_name = "ELEMENT_WISE_ROUND";
  call.attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}};
  call.inputs = {opserve::TensorView::Of<float>(x, {2, 3})};

  // Wait for the result.
  opserve::ExecutionInfo info;
  Print("rounded", client.Execute(call, {.timeout = absl::Seconds(10)}, &info));
  std::cout << "ran on " << info.device << '\n';

  // Start the call now, take the result later, or cancel where that takes too long. `x` must stay
  // as it is until the call is over.
  const opserve::Call<opserve::Tensor> started = client.StartExecute(call);
  if (!started.WaitFor(absl::Seconds(10))) started.Cancel();
  Print("from a handle", started.Wait());

  // The callback runs on a thread of the client, or on this one if the call is over already.
  std::promise<void> called;
  client.StartExecute(call).Then(
      [&called](const absl::StatusOr<opserve::Tensor>& output, const opserve::ExecutionInfo&) {
        Print("from a callback", output);
        called.set_value();
      });
  called.get_future().wait();

  const absl::Status streamed = RunOverAStream(client, {call, call});
  if (!streamed.ok()) std::cout << streamed << '\n';

  // The tensor travels there and back once, however many operators work on it.
  Print("at the server", RoundAtTheServer(client, call));

  // Every violation is reported, not only the first.
  call.attributes = {{"RoundingMode", "UP"}, {"Digits", int64_t{2}}};
  const absl::StatusOr<opserve::Tensor> refused = client.Execute(call);
  for (const opserve::FieldViolation& violation : opserve::GetViolations(refused.status())) {
    std::cout << violation.field << ": " << violation.description << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: example HOST:PORT\n";
    return 2;
  }
  absl::StatusOr<std::unique_ptr<opserve::Client>> client = opserve::Client::Connect(argv[1]);
  if (!client.ok()) {
    std::cerr << client.status() << '\n';
    return 1;
  }
  RunAll(**client);
  return 0;
}
