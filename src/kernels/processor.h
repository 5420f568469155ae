// What this processor can do, asked at run time: the program itself starts on any x86-64.
#pragma once

namespace alibi {

bool always_there();
bool has_avx2();         // with fused multiply-add
bool has_avx512();       // foundation, byte and word, doubleword and quadword, vector length
bool has_avx512_bf16();  // has_avx512() and products of bf16

}  // namespace alibi
