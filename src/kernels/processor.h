// What this processor can do, asked at run time: the program itself starts on any x86-64. On other
// processors nothing of x86 is there (absent_x86.cc).
#pragma once

namespace alibi {

inline bool always_there() { return true; }
bool has_avx2();         // with fused multiply-add
bool has_avx512();       // foundation, byte and word, doubleword and quadword, vector length
bool has_avx512_bf16();  // has_avx512() and products of bf16

}  // namespace alibi
