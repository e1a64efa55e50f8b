// SPDX-License-Identifier: Apache-2.0
#pragma once
// A minimal reader of numpy's .npz (a zip file of .npy arrays) for trusted test fixtures.
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace stipple {

using NpzArrays = std::map<std::string, std::vector<double>>;  // by name, flattened in C order

template <class T>
T read_little_endian(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.substr(at, sizeof(T)).data(), sizeof(T));
  return value;
}

inline std::string inflate_raw(const std::string& compressed, std::size_t size) {
  std::string result(size, '\0');
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  inflateInit2(&stream, -MAX_WBITS);
  int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("npz: the compressed data are malformed");
  return result;
}

template <class T>
std::vector<double> values_of(const std::string& npy, std::size_t begin) {
  std::vector<double> values;
  for (std::size_t at = begin; at + sizeof(T) <= npy.size(); at += sizeof(T))
    values.push_back(static_cast<double>(read_little_endian<T>(npy, at)));
  return values;
}

inline std::vector<double> parse_npy(const std::string& npy) {
  std::size_t begin = 10 + read_little_endian<std::uint16_t>(npy, 8);
  std::string header = npy.substr(10, begin - 10);
  auto is = [&](const char* type) { return header.find(type) != std::string::npos; };
  if (is("'<f4'")) return values_of<float>(npy, begin);
  if (is("'<f8'")) return values_of<double>(npy, begin);
  if (is("'<i4'")) return values_of<std::int32_t>(npy, begin);
  if (is("'<i8'")) return values_of<std::int64_t>(npy, begin);
  throw std::runtime_error("npz: unsupported element type in " + header);
}

// Reads the entries of the zip file's central directory.
inline NpzArrays load_npz(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string zip((std::istreambuf_iterator<char>(file)), {});
  std::size_t end = zip.rfind("PK\5\6");
  if (end == std::string::npos) throw std::runtime_error(path.string() + " is not a zip file");
  std::size_t count = read_little_endian<std::uint16_t>(zip, end + 10);
  std::size_t entry = read_little_endian<std::uint32_t>(zip, end + 16);
  NpzArrays arrays;
  for (std::size_t i = 0; i < count; ++i) {
    auto u16 = [&](std::size_t at) { return read_little_endian<std::uint16_t>(zip, at); };
    auto u32 = [&](std::size_t at) { return read_little_endian<std::uint32_t>(zip, at); };
    std::string name = zip.substr(entry + 46, u16(entry + 28));
    std::size_t local = u32(entry + 42);
    std::size_t data = local + 30 + u16(local + 26) + u16(local + 28);
    std::string bytes = zip.substr(data, u32(entry + 20));
    if (u16(entry + 10) == 8) bytes = inflate_raw(bytes, u32(entry + 24));
    arrays[name.substr(0, name.rfind(".npy"))] = parse_npy(bytes);
    entry += 46u + u16(entry + 28) + u16(entry + 30) + u16(entry + 32);
  }
  return arrays;
}

}  // namespace stipple
