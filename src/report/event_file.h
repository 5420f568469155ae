// TensorBoard's event file: scalars by tag and step.
//
//   record:  u64 length, u32 masked CRC-32C of it, that many bytes, u32 masked CRC-32C of them
//   bytes:   Protocol Buffers: Event {1: wall time (double), 2: step, 3: "brain.Event:2" (first
//            record), 5: Summary {1: Value {1: tag, 2: float}, ...}}
//
// Little endian; masked: rotated right by 15 bits, plus 0xa282ead8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace alibi {

std::uint32_t crc32c(std::string_view bytes);  // Castagnoli

std::string event_file_head(double wall_time);  // the first record

using Scalars = std::vector<std::pair<std::string, float>>;
std::string event_record(double wall_time, std::int64_t step, const Scalars& scalars);

}  // namespace alibi
