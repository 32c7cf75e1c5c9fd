# Writes the page into a source file: cmake -DPAGE=... -DOUTPUT=... -P embed_page.cmake
file(READ "${PAGE}" page)
file(WRITE "${OUTPUT}" "#include \"server/metrics/status_page.h\"\n
namespace opserve {\n
absl::string_view StatusPage() {\n  return R\"page(${page})page\";\n}\n
}  // namespace opserve\n")
