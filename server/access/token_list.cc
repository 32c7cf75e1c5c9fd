#include "server/access/token_list.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/access/caller.h"
#include "server/base/random_id.h"
#include "server/base/small_file.h"

namespace opserve {
namespace {

constexpr absl::string_view kHead =
    "# The tokens that opserve-server takes: name, SHA-256, when it expires. Written by\n"
    "# opserve-server token add and revoke.\n";

absl::string_view BytesOf(const Sha256Digest& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

Sha256Digest HashOf(absl::string_view token) {
  Sha256 hash;
  hash.Add(std::as_bytes(std::span(token.data(), token.size())));
  return hash.Finish();
}

std::optional<Sha256Digest> HashFrom(absl::string_view hex) {
  if (!std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit) || hex.size() % 2 != 0) {
    return std::nullopt;
  }
  return Sha256DigestFrom(absl::HexStringToBytes(hex));
}

bool IsTokenName(absl::string_view name) {
  return IsClientName(name) && name.find(' ') == absl::string_view::npos && name.front() != '#' &&
         name.find('*') == absl::string_view::npos;
}

absl::Status NameError(absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is no name of a token; it must have 1 to ", kMaxClientNameBytes,
                   " bytes of printable ASCII without spaces, '/', '*' and a leading '#'"));
}

// Without a branch on what is compared.
bool AreEqual(const Sha256Digest& a, const Sha256Digest& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

std::string MakeToken() { return absl::StrCat(kTokenPrefix, RandomId(), RandomId()); }

absl::StatusOr<TokenList> TokenList::Parse(absl::string_view text, const std::string& file) {
  TokenList list;
  size_t number = 0;
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", what));
  };
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (fields.size() < 2 || fields.size() > 3) {
      return error(absl::StrCat("the line has ", fields.size(),
                                " fields; it must have a name, a hash and, if the token expires, "
                                "when"));
    }
    if (!IsTokenName(fields[0])) return error(NameError(fields[0]).message());
    if (list.FindName(fields[0]) != nullptr) {
      return error(absl::StrCat("there is another token of the name ", fields[0]));
    }
    TokenEntry entry;
    entry.name = std::string(fields[0]);
    const std::optional<Sha256Digest> hash = HashFrom(fields[1]);
    if (!hash) return error("the hash must be 64 hexadecimal digits");
    entry.hash = *hash;
    std::string why;
    if (fields.size() == 3 &&
        !absl::ParseTime(absl::RFC3339_full, fields[2], &entry.expires, &why)) {
      return error(absl::StrCat("\"", fields[2], "\" is no time such as 2027-01-31T00:00:00Z"));
    }
    list.entries_.push_back(std::move(entry));
  }
  return list;
}

absl::StatusOr<TokenList> TokenList::Read(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) return text.status();
  return Parse(*text, file);
}

std::string TokenList::ToText() const {
  std::string text(kHead);
  for (const TokenEntry& entry : entries_) {
    absl::StrAppend(&text, entry.name, " ", absl::BytesToHexString(BytesOf(entry.hash)));
    if (entry.expires != absl::InfiniteFuture()) {
      absl::StrAppend(&text, " ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", entry.expires, absl::UTCTimeZone()));
    }
    text += '\n';
  }
  return text;
}

absl::Status TokenList::Add(absl::string_view name, absl::string_view token, absl::Time expires) {
  if (!IsTokenName(name)) return NameError(name);
  if (FindName(name) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("there is a token of the name ", name));
  }
  entries_.push_back({std::string(name), HashOf(token), expires});
  return absl::OkStatus();
}

bool TokenList::Remove(absl::string_view name) {
  return std::erase_if(entries_, [&](const TokenEntry& entry) { return entry.name == name; }) > 0;
}

const TokenEntry* TokenList::Find(absl::string_view token) const {
  const Sha256Digest hash = HashOf(token);
  const TokenEntry* found = nullptr;
  for (const TokenEntry& entry : entries_) {
    if (AreEqual(entry.hash, hash)) found = &entry;
  }
  return found;
}

const TokenEntry* TokenList::FindName(absl::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const TokenEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace opserve
