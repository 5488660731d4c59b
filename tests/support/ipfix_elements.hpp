// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary::test {

// Information elements by IANA's numbers, for decoded records.
inline constexpr std::uint32_t kSourcePort = 7;  ///< sourceTransportPort
inline constexpr std::uint32_t kIngressInterface = 10;
inline constexpr std::uint32_t kDestinationPort = 11;   ///< destinationTransportPort
inline constexpr std::uint32_t kNetflowInterval = 34;   ///< samplingInterval
inline constexpr std::uint32_t kNetflowAlgorithm = 35;  ///< samplingAlgorithm
inline constexpr std::uint32_t kExportedOctets = 40;
inline constexpr std::uint32_t kExportedMessages = 41;
inline constexpr std::uint32_t kExportedRecords = 42;
inline constexpr std::uint32_t kInterfaceName = 82;
inline constexpr std::uint32_t kInterfaceDescription = 83;
inline constexpr std::uint32_t kDroppedPackets = 135;
inline constexpr std::uint32_t kExportingProcess = 144;
inline constexpr std::uint32_t kTemplate = 145;
inline constexpr std::uint32_t kObservationDomain = 149;
inline constexpr std::uint32_t kIgnoredPackets = 164;
inline constexpr std::uint32_t kIgnoredOctets = 165;
inline constexpr std::uint32_t kNotSentFlows = 166;
inline constexpr std::uint32_t kNotSentPackets = 167;
inline constexpr std::uint32_t kNotSentOctets = 168;
inline constexpr std::uint32_t kFlowKeys = 173;
inline constexpr std::uint32_t kSelector = 302;
inline constexpr std::uint32_t kElement = 303;
inline constexpr std::uint32_t kSelectorAlgorithm = 304;
inline constexpr std::uint32_t kSamplingInterval = 305;
inline constexpr std::uint32_t kSamplingSpace = 306;
inline constexpr std::uint32_t kSamplingProbability = 311;
inline constexpr std::uint32_t kElementType = 339;
inline constexpr std::uint32_t kElementName = 341;
inline constexpr std::uint32_t kEnterprise = 346;

// Of CERT's, with the bit of an enterprise (DecodedField::key()).
inline constexpr std::uint32_t kTemplateNameKey = 0x8000 | 1000;

}  // namespace tributary::test
