// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/sog_files.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

// Entries are usually stored. WebP images hardly get smaller, and JSON not by this factor, so an entry that
// claims more is a bomb.
constexpr std::uint64_t kMaxRatio = 32;
constexpr std::uint64_t kAlwaysAllowed = 1 << 16;

struct CloseZip {
  void operator()(zip_t* zip) const { zip_discard(zip); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Zip = std::unique_ptr<zip_t, CloseZip>;
using ZipSource = std::unique_ptr<zip_source_t, CloseZip>;
using ZipEntry = std::unique_ptr<zip_file_t, CloseZip>;

class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }
  const char* text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

class ZippedFiles : public SogFiles {
 public:
  explicit ZippedFiles(InputFile& file) : name_(file.name()) {
    const std::span<const std::byte> bytes = file.take_rest();
    archive_.assign(bytes.begin(), bytes.end());
    ZipError error;
    ZipSource source(zip_source_buffer_create(archive_.data(), archive_.size(), 0, error.get()));
    if (source) zip_.reset(zip_open_from_source(source.get(), ZIP_RDONLY, error.get()));
    if (!zip_)
      throw Error(
          fmt::format("{}: the zip archive is truncated or damaged: {}", name_, printable(error.text())));
    source.release();  // now belongs to the archive
  }

  std::vector<std::byte> read(const std::string& name) override {
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat(zip_.get(), name.c_str(), ZIP_FL_ENC_RAW, &stat) != 0)
      throw Error(fmt::format("{}: the archive has no entry {}", name_, printable(name)));
    if ((stat.valid & (ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE)) != (ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE) ||
        stat.comp_size > archive_.size() || stat.size > kAlwaysAllowed + kMaxRatio * stat.comp_size)
      throw Error(fmt::format("{}: the entry has an implausible size; the file is damaged", label(name)));
    std::vector<std::byte> bytes(stat.size);
    const ZipEntry entry(zip_fopen_index(zip_.get(), stat.index, 0));
    if (!entry ||
        zip_fread(entry.get(), bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size()) ||
        !ends_well(entry.get()))
      throw Error(fmt::format("{}: the entry is truncated or damaged", label(name)));
    return bytes;
  }

  std::string label(const std::string& name) const override {
    return fmt::format("{}: {}", name_, printable(name));
  }

 private:
  // Reading beyond the last byte makes libzip compare the checksum.
  static bool ends_well(zip_file_t* entry) {
    std::byte more;
    return zip_fread(entry, &more, 1) == 0;
  }

  std::string name_;
  std::vector<std::byte> archive_;
  Zip zip_;
};

class LooseFiles : public SogFiles {
 public:
  explicit LooseFiles(const std::filesystem::path& meta) : meta_(meta) {}

  std::vector<std::byte> read(const std::string& name) override {
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\:") != std::string::npos ||
        name.find('\0') != std::string::npos)
      throw Error(
          fmt::format("{}: '{}' is not the name of a file in this folder", meta_.string(), printable(name)));
    InputFile file(meta_.parent_path() / name);
    const std::span<const std::byte> bytes = file.take_rest();
    return {bytes.begin(), bytes.end()};
  }

  std::string label(const std::string& name) const override { return (meta_.parent_path() / name).string(); }

  std::string meta_name() const override { return meta_.filename().string(); }

 private:
  std::filesystem::path meta_;
};

}  // namespace

std::unique_ptr<SogFiles> open_sog(const std::filesystem::path& path) {
  InputFile file(path);
  if (as_text(file.peek(2)) == "PK") return std::make_unique<ZippedFiles>(file);
  return std::make_unique<LooseFiles>(path);
}

void write_zip(std::span<const NamedBytes> entries, const std::string& name, const ByteSink& sink) {
  const auto fail = [&](const char* reason) {
    throw Error(fmt::format("{}: cannot make the zip archive: {}", name, reason));
  };
  ZipError error;
  const ZipSource result(zip_source_buffer_create(nullptr, 0, 0, error.get()));
  if (!result) fail(error.text());
  Zip zip(zip_open_from_source(result.get(), ZIP_CREATE | ZIP_TRUNCATE, error.get()));
  if (!zip) fail(error.text());
  zip_source_keep(result.get());  // one reference is the archive's, which frees it; the other is ours
  for (const NamedBytes& entry : entries) {
    ZipSource source(zip_source_buffer(zip.get(), entry.bytes.data(), entry.bytes.size(), 0));
    const zip_int64_t index =
        source ? zip_file_add(zip.get(), entry.name.c_str(), source.get(), ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) fail(zip_strerror(zip.get()));
    source.release();  // now belongs to the archive
    const auto at = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t kFirstDay = 1 << 5 | 1;  // 1 January 1980, the earliest date
    if (zip_set_file_compression(zip.get(), at, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(zip.get(), at, 0, kFirstDay, 0) != 0)
      fail(zip_strerror(zip.get()));
  }
  if (zip_close(zip.get()) != 0) fail(zip_strerror(zip.get()));
  zip.release();

  if (zip_source_open(result.get()) != 0) fail(zip_error_strerror(zip_source_error(result.get())));
  std::vector<std::byte> part(1 << 20);
  for (zip_int64_t got; (got = zip_source_read(result.get(), part.data(), part.size())) != 0;) {
    if (got < 0) fail(zip_error_strerror(zip_source_error(result.get())));
    sink(std::span<const std::byte>(part.data(), static_cast<std::size_t>(got)));
  }
  zip_source_close(result.get());
}

void write_zip(const std::filesystem::path& path, std::span<const NamedBytes> entries) {
  OutputFile file(path);
  write_zip(entries, path.string(), [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace stipple
