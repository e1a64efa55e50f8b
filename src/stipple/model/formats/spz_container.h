// SPDX-License-Identifier: Apache-2.0
#pragma once
// What surrounds the blocks of an .spz file. Versions 1 to 3 are one gzip stream:
//
//   16 bytes of header | blocks | extensions, if the header says so
//
// Version 4 is not compressed as a whole:
//
//   16 bytes of header | where the table is, 0 .. | extensions | table | blocks, one Zstandard frame each
//
// A block without bytes is left out of the table. An extension is its type, the number of its bytes, and
// those.
#include <cstddef>
#include <cstdint>

namespace stipple {

constexpr std::uint32_t kSpzMagic = 0x5053474e;  // "NGSP"
constexpr std::size_t kSpzHeaderBytes = 16;
constexpr std::size_t kSpzHeaderBytes4 = 32;                        // of version 4
constexpr std::uint8_t kSpzAntialiased = 1, kSpzHasExtensions = 2;  // flags

constexpr std::size_t kSpzExtensionHeaderBytes = 8;
constexpr std::uint32_t kSpzFrameExtension = 0xadbe0003;
// Its values are names of frames in this order, after 0 for "not specified".
constexpr const char* kSpzFrames[] = {"ldb", "rdb", "lub", "rub", "ldf", "rdf", "luf", "ruf",
                                      "lfd", "rfd", "lfu", "rfu", "lbd", "rbd", "lbu", "rbu"};
constexpr std::uint32_t kSpzFrameRub = 4, kSpzFrameRdf = 6;

}  // namespace stipple
