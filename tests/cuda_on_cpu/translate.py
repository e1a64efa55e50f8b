#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""translate.py SOURCE TARGET: rewrites a CUDA source as C++ that runs its kernels on the CPU with run_kernels.h.

Replaced are launches, instructions in assembler, and what names the generation of the GPU; everything else of the
language is names that run_kernels.h defines. Fails if a launch or an instruction is left that it does not know."""
import re
import sys

INSTRUCTIONS = {  # what an asm statement begins with, and its operands
    "ex2.approx.ftz.f32": "result = cuda_on_cpu::exp2(y);",
    "rcp.approx.ftz.f32": "result = cuda_on_cpu::reciprocal(x);",
    "mma.sync.aligned.m16n8k8": "cuda_on_cpu::multiply_add(c, a, b);",
}


def closing(text, at):
    """The place of the bracket that closes the one at `at`."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    depth = 0
    for i in range(at, len(text)):
        if text[i] in pairs:
            depth += 1
        elif text[i] in pairs.values():
            depth -= 1
            if depth == 0:
                return i
    raise SystemExit("a bracket is not closed")


def kernel_before(text, end):
    """Where the name of a kernel with its template arguments begins that ends at `end`."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
    while re.match(r"[\w:]", text[at - 1]):
        at -= 1
    return at


def translate_launches(text):
    while (open_at := text.find("<<<")) >= 0:
        begin = kernel_before(text, open_at)
        close_at = text.index(">>>", open_at)
        arguments_end = closing(text, text.index("(", close_at))
        # A constant that is an argument of a generic lambda is none in a lambda inside of it.
        kernel = re.sub(r"\b(\w+)\(\)", r"decltype(\1)::value", text[begin:open_at].strip())
        configuration = text[open_at + 3 : close_at]
        arguments = text[text.index("(", close_at) + 1 : arguments_end]
        text = (
            text[:begin]
            + f"cuda_on_cpu::launch({{{configuration}}}, [=](const auto&... of_kernel) {{ {kernel}(of_kernel...); }}, {arguments})"
            + text[arguments_end + 1 :]
        )
    return text


def translate_assembler(text):
    for statement in reversed(list(re.finditer(r"\basm\(", text))):
        end = text.index(";", closing(text, statement.end() - 1))
        instruction = re.match(r'\s*"([\w.]+)', text[statement.end() :]).group(1)
        known = [with_what for name, with_what in INSTRUCTIONS.items() if instruction.startswith(name)]
        if not known:
            raise SystemExit(f"the instruction {instruction} is not known")
        text = text[: statement.start()] + known[0] + text[end + 1 :]
    return text


source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    text = file.read()
text = translate_assembler(translate_launches(text))
text = re.sub(r"\b__CUDA_ARCH__\b", "CUDA_ON_CPU_ARCH", text)
text = re.sub(r"extern __shared__ __align__\(\d+\) unsigned char (\w+)\[\];", r"unsigned char* const \1 = cuda_on_cpu::shared_bytes();", text)
with open(target, "w", encoding="utf-8") as file:
    file.write(f'#line 1 "{source}"\n{text}')
