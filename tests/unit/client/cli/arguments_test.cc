// The command line: every option, what is refused, and with which exit code.

#include "client/cli/arguments/arguments.h"

#include <cstdlib>
#include <sstream>

#include "client/cli/arguments/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kEnvironment[] = {"OPSERVE_ADDRESS",         "OPSERVE_TOKEN",
                                        "OPSERVE_TOKEN_FILE",      "OPSERVE_TLS_CA",
                                        "OPSERVE_TLS_SERVER_NAME", "OPSERVE_TLS_CERTIFICATE",
                                        "OPSERVE_TLS_KEY",         "OPSERVE_READY_FILE"};

class ArgumentsTest : public ::testing::Test {
 protected:
  ArgumentsTest() {
    for (const char* name : kEnvironment) unsetenv(name);
  }

  // The arguments of the verb that is expected.
  template <class Arguments>
  Arguments Parse(const std::vector<std::string>& arguments) {
    const auto parsed = ParseArguments(arguments, out_, err_);
    EXPECT_TRUE(std::holds_alternative<Command>(parsed)) << err_.str();
    return std::get<Arguments>(std::get<Command>(parsed));
  }

  // The exit code where there is nothing to run.
  int ExitOf(const std::vector<std::string>& arguments) {
    const auto parsed = ParseArguments(arguments, out_, err_);
    EXPECT_TRUE(std::holds_alternative<int>(parsed));
    return std::get<int>(parsed);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ArgumentsTest, InputsTakesEveryOption) {
  const auto inputs = Parse<InputsArguments>(
      {"inputs", "OP", "--hard", "--type", "float16", "--output", "folder", "--json"});
  EXPECT_EQ(inputs.operator_name, "OP");
  EXPECT_TRUE(inputs.hard);
  EXPECT_EQ(inputs.type, DataType::kFloat16);
  EXPECT_EQ(inputs.folder, "folder");
  EXPECT_TRUE(inputs.json);
  EXPECT_EQ(Parse<InputsArguments>({"inputs"}).folder, ".");
}

TEST_F(ArgumentsTest, CompareTakesEveryOption) {
  const auto compare =
      Parse<CompareArguments>({"compare",        "OP",         "--attr",
                               "Mode=FAST",      "--input",    "a.npy",
                               "--sizes",        "2,3",        "--actual",
                               "y.npy",          "--actual",   "z.npy",
                               "--devices",      "all",        "--devices",
                               "d3d12/0",        "--max-ulp",  "18446744073709551615",
                               "--max-absolute", "0.5",        "--same-nans",
                               "--signed-zeros", "--worst",    "3",
                               "--junit",        "report.xml", "--json",
                               "--address",      "host:1"});
  EXPECT_EQ(compare.call.operator_name, "OP");
  EXPECT_THAT(compare.call.inputs, ElementsAre("a.npy"));
  EXPECT_THAT(compare.actuals, ElementsAre("y.npy", "z.npy"));
  EXPECT_THAT(compare.devices, ElementsAre("all", "d3d12/0"));
  EXPECT_EQ(compare.max_ulp, UINT64_MAX);
  EXPECT_EQ(compare.max_absolute, 0.5);
  EXPECT_TRUE(compare.same_nans && compare.signed_zeros && compare.json);
  EXPECT_EQ(compare.worst, 3);
  EXPECT_EQ(compare.junit_file, "report.xml");
  EXPECT_EQ(compare.server.address, "host:1");
  EXPECT_EQ(compare.call.device, DevicePreference::kCpu);

  const auto on_gpu =
      Parse<CompareArguments>({"compare", "ELEMENT_WISE_ADD", "--input", "a.npy", "--actual",
                               "y.npy", "--device", "gpu", "--profile", "webnn"});
  EXPECT_EQ(on_gpu.call.device, DevicePreference::kGpu);
  EXPECT_EQ(on_gpu.profile, ToleranceProfile::kWebnn);
  EXPECT_FALSE(on_gpu.max_ulp.has_value());
  EXPECT_EQ(on_gpu.worst, 10);
}

TEST_F(ArgumentsTest, RunTakesEveryOption) {
  const auto run = Parse<RunArguments>({"run",
                                        "OP",
                                        "--attr",
                                        "Mode=FAST",
                                        "--attr",
                                        "Count=-3",
                                        "--attr",
                                        "Scale=0.5",
                                        "--input",
                                        "a.npy",
                                        "--input",
                                        "b.npy",
                                        "--sizes",
                                        "-",
                                        "--sizes",
                                        "2x3",
                                        "--strides",
                                        "0,1",
                                        "--output-strides",
                                        "4,1",
                                        "--output",
                                        "y.npy",
                                        "--address",
                                        "unix:/s",
                                        "--device",
                                        "cpu",
                                        "--feature-level",
                                        "3_0",
                                        "--timeout",
                                        "1500ms",
                                        "--request-id",
                                        "id",
                                        "--tls-ca",
                                        "ca.pem",
                                        "--tls-server-name",
                                        "n",
                                        "--tls-certificate",
                                        "c.pem",
                                        "--tls-key",
                                        "k.pem",
                                        "--token",
                                        "t",
                                        "--token-file",
                                        "f",
                                        "--verify",
                                        "--priority",
                                        "high",
                                        "--client-name",
                                        "night run",
                                        "--json"});
  EXPECT_EQ(run.call.operator_name, "OP");
  ASSERT_EQ(run.call.attributes.size(), 3u);
  EXPECT_EQ(run.call.attributes[0].name, "Mode");
  EXPECT_EQ(std::get<std::string>(run.call.attributes[0].value), "FAST");
  EXPECT_EQ(std::get<int64_t>(run.call.attributes[1].value), -3);
  EXPECT_EQ(std::get<double>(run.call.attributes[2].value), 0.5);
  EXPECT_THAT(run.call.inputs, ElementsAre("a.npy", "b.npy"));
  EXPECT_THAT(run.call.sizes, ElementsAre(IsEmpty(), ElementsAre(2, 3)));
  EXPECT_THAT(run.call.strides, ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(run.call.output_strides, ElementsAre(4, 1));
  EXPECT_EQ(run.output, "y.npy");
  EXPECT_EQ(run.server.address, "unix:/s");
  EXPECT_EQ(run.server.tls_server_name, "n");
  EXPECT_EQ(run.server.tls_certificate_file, "c.pem");
  EXPECT_EQ(run.server.tls_key_file, "k.pem");
  EXPECT_EQ(run.server.token_file, "f");
  EXPECT_EQ(run.call.device, DevicePreference::kCpu);
  EXPECT_EQ(run.call.feature_level, "3_0");
  EXPECT_EQ(run.server.timeout, absl::Milliseconds(1500));
  EXPECT_EQ(run.call.request_id, "id");
  EXPECT_EQ(run.server.tls_ca_file, "ca.pem");
  EXPECT_EQ(run.server.token, "t");
  EXPECT_TRUE(run.call.verify);
  EXPECT_EQ(run.call.priority, CallPriority::kHigh);
  EXPECT_EQ(run.server.client_name, "night run");
  EXPECT_TRUE(run.json);
}

TEST_F(ArgumentsTest, DefaultsAreThoseOfTheManual) {
  const auto run = Parse<RunArguments>({"run", "OP", "--input", "a.npy"});
  EXPECT_EQ(run.server.address, "127.0.0.1:50051");
  EXPECT_EQ(run.server.timeout, absl::Seconds(60));
  EXPECT_EQ(run.server.client_name, "");
  EXPECT_EQ(run.call.device, DevicePreference::kDefault);
  EXPECT_EQ(run.call.priority, CallPriority::kNormal);
  EXPECT_FALSE(run.call.verify);
  EXPECT_FALSE(run.json);
  const auto bench = Parse<BenchArguments>({"bench"});
  EXPECT_EQ(bench.operator_name, "ELEMENT_WISE_ROUND");
  EXPECT_EQ(bench.duration, absl::Seconds(10));
  EXPECT_EQ(bench.rate, 0);
  EXPECT_EQ(bench.channels, 1);
  EXPECT_FALSE(bench.stream);
}

TEST_F(ArgumentsTest, TheAddressMayComeFromTheEnvironment) {
  setenv("OPSERVE_ADDRESS", "host:1", 1);
  EXPECT_EQ(Parse<HealthArguments>({"health"}).server.address, "host:1");
  EXPECT_EQ(Parse<HealthArguments>({"health", "--address", "host:2"}).server.address, "host:2");
  for (const char* name : kEnvironment) setenv(name, name, 1);
  const ServerArguments server = Parse<HealthArguments>({"health"}).server;
  EXPECT_EQ(server.token, "OPSERVE_TOKEN");
  EXPECT_EQ(server.token_file, "OPSERVE_TOKEN_FILE");
  EXPECT_EQ(server.tls_ca_file, "OPSERVE_TLS_CA");
  EXPECT_EQ(server.tls_server_name, "OPSERVE_TLS_SERVER_NAME");
  EXPECT_EQ(server.tls_certificate_file, "OPSERVE_TLS_CERTIFICATE");
  EXPECT_EQ(server.tls_key_file, "OPSERVE_TLS_KEY");
  for (const char* name : kEnvironment) unsetenv(name);
}

TEST_F(ArgumentsTest, TheCommandLineWinsOverAReadyFileOfTheEnvironment) {
  const auto ready_file = [this](std::vector<std::string> options) {
    options.insert(options.begin(), "health");
    return Parse<HealthArguments>(options).ready_file;
  };
  EXPECT_EQ(ready_file({"--ready-file", "f", "--address", "a:1"}), "f");
  setenv("OPSERVE_READY_FILE", "e", 1);
  EXPECT_EQ(ready_file({}), "e");
  EXPECT_EQ(ready_file({"--address", "a:1"}), "");
  EXPECT_EQ(ready_file({"--ready-file=f", "--address=a:1"}), "f");
  setenv("OPSERVE_ADDRESS", "a:1", 1);
  EXPECT_EQ(ready_file({}), "e");
  for (const char* name : kEnvironment) unsetenv(name);
}

TEST_F(ArgumentsTest, OptionsMayHaveEmptyValues) {
  const auto run = Parse<RunArguments>(
      {"run", "OP", "--input", "a", "--request-id=", "--output=y.npy", "--attr=Axes=", "--json"});
  EXPECT_EQ(run.call.request_id, "");
  EXPECT_EQ(run.output, "y.npy");
  EXPECT_THAT(std::get<Axes>(run.call.attributes[0].value), IsEmpty());
  // What is a value, or behind --, stays as it is.
  const auto lease =
      Parse<LeaseArguments>({"lease", "gpu", "--label", "--for=", "--", "a", "--label=", "--for="});
  EXPECT_EQ(lease.label, "--for=");
  EXPECT_THAT(lease.command, ElementsAre("a", "--label=", "--for="));
  EXPECT_TRUE(Parse<OperatorsArguments>({"operators", "--json="}).json);
  EXPECT_EQ(ExitOf({"bench", "--rate=", "5"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--rate: '' is no number"));
}

TEST_F(ArgumentsTest, BenchTakesEveryOption) {
  const auto bench = Parse<BenchArguments>(
      {"bench",      "OP",         "--duration", "2s",       "--concurrency", "3",
       "--channels", "2",          "--stream",   "--rate",   "12.5",          "--shape",
       "1024x512",   "--type",     "float16",    "--device", "gpu",           "--attr",
       "M=V",        "--priority", "low",        "--verify", "--client-name", "load",
       "--json"});
  EXPECT_EQ(bench.operator_name, "OP");
  EXPECT_EQ(bench.duration, absl::Seconds(2));
  EXPECT_EQ(bench.concurrency, 3);
  EXPECT_EQ(bench.channels, 2);
  EXPECT_TRUE(bench.stream);
  EXPECT_EQ(bench.rate, 12.5);
  EXPECT_THAT(bench.shape, ElementsAre(1024, 512));
  EXPECT_EQ(bench.type, DataType::kFloat16);
  EXPECT_EQ(bench.device, DevicePreference::kGpu);
  EXPECT_EQ(bench.priority, CallPriority::kLow);
  EXPECT_TRUE(bench.verify);
  EXPECT_EQ(bench.server.client_name, "load");
  EXPECT_EQ(bench.attributes.size(), 1u);
  EXPECT_TRUE(bench.json);
}

TEST_F(ArgumentsTest, OtherVerbs) {
  EXPECT_EQ(Parse<OperatorsArguments>({"operators"}).name, "");
  const auto operators = Parse<OperatorsArguments>({"operators", "X", "--feature-level", "2_0"});
  EXPECT_EQ(operators.name, "X");
  EXPECT_EQ(operators.feature_level, "2_0");
  EXPECT_TRUE(Parse<InfoArguments>({"info", "--json"}).json);
  EXPECT_EQ(Parse<HealthArguments>({"health", "--service", "s"}).service, "s");
  EXPECT_EQ(Parse<PackArguments>({"pack", "OP", "--input", "a", "--output", "b"}).output_file, "b");
}

TEST_F(ArgumentsTest, TensorVerbs) {
  const auto create = Parse<TensorCreateArguments>(
      {"tensor", "create", "--shape", "2x3", "--type", "int8", "--lease", "2m", "--label", "l",
       "--device", "gpu", "--client-name", "n", "--json"});
  EXPECT_EQ(create.file, "");
  EXPECT_THAT(create.shape, ElementsAre(2, 3));
  EXPECT_EQ(create.type, DataType::kInt8);
  EXPECT_EQ(create.lease, absl::Minutes(2));
  EXPECT_EQ(create.label, "l");
  EXPECT_EQ(create.device, "gpu");
  EXPECT_EQ(create.server.client_name, "n");
  EXPECT_TRUE(create.json);
  EXPECT_TRUE(
      Parse<TensorCreateArguments>({"tensor", "create", "x", "--skip-if-known"}).skip_if_known);
  EXPECT_TRUE(
      Parse<TensorCreateArguments>({"tensor", "create", "x", "--device", "gpu", "--volatile"})
          .is_volatile);
  const auto write =
      Parse<TensorWriteArguments>({"tensor", "write", "h", "x.npy", "--offset", "7"});
  EXPECT_EQ(write.handle, "h");
  EXPECT_EQ(write.file, "x.npy");
  EXPECT_EQ(write.offset, 7u);
  EXPECT_EQ(Parse<TensorReadArguments>({"tensor", "read", "h", "--output", "-"}).output, "-");
  EXPECT_TRUE(Parse<TensorListArguments>({"tensor", "list", "--json"}).json);
  const auto renew =
      Parse<TensorRenewArguments>({"tensor", "renew", "a", "b", "--lease", "1h", "c"});
  EXPECT_THAT(renew.handles, ElementsAre("a", "b", "c"));
  EXPECT_EQ(renew.lease, absl::Hours(1));
  EXPECT_THAT(Parse<TensorDeleteArguments>({"tensor", "delete", "a", "b"}).handles,
              ElementsAre("a", "b"));
}

TEST_F(ArgumentsTest, Sequence) {
  const auto file =
      Parse<SequenceArguments>({"sequence", "-", "--device", "cpu", "--priority", "high",
                                "--verify", "--feature-level", "3_0", "--request-id", "id"});
  EXPECT_EQ(file.file, "-");
  EXPECT_EQ(file.device, DevicePreference::kCpu);
  EXPECT_EQ(file.priority, CallPriority::kHigh);
  EXPECT_TRUE(file.verify);
  EXPECT_EQ(file.feature_level, "3_0");
  EXPECT_EQ(file.request_id, "id");
  EXPECT_THAT(Parse<SequenceArguments>({"sequence", "--step", "{}", "--step", "[]"}).steps,
              ElementsAre("{}", "[]"));
  EXPECT_FALSE(file.stream);
  EXPECT_TRUE(Parse<SequenceArguments>({"sequence", "-", "--stream"}).stream);
}

TEST_F(ArgumentsTest, HandlesAreToldFromFiles) {
  EXPECT_EQ(HandleOf("tensor:0a").value().id, "0a");
  EXPECT_EQ(HandleOf("x.npy"), std::nullopt);
  EXPECT_EQ(HandleOf("./tensor:0a"), std::nullopt);
}

TEST_F(ArgumentsTest, Devices) {
  const auto all = Parse<DevicesArguments>({"devices"});
  EXPECT_EQ(all.name, "");
  EXPECT_FALSE(all.self_test);
  EXPECT_FALSE(all.json);
  EXPECT_TRUE(Parse<DevicesArguments>({"devices", "--self-test"}).self_test);
  EXPECT_EQ(Parse<DevicesArguments>({"devices", "cpu/AVX3"}).name, "cpu/AVX3");
  const auto one = Parse<DevicesArguments>({"devices", "--self-test", "d3d12/X 1", "--json"});
  EXPECT_EQ(one.name, "d3d12/X 1");
  EXPECT_TRUE(one.self_test);
  EXPECT_TRUE(one.json);
}

TEST_F(ArgumentsTest, InputsMayBeNamed) {
  const auto call =
      Parse<RunArguments>({"run", "OP", "--input", "ATensor=a.npy", "--input", "BTensor=b=c.npy",
                           "--input", "./d=e.npy", "--output-type", "INT8"})
          .call;
  EXPECT_THAT(call.inputs, ElementsAre("a.npy", "b=c.npy", "./d=e.npy"));
  EXPECT_THAT(call.input_names, ElementsAre("ATensor", "BTensor", ""));
  EXPECT_EQ(call.output_type, DataType::kInt8);
  EXPECT_EQ(ExitOf({"run", "OP", "--input", "ATensor="}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("'ATensor=' names a tensor but no file"));
}

TEST_F(ArgumentsTest, EveryDeviceAndPriorityHasAName) {
  const auto run = [this](const char* option, const char* value) {
    return Parse<RunArguments>({"run", "OP", "--input", "a", option, value}).call;
  };
  EXPECT_EQ(run("--device", "auto").device, DevicePreference::kAuto);
  EXPECT_EQ(run("--device", "gpu").device, DevicePreference::kGpu);
  EXPECT_EQ(run("--device", "CPU").device, DevicePreference::kCpu);
  EXPECT_EQ(run("--priority", "low").priority, CallPriority::kLow);
  EXPECT_EQ(run("--priority", "normal").priority, CallPriority::kNormal);
  EXPECT_EQ(run("--priority", "high").priority, CallPriority::kHigh);
}

TEST_F(ArgumentsTest, EveryVerbThatCallsTakesAClientName) {
  const std::vector<std::string> name = {"--client-name", "n"};
  const auto with_name = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), name.begin(), name.end());
    return arguments;
  };
  EXPECT_EQ(Parse<OperatorsArguments>(with_name({"operators"})).server.client_name, "n");
  EXPECT_EQ(Parse<InfoArguments>(with_name({"info"})).server.client_name, "n");
  EXPECT_EQ(Parse<DevicesArguments>(with_name({"devices"})).server.client_name, "n");
  EXPECT_EQ(Parse<HealthArguments>(with_name({"health"})).server.client_name, "n");
}

TEST_F(ArgumentsTest, HelpAndVersionSucceed) {
  EXPECT_EQ(ExitOf({"--version"}), kSuccess);
  EXPECT_THAT(out_.str(), HasSubstr("opserve "));
  EXPECT_EQ(ExitOf({"--help"}), kSuccess);
  for (const char* words :
       {"Exit codes:", "run ", "operators ", "bench ", "pack ", "devices ", "self-test"}) {
    EXPECT_THAT(out_.str(), HasSubstr(words));
  }
  EXPECT_EQ(ExitOf({"run", "--help"}), kSuccess);
  EXPECT_THAT(out_.str(), HasSubstr("--output-strides"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ArgumentsTest, AttributesMayBeLists) {
  const auto run = Parse<RunArguments>(
      {"run", "OP", "--input", "a", "--attr", "Axes=2,0", "--attr", "None=", "--attr", "Text=1,x"});
  ASSERT_EQ(run.call.attributes.size(), 3u);
  EXPECT_THAT(std::get<Axes>(run.call.attributes[0].value), ElementsAre(2, 0));
  EXPECT_THAT(std::get<Axes>(run.call.attributes[1].value), IsEmpty());
  EXPECT_EQ(std::get<std::string>(run.call.attributes[2].value), "1,x");
}

TEST_F(ArgumentsTest, WrongCommandLinesAreRefusedWithTheirCause) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "subcommand"},
      {{"dance"}, "dance"},
      {{"run", "--input", "a"}, "OPERATOR"},
      {{"run", "OP"}, "--input"},
      {{"run", "OP", "--input", "a", "--attr", "Mode"}, "is not Name=Value"},
      {{"run", "OP", "--input", "a", "--attr", "=1"}, "is not Name=Value"},
      {{"run", "OP", "--input", "a", "--strides", "1,x"}, "no list of numbers"},
      {{"run", "OP", "--input", "a", "--strides", "-1"}, "no list of numbers"},
      {{"run", "OP", "--input", "a", "--sizes", "4294967296"}, "no list of numbers"},
      {{"run", "OP", "--input", "a", "--device", "tpu"}, "auto, gpu, cpu"},
      {{"run", "OP", "--input", "a", "--device", "default"}, "auto, gpu, cpu"},
      {{"run", "OP", "--input", "a", "--priority", "urgent"}, "low, normal, high"},
      {{"run", "OP", "--input", "a", "--client-name", "a\nb"}, "printable ASCII"},
      {{"info", "--client-name", std::string(129, 'x')}, "at most 128"},
      {{"run", "OP", "--input", "a", "--request-id", "\xff"},
       "--request-id: the text is not valid UTF-8"},
      {{"tensor", "create", "a", "--label", "\xc3"}, "--label: the text is not valid UTF-8"},
      {{"run", "OP", "--input", "a", "--attr", "Mode=\xff"}, "--attr: the text is not valid UTF-8"},
      {{"run", "OP", "--input", "a", "--attr", "\xff=1"}, "--attr: the text is not valid UTF-8"},
      {{"run", "OP", "--input", "tensor:\xff"}, "--input: the text is not valid UTF-8"},
      {{"pack", "OP", "--input", "A=tensor:\xff", "--output", "x"},
       "--input: the text is not valid UTF-8"},
      {{"run", "OP", "--input", "a", "--output", "tensor:\xff"},
       "--output: the text is not valid UTF-8"},
      {{"operators", "\xff"}, "NAME: the text is not valid UTF-8"},
      {{"tensor", "renew", "a", "\xff"}, "HANDLE: the text is not valid UTF-8"},
      {{"tensor", "delete", "\xff"}, "HANDLE: the text is not valid UTF-8"},
      {{"devices", "a", "b"}, "b"},
      {{"run", "OP", "--input", "a", "--timeout", "10"}, "no positive duration"},
      {{"run", "OP", "--input", "a", "--timeout", "-1s"}, "no positive duration"},
      {{"run", "OP", "--input", "a", "--frobnicate"}, "--frobnicate"},
      {{"bench", "--concurrency", "0"}, "--concurrency"},
      {{"bench", "--channels", "65"}, "--channels"},
      {{"bench", "--rate", "-1"}, "--rate"},
      {{"bench", "--type", "FLOAT8"}, "none of: FLOAT64 FLOAT32"},
      {{"pack", "OP", "--input", "a"}, "--output"},
      {{"run", "OP", "--input", "a", "--sizes", "2", "--sizes", "3"},
       "--sizes is given 2 times, but there is 1 input"},
      {{"pack", "OP", "--input", "a", "--input", "b", "--strides", "1", "--strides", "1",
        "--strides", "1", "--output", "c"},
       "--strides is given 3 times, but there are 2 inputs"},
      {{"compare", "OP", "--input", "a", "--actual", "b", "--sizes", "2", "--sizes", "3"},
       "--sizes is given 2 times, but there is 1 input"},
      {{"run", "OP", "--inptu", "a.npy"}, "unknown option --inptu; did you mean --input?"},
      {{"run", "--iput=a.npy"}, "unknown option --iput; did you mean --input?"},
      {{"run", "OP", "--request", "a"}, "unknown option --request; did you mean --request-id?"},
      {{"run", "--nonsense"}, "unknown option --nonsense\n"},
      {{"info", "--adress", "a:1", "--jsn"},
       "unknown option --adress; did you mean --address?\n"
       "opserve: unknown option --jsn; did you mean --json?\n"},
      {{"--address", "a:1", "devices"}, "opserve: --address belongs behind its verb, devices\n"},
      {{"tensor", "--json", "list"}, "opserve: --json belongs behind its verb, list\n"},
      // Not that the verb, or the option's value, is none.
      {{"--json", "tensor", "dance"}, "opserve: unknown option --json\n"},
      {{"--address", "a:1", "admin", "dance"}, "opserve: unknown option --address\n"},
      {{"info", "surplus"}, "surplus"},
      {{"info", "[a,b]"}, "not expected: [a,b]\n"},
      {{"inputs", "--type", "INT8"}, "'INT8' is none of: float32, float16"},
      {{"inputs", "OP", "--hard", "--output", ""}, "--output names no folder"},
  };
  for (const auto& [arguments, words] : cases) {
    err_.str("");
    EXPECT_EQ(ExitOf(arguments), kUsage) << words;
    EXPECT_THAT(err_.str(), HasSubstr(words));
  }
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ArgumentsTest, LeasesTakeACommandWithOptionsOfItsOwn) {
  const auto lease = Parse<LeaseArguments>(
      {"lease", "d3d12/X 1", "--for", "2m", "--label", "a b", "--", "ctest", "-L", "timing"});
  EXPECT_EQ(lease.device, "d3d12/X 1");
  EXPECT_EQ(lease.time, absl::Minutes(2));
  EXPECT_EQ(lease.label, "a b");
  EXPECT_EQ(lease.command, (std::vector<std::string>{"ctest", "-L", "timing"}));
  EXPECT_TRUE(Parse<LeaseArguments>({"lease", "gpu"}).command.empty());
  const std::vector<std::string> words = {"printf", "[1,2]",   "[.a]", "[]",
                                          "[",      "\x01[a]", "{}",   ""};
  std::vector<std::string> whole = {"lease", "gpu", "--label", "[x,y]", "--"};
  whole.insert(whole.end(), words.begin(), words.end());
  EXPECT_EQ(Parse<LeaseArguments>(whole).command, words);
  EXPECT_EQ(Parse<LeaseArguments>(whole).label, "[x,y]");
  EXPECT_THAT(Parse<TensorDeleteArguments>({"tensor", "delete", "[a,b]", "c"}).handles,
              ElementsAre("[a,b]", "c"));
  EXPECT_FALSE(Parse<SetAsideArguments>({"admin", "set-aside", "X"}).wait);
  EXPECT_TRUE(Parse<SetAsideArguments>({"admin", "drain", "X", "--reason", "dust"}).wait);
  EXPECT_EQ(Parse<EndLeaseArguments>({"admin", "end-lease", "17"}).number, 17u);
}

}  // namespace
}  // namespace opserve::cli
