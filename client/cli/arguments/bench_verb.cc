// The verb bench.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {

void AddBench(Verb root, Command& command) {
  const auto bench = std::make_shared<BenchArguments>();
  Verb verb = root.AddVerb("bench", "Measure throughput and latency of a server");
  verb.AddOption("OPERATOR", "OPERATOR", TakeUtf8(bench->operator_name), "Operator",
                 {.default_value = bench->operator_name});
  AddAttributes(verb, bench->attributes);
  verb.AddOption("--shape", "SIZES", TakeDimensions(bench->shape),
                 "Sizes of every tensor, such as 1024x1024", {.default_value = "256x256"});
  verb.AddOption("--type", TypeChoices(), TakeType(bench->type), "Element type",
                 {.default_value = "FLOAT32"});
  AddPlacement(verb, bench->device, bench->priority, bench->verify);
  verb.AddOption("--duration", "DURATION", TakeDuration(bench->duration), "How long to measure",
                 {.default_value = "10s"});
  verb.AddOption("--concurrency", "N", TakeNumber(1, 4096, bench->concurrency),
                 "Most calls in flight", {.default_value = absl::StrCat(bench->concurrency)});
  verb.AddOption("--channels", "N", TakeNumber(1, 64, bench->channels), "Connections to the server",
                 {.default_value = absl::StrCat(bench->channels)});
  verb.AddFlag("--stream", bench->stream,
               "Send the calls over one stream per connection, see ExecuteStream");
  verb.AddFlag("--messages", bench->messages,
               "Send tensors in messages, also to a server that shares memory with this machine");
  verb.AddOption("--rate", "N", TakeNumber(0.001, 1e7, bench->rate),
                 "Start so many calls per second, whether or not answers come, and count latency "
                 "from the planned start [as fast as answers come]");
  ChooseAtServer(verb, command, bench);
}

}  // namespace opserve::cli
