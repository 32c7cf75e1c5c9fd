// File: tests/bench/d3d12/machine_facts.h
//
// What machine and adapter numbers were measured on: without it they mean nothing to others.

#ifndef OPSERVE_TESTS_BENCH_D3D12_MACHINE_FACTS_H_
#define OPSERVE_TESTS_BENCH_D3D12_MACHINE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::bench {

// A bus as its ends have agreed on it just now: drivers lower its speed while there is nothing to
// do.
struct PciLink {
  // As Linux tells it: "16.0 GT/s PCIe".
  std::string speed = {};
  int width = 0;
  // What it carries in one direction, the bits that only keep both ends in step taken off.
  // Nothing of packets' headers, so no transfer reaches it; 0 where `speed` is none that is known.
  double bytes_per_second = 0;
  // The most that the device could have, "32.0 GT/s PCIe x16"; "" where nothing tells it.
  std::string most = {};
};

// The link of a PCI device whose files are in `folder`; nullopt where it has none.
std::optional<PciLink> ReadPciLink(const std::string& folder);

// The link of the device with these ids, of those whose folders are in `devices`; nullopt where
// there is none or more than one, because then nobody knows which it is.
std::optional<PciLink> FindPciLink(const std::string& devices, uint32_t vendor, uint32_t device);

// The value of the first line "key : value" of the file whose key begins so; "unknown" if there is
// none.
std::string ValueInFile(const std::string& path, absl::string_view key);

// Name and value of each fact, in the order in which to tell them. "unknown" where the machine does
// not tell.
using Facts = std::vector<std::pair<std::string, std::string>>;

// Of the machine: date, system, processor, memory.
Facts MachineFacts();

// Of an adapter of the run time, and of its link.
Facts AdapterFacts(const d3d12::AdapterInfo& adapter, const std::optional<PciLink>& link);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_MACHINE_FACTS_H_
