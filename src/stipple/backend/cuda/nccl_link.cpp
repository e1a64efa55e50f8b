// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/nccl_link.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>

#include "stipple/ranks/collectives.h"

namespace stipple::cuda {

namespace {

// A GPU of a machine, and whether its rank could use NCCL.
struct Place {
  std::array<char, 256> host{};
  std::array<char, 32> bus{};
  bool has_nccl = false;

  bool is_that_of(const Place& other) const { return host == other.host && bus == other.bus; }
};

Place own_place(int device) {
  Place place;
  gethostname(place.host.data(), place.host.size() - 1);
  check(cudaDeviceGetPCIBusId(place.bus.data(), static_cast<int>(place.bus.size()), device),
        "name the device");
  place.has_nccl = Nccl::loaded() != nullptr;
  return place;
}

bool can_link(const std::vector<Place>& places) {
  for (auto place = places.begin(); place != places.end(); ++place)
    if (!place->has_nccl ||
        std::any_of(places.begin(), place, [&](const Place& other) { return other.is_that_of(*place); }))
      return false;
  return true;
}

char* at(Memory* memory, std::size_t begin) {
  return static_cast<char*>(static_cast<CudaMemory*>(memory)->data()) + begin;
}

}  // namespace

NcclLink::NcclLink(const Nccl& nccl, std::shared_ptr<CudaContext> context, Device& device, Ranks& ranks)
    : RankLink(device, ranks), nccl_(nccl), context_(std::move(context)) {
  const DeviceGuard guard(*context_);
  Nccl::UniqueId id{};
  if (ranks.rank() == 0) nccl_.check(nccl_.get_unique_id(&id), "start");
  id = gather_value(ranks, id)[0];
  nccl_.check(nccl_.init_rank(&communicator_, ranks.count(), id, ranks.rank()), "reach the other ranks");
  has_failed_ = false;
}

// While a failure ends this rank, the others have not been told yet: NCCL could wait for them, and the
// process ends in any case.
NcclLink::~NcclLink() {
  if (!communicator_ || std::uncaught_exceptions() > 0) return;
  const DeviceGuard guard(context_->device(), std::nothrow);
  has_failed_ ? nccl_.abort(communicator_) : nccl_.destroy(communicator_);
}

std::vector<std::size_t> NcclLink::join_blocks(std::span<const Block> to, const MakeRoom& room) {
  std::vector<Ranks::Bytes> sizes;
  for (const Block& block : to) sizes.push_back(bytes_of_values(std::span(&block.bytes, 1)));
  std::vector<std::size_t> arriving;
  for (const Ranks::Bytes& size : ranks().all_to_all(std::move(sizes)))
    append_values(std::span<const std::byte>(size), arriving);
  std::size_t total = 0;
  std::vector<Block> from;
  for (const std::size_t bytes : arriving) {
    from.push_back({nullptr, total, bytes});
    total += bytes;
  }
  Memory* const joined = room(total);
  for (Block& block : from) block.memory = joined;
  exchange(to, from);
  return arriving;
}

void NcclLink::split_blocks(std::span<const Block> to, std::span<const Block> from) { exchange(to, from); }

void NcclLink::exchange(std::span<const Block> to, std::span<const Block> from) {
  const DeviceGuard guard(*context_);
  has_failed_ = true;
  nccl_.check(nccl_.group_start(), "start an exchange");
  for (std::size_t r = 0; r < to.size(); ++r) {
    const int rank = static_cast<int>(r);
    if (to[r].bytes > 0)
      nccl_.check(nccl_.send(at(to[r].memory, to[r].begin), to[r].bytes, Nccl::kBytes, rank, communicator_,
                             context_->stream()),
                  "send to another rank");
    if (from[r].bytes > 0)
      nccl_.check(nccl_.receive(at(from[r].memory, from[r].begin), from[r].bytes, Nccl::kBytes, rank,
                                communicator_, context_->stream()),
                  "receive from another rank");
  }
  nccl_.check(nccl_.group_end(), "exchange data with the other ranks");
  wait();
  has_failed_ = false;
}

void NcclLink::wait() {
  for (;;) {
    const cudaError_t status = cudaStreamQuery(context_->stream());
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check(status, "exchange data with the other ranks");
    int error = Nccl::kSuccess;
    nccl_.check(nccl_.get_async_error(communicator_, &error), "ask for errors");
    nccl_.check(error, "exchange data with the other ranks");
    ranks().check();
    sched_yield();
  }
}

std::unique_ptr<RankLink> make_nccl_link(const std::shared_ptr<CudaContext>& context, Device& device,
                                         Ranks& ranks) {
  if (!can_link(gather_value(ranks, own_place(context->device())))) return nullptr;
  return std::make_unique<NcclLink>(*Nccl::loaded(), context, device, ranks);
}

}  // namespace stipple::cuda
