// SPDX-License-Identifier: Apache-2.0
// The words of a plan (VulkanPass::plan): how much work bin has, and the arguments of its indirect dispatches.
const uint kPlanGaussians = 0;
const uint kPlanPairs = 1;
const uint kPlanSplats = 2;
const uint kPlanArguments = 3;  // of three words each, see bin_plan.comp

const uint kGroupItems = 256;   // of kernels with one thread per item
const uint kScanBlock = 1024;
const uint kSortBlock = 2048;
const uint kMaxGroups = 65535;  // of one dispatch: kernels with more blocks than that loop over them
