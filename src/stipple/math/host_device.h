// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#if defined(__CUDACC__)
#define STIPPLE_HD __host__ __device__
#else
#define STIPPLE_HD
#endif
