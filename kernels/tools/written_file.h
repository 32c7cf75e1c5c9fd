// File: kernels/tools/written_file.h
//
// The command line of programs that write a file of the repository from the operator table.

#ifndef OPSERVE_KERNELS_TOOLS_WRITTEN_FILE_H_
#define OPSERVE_KERNELS_TOOLS_WRITTEN_FILE_H_

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// Prints `text`, or, with `--check FILE`, compares it with the file. `program` and `verb`: its
// name, and the verb of the Makefile that writes the file. The exit code: 1 where they differ.
inline int PrintOrCheck(int argc, char** argv, const char* program, const char* verb,
                        const std::string& text) {
  if (argc == 1) {
    std::cout << text;
    return 0;
  }
  if (argc != 3 || absl::string_view(argv[1]) != "--check") {
    std::cerr << "usage: " << program << " [--check FILE]\n";
    return 2;
  }
  std::ifstream file(argv[2]);
  const std::string found((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (found == text) return 0;
  std::cerr << program << ": " << argv[2] << " differs from the operator table; run 'make " << verb
            << "'\n";
  return 1;
}

}  // namespace opserve

#endif  // OPSERVE_KERNELS_TOOLS_WRITTEN_FILE_H_
