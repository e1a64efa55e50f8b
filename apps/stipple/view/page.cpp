// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/page.h"

// The assembler includes the file, because compilers take seconds for an array of this size.
#ifdef __APPLE__
#define SECTION ".section __TEXT,__const\n"
#define SYMBOL(name) "_" #name
#define END_OF_SECTION ".text\n"
#else
#define SECTION ".section .rodata\n"
#define SYMBOL(name) #name
#define END_OF_SECTION ".previous\n"
#endif

asm(SECTION ".globl " SYMBOL(stipple_page_begin) "\n.globl " SYMBOL(stipple_page_end) "\n" SYMBOL(
    stipple_page_begin) ":\n.incbin \"" STIPPLE_PAGE_FILE
                        "\"\n" SYMBOL(stipple_page_end) ":\n" END_OF_SECTION);

extern "C" const char stipple_page_begin[], stipple_page_end[];

namespace stipple {

std::string_view viewer_page() { return {stipple_page_begin, stipple_page_end}; }

}  // namespace stipple
