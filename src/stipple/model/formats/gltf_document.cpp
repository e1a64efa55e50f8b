// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/gltf_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "stipple/io/base64.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/input_file.h"
#include "stipple/scene/image_finder.h"

namespace stipple {

namespace {

using nlohmann::json;

constexpr bool kSwap = std::endian::native != std::endian::little;
constexpr std::uint32_t kMagic = 0x46546c67, kJsonChunk = 0x4e4f534a, kBinaryChunk = 0x004e4942;
constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{1} << 30;  // with buffers in base64
// No number in a file of any size that exists is larger, and sums of a few do not overflow.
constexpr std::uint64_t kMaxWhole = std::uint64_t{1} << 48;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Whether a URI starts with a scheme, such as "https:". A single letter is a drive of Windows.
bool has_scheme(std::string_view uri) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  const std::size_t end = uri.find_first_not_of(kLetters);
  return end != uri.npos && end > 1 && uri[end] == ':';
}

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t offset) {
  return load_number<std::uint32_t>(bytes.data() + offset, kSwap);
}

struct ComponentType {
  std::uint64_t code;
  std::size_t bytes;
  float largest;  // what a normalised integer is divided by
  float (*load)(const std::byte*);
};

template <class T>
float load_as_float(const std::byte* from) {
  return static_cast<float>(load_number<T>(from, kSwap));
}

constexpr ComponentType kComponentTypes[] = {{5120, 1, 127, load_as_float<std::int8_t>},
                                             {5121, 1, 255, load_as_float<std::uint8_t>},
                                             {5122, 2, 32767, load_as_float<std::int16_t>},
                                             {5123, 2, 65535, load_as_float<std::uint16_t>},
                                             {5126, 4, 0, load_as_float<float>}};

std::size_t component_count(std::string_view type) {
  return type == "SCALAR" ? 1 : static_cast<std::size_t>(type.back() - '0');  // VEC2 to VEC4
}

// "%20" and the like as bytes.
std::string decode_percent(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    result += coded ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (coded) i += 2;
  }
  return result;
}

}  // namespace

struct GltfDocument::Column {
  const Buffer& buffer;
  std::uint64_t offset = 0, count = 0, stride = 0;
  std::size_t components = 0;
  const ComponentType* type = nullptr;
  bool normalized = false;

  std::size_t element_bytes() const { return components * type->bytes; }
  void convert(const std::byte* from, float* to) const {
    for (std::size_t c = 0; c < components; ++c) {
      to[c] = type->load(from + c * type->bytes);
      if (normalized && type->largest > 0) to[c] = std::max(to[c] / type->largest, -1.0f);
    }
  }
};

GltfDocument::GltfDocument(const std::filesystem::path& path) : name_(path.string()) {
  read_file(path);
  find_buffers(path.parent_path());
}

void GltfDocument::fail(std::string_view reason) const { throw Error(fmt::format("{}: {}", name_, reason)); }

void GltfDocument::read_file(const std::filesystem::path& path) {
  InputFile file(path);
  std::uint64_t json_bytes = file.remaining_bytes();
  const std::uint64_t file_bytes = json_bytes;
  const std::span<const std::byte> magic = file.peek(4);
  const bool is_binary = magic.size() == 4 && number_at(magic, 0) == kMagic;
  if (is_binary) {
    const std::span<const std::byte> head = file.take(20);
    if (head.size() < 20) fail("the file is truncated");
    if (number_at(head, 4) != 2) fail(fmt::format("version {} of .glb is not known", number_at(head, 4)));
    if (number_at(head, 8) > file_bytes) fail("the file is truncated");
    if (number_at(head, 16) != kJsonChunk) fail("the first part of the file is not JSON");
    json_bytes = number_at(head, 12);
    if (json_bytes > file.remaining_bytes()) fail("the file is truncated");
  }
  if (json_bytes > kMaxJsonBytes) fail("the JSON is larger than 1 GiB; save the model as .glb");
  const std::string_view text = as_text(file.take(static_cast<std::size_t>(json_bytes)));
  if (const std::string_view excess = json_excess(text); !excess.empty())
    fail(fmt::format("the JSON {}", excess.substr(0, excess.find(';'))));
  root_ = parse_json(text);
  if (!root_.is_object()) fail("the JSON is not valid");
  if (!is_binary || file.remaining_bytes() == 0) return;
  const std::span<const std::byte> head = file.take(8);
  if (head.size() < 8) fail("the file is truncated");
  if (number_at(head, 4) != kBinaryChunk) return;
  const std::uint64_t size = number_at(head, 0);
  if (size > file.remaining_bytes()) fail("the file is truncated");
  binary_chunk_ = Buffer{path, file_bytes - file.remaining_bytes(), size, {}};
}

void GltfDocument::find_buffers(const std::filesystem::path& folder) {
  const auto list = root_.find("buffers");
  if (list == root_.end()) return;
  if (!list->is_array()) fail("'buffers' is not a list");
  for (std::size_t i = 0; i < list->size(); ++i) buffers_.push_back(find_buffer((*list)[i], i, folder));
}

GltfDocument::Buffer GltfDocument::find_buffer(const json& description, std::size_t index,
                                               const std::filesystem::path& folder) const {
  if (!description.is_object()) fail(fmt::format("buffer {} is not an object", index));
  const std::uint64_t size = whole(description, "byteLength");
  Buffer buffer;
  if (const auto uri = description.find("uri"); uri == description.end()) {
    if (index > 0 || !binary_chunk_) fail(fmt::format("buffer {} has no data", index));
    buffer = *binary_chunk_;
  } else if (!uri->is_string()) {
    fail(fmt::format("the uri of buffer {} is not a text", index));
  } else if (const std::string_view text = uri->get_ref<const std::string&>(); text.starts_with("data:")) {
    constexpr std::string_view kBase64 = ";base64,";
    const std::size_t comma = text.substr(0, 256).find(kBase64);
    auto bytes = comma == text.npos ? std::nullopt : decode_base64(text.substr(comma + kBase64.size()));
    if (!bytes) fail(fmt::format("the data of buffer {} are not base64", index));
    buffer.size = bytes->size();
    buffer.bytes = std::move(*bytes);
  } else {
    if (has_scheme(text))
      fail(fmt::format("buffer {} is not a local file, but at {}; download it, and name the file instead",
                       index, printable(text)));
    const auto relative = contained_path(decode_percent(text));
    if (!relative || text.find(':') != text.npos)
      fail(fmt::format("the uri of buffer {} leads outside the folder: {}", index, printable(text)));
    buffer.path = folder / *relative;
    buffer.size = InputFile(buffer.path, 1).remaining_bytes();
  }
  if (buffer.size < size)
    fail(fmt::format("buffer {} has {} bytes, not the {} that are declared", index, buffer.size, size));
  buffer.size = size;
  return buffer;
}

const json& GltfDocument::item(const char* list, std::uint64_t index) const {
  const auto found = root_.find(list);
  if (found == root_.end() || !found->is_array() || index >= found->size() || !(*found)[index].is_object())
    fail(fmt::format("there is no object {} in '{}'", index, list));
  return (*found)[index];
}

std::uint64_t GltfDocument::whole(const json& object, const char* key,
                                  std::optional<std::uint64_t> otherwise) const {
  const auto found = object.find(key);
  if (found == object.end() && otherwise) return *otherwise;
  if (found == object.end()) fail(fmt::format("'{}' is missing", key));
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > kMaxWhole)
    fail(fmt::format("'{}' is not a whole number in the range allowed", key));
  return found->get<std::uint64_t>();
}

std::uint64_t GltfDocument::accessor_count(std::uint64_t accessor) const {
  return whole(item("accessors", accessor), "count");
}

std::uint64_t GltfDocument::data_bytes() const {
  std::uint64_t sum = 0;
  std::map<std::filesystem::path, std::uint64_t> files;  // and the end of what buffers refer to in them
  for (const Buffer& buffer : buffers_) {
    sum += buffer.bytes.size();
    if (buffer.path.empty()) continue;
    std::uint64_t& end = files[buffer.path];
    end = std::max(end, buffer.begin + buffer.size);
  }
  for (const auto& [path, end] : files) sum += end;
  return sum;
}

GltfDocument::Column GltfDocument::find_column(std::uint64_t accessor, std::string_view type) const {
  const json& description = item("accessors", accessor);
  const auto refuse = [&](std::string_view reason) { fail(fmt::format("accessor {} {}", accessor, reason)); };
  if (description.contains("sparse")) refuse("is sparse, which is not supported; export without that");
  const auto stated = description.find("type");
  if (stated == description.end() || *stated != std::string(type)) refuse(fmt::format("is not a {}", type));
  const std::uint64_t code = whole(description, "componentType");
  const auto known = std::find_if(std::begin(kComponentTypes), std::end(kComponentTypes),
                                  [&](const ComponentType& t) { return t.code == code; });
  if (known == std::end(kComponentTypes)) refuse(fmt::format("has the component type {}", code));
  const json& view = item("bufferViews", whole(description, "bufferView"));
  const std::uint64_t buffer = whole(view, "buffer");
  if (buffer >= buffers_.size()) fail(fmt::format("there is no object {} in 'buffers'", buffer));

  Column column{buffers_[buffer]};
  column.type = &*known;
  column.components = component_count(type);
  column.count = whole(description, "count");
  column.stride = whole(view, "byteStride", column.element_bytes());
  const auto normalized = description.find("normalized");
  column.normalized = normalized != description.end() && *normalized == true;
  const std::uint64_t begin = whole(view, "byteOffset", 0), length = whole(view, "byteLength"),
                      inside = whole(description, "byteOffset", 0);
  column.offset = begin + inside;
  const std::uint64_t element = column.element_bytes();
  if (column.stride < element || column.stride > 252) refuse("has a stride that cannot be");
  if (begin + length > column.buffer.size) refuse("refers to data outside its buffer");
  const bool fits = column.count == 0 || (inside + element <= length &&
                                          (length - inside - element) / column.stride >= column.count - 1);
  if (!fits)
    refuse(fmt::format("has {} elements, which its part of the buffer has no room for", column.count));
  return column;
}

void GltfDocument::read(std::uint64_t accessor, std::string_view type,
                        const std::function<void(std::size_t, const float*)>& f) const {
  const Column column = find_column(accessor, type);
  if (column.count == 0) return;
  std::array<float, 4> values{};
  const auto take_from = [&](const std::byte* bytes, std::size_t i) {
    column.convert(bytes, values.data());
    f(i, values.data());
  };
  if (column.buffer.path.empty()) {
    for (std::size_t i = 0; i < column.count; ++i)
      take_from(column.buffer.bytes.data() + column.offset + i * column.stride, i);
    return;
  }
  InputFile file(column.buffer.path, kPieceBytes);
  const std::uint64_t begin = column.buffer.begin + column.offset;
  if (begin > file.remaining_bytes()) fail("the file became shorter while it was read");
  file.skip(begin);
  for (std::size_t i = 0; i < column.count; ++i) {
    const std::size_t wanted = i + 1 < column.count ? column.stride : column.element_bytes();
    const std::span<const std::byte> bytes = file.take(wanted);
    if (bytes.size() < wanted) fail("the file became shorter while it was read");
    take_from(bytes.data(), i);
  }
}

}  // namespace stipple
