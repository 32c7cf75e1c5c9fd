// File: client/cli/arguments/common.h
//
// Options that several verbs take. The arguments must outlive the verb. Not thread-safe.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_COMMON_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_COMMON_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/arguments/arguments.h"
#include "client/cli/arguments/verb.h"

namespace opserve::cli {

// How to reach the server.
void AddServer(Verb verb, ServerArguments& server);
void AddAttributes(Verb verb, std::vector<Attribute>& attributes);
// How and where calls run. The device that is there is the default.
void AddPlacement(Verb verb, DevicePreference& device, CallPriority& priority, bool& verify);
// What else a call may say of itself.
void AddCallLabels(Verb verb, std::string& feature_level, std::string& request_id);
// A call of an operator on tensors, all of the above but the server.
void AddCall(Verb verb, CallArguments& call);
// What is wrong with the options of a call that are right one by one; empty: nothing.
std::string CheckCall(const CallArguments& call);
// Likewise, of reading these files in one command, and of writing a result to `output` and telling
// of it as JSON.
std::string CheckInputFiles(const std::vector<std::string>& files);
std::string CheckOutputFile(const std::string& output, bool json);
void AddJson(Verb verb, bool& json);
// The choices among all element types.
std::string TypeChoices();

// What is wrong with arguments that are right one by one; empty: nothing.
template <class Arguments>
using CheckArguments = std::function<std::string(const Arguments&)>;

// Has `command` become `arguments` where `verb` is chosen; they live as long as the verb.
template <class Arguments>
void Choose(
    Verb verb, Command& command, std::shared_ptr<Arguments> arguments,
    CheckArguments<Arguments> check = [](const Arguments&) { return ""; }) {
  verb.OnChosen([&command, arguments = std::move(arguments), check = std::move(check)] {
    command = *arguments;
    return check(*arguments);
  });
}

// The same for a verb that asks a server: it takes, after all others, the options for reaching one,
// and --json.
template <class Arguments>
void ChooseAtServer(
    Verb verb, Command& command, std::shared_ptr<Arguments> arguments,
    CheckArguments<Arguments> check = [](const Arguments&) { return ""; }) {
  AddServer(verb, arguments->server);
  AddJson(verb, arguments->json);
  Choose(verb, command, std::move(arguments), std::move(check));
}

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_COMMON_H_
