// SPDX-License-Identifier: Apache-2.0
// Compares loading the photos of a real scene with merely decoding its JPEGs, both on all cores:
//   STIPPLE_BENCH_SCENE=path/to/scene build/release/bench/stipple_bench --benchmark_filter=photos
#include <benchmark/benchmark.h>
// clang-format off
#include <cstdio>  // must precede jpeglib.h
#include <jpeglib.h>
// clang-format on

#include <cstdlib>
#include <vector>

#include "stipple/core/parallel.h"
#include "stipple/io/input_file.h"
#include "stipple/photo/photo_cache.h"

namespace stipple {
namespace {

std::vector<unsigned char> decode_bare(const std::filesystem::path& path) {
  InputFile file(path);
  const std::span<const std::byte> bytes = file.take_rest();
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg_start_decompress(&jpeg);
  const std::size_t row_bytes = std::size_t{jpeg.output_width} * 3;
  std::vector<unsigned char> pixels(row_bytes * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.data() + jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return pixels;
}

std::vector<SceneView> bench_views() {
  const char* path = std::getenv("STIPPLE_BENCH_SCENE");
  return path ? load_scene(path, {.max_resolution_px = 0}).views : std::vector<SceneView>();
}

void photos_decoded_bare(benchmark::State& state) {
  const std::vector<SceneView> views = bench_views();
  if (views.empty()) return state.SkipWithError("set STIPPLE_BENCH_SCENE to the path of a scene");
  for (auto _ : state) {
    std::vector<std::vector<unsigned char>> photos(views.size());  // kept in memory, as the cache does
    parallel_for(views.size(), [&](std::size_t i) { photos[i] = decode_bare(views[i].image_path); });
    benchmark::DoNotOptimize(photos.data());
  }
}

void photos_loaded(benchmark::State& state) {
  const std::vector<SceneView> views = bench_views();
  if (views.empty()) return state.SkipWithError("set STIPPLE_BENCH_SCENE to the path of a scene");
  for (auto _ : state) {
    PhotoCache cache(views, std::size_t{64} << 30);
    cache.load_all();
    state.counters["peak_MiB"] = static_cast<double>(cache.peak_bytes()) / (1 << 20);
  }
}

BENCHMARK(photos_decoded_bare)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(photos_loaded)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace stipple
