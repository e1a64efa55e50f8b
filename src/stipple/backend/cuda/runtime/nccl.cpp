// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/runtime/nccl.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>

namespace stipple::cuda {

namespace {

bool is_turned_off() {
  const char* const choice = std::getenv("STIPPLE_NCCL");
  return choice && std::string_view(choice) == "off";
}

std::optional<Nccl> load() {
  void* const library = is_turned_off() ? nullptr : dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) return {};
  Nccl nccl{};
  bool has_all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    has_all = has_all && function;
  };
  find(nccl.get_unique_id, "ncclGetUniqueId");
  find(nccl.init_rank, "ncclCommInitRank");
  find(nccl.destroy, "ncclCommDestroy");
  find(nccl.abort, "ncclCommAbort");
  find(nccl.get_async_error, "ncclCommGetAsyncError");
  find(nccl.get_error_string, "ncclGetErrorString");
  find(nccl.send, "ncclSend");  // since version 2.7
  find(nccl.receive, "ncclRecv");
  find(nccl.group_start, "ncclGroupStart");
  find(nccl.group_end, "ncclGroupEnd");
  if (!has_all) return {};
  return nccl;
}

}  // namespace

const Nccl* Nccl::loaded() {
  static const std::optional<Nccl> nccl = load();
  return nccl ? &*nccl : nullptr;
}

}  // namespace stipple::cuda
