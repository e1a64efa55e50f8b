// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "stipple/backend/cuda/runtime/device_memory.h"
#include "stipple/backend/cuda/runtime/nccl.h"
#include "stipple/backend/rank_link.h"

namespace stipple::cuda {

// Arrays travel from GPU to GPU, in order with the stages. The host waits for them, to notice when another
// rank has ended.
class NcclLink : public RankLink {
 public:
  // Waits until all ranks have called it.
  NcclLink(const Nccl& nccl, std::shared_ptr<CudaContext> context, Device& device, Ranks& ranks);
  ~NcclLink() override;

  std::string_view name() const override { return "NCCL"; }

 private:
  std::vector<std::size_t> join_blocks(std::span<const Block> to, const MakeRoom& room) override;
  void split_blocks(std::span<const Block> to, std::span<const Block> from) override;

  void exchange(std::span<const Block> to, std::span<const Block> from);
  void wait();

  const Nccl& nccl_;
  std::shared_ptr<CudaContext> context_;
  Nccl::Communicator communicator_ = nullptr;
  bool has_failed_ = true;  // until a call has succeeded: NCCL must not wait for others then
};

// Null unless every rank has a GPU of its own, and NCCL. All ranks must call it, and get the same answer.
std::unique_ptr<RankLink> make_nccl_link(const std::shared_ptr<CudaContext>& context, Device& device,
                                         Ranks& ranks);

}  // namespace stipple::cuda
