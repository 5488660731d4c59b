-- SPDX-License-Identifier: Apache-2.0
-- From the topic into the tables: clickhouse-client -n <queue.sql, on each server, with the brokers and the topic set. All servers
-- are one consumer group: each reads some of the partitions. Dropping flows_queue_view pauses the reading.
--
-- kafka_num_consumers: so many threads of each server read the topic, at most as many as it has cores. One thread is planned for
-- 80,000 records/s. 1,000,000 records/s need 4 on each of 3 shards (README.md).

CREATE TABLE IF NOT EXISTS tributary.flows_queue (
    `iana:flowStartMilliseconds` String,
    `iana:flowEndMilliseconds` String,
    `iana:sourceIPv4Address` String,
    `iana:sourceIPv6Address` String,
    `iana:destinationIPv4Address` String,
    `iana:destinationIPv6Address` String,
    `iana:sourceTransportPort` UInt16,
    `iana:destinationTransportPort` UInt16,
    `iana:protocolIdentifier` String,
    `iana:tcpControlBits` String,
    `iana:octetDeltaCount` UInt64,
    `iana:packetDeltaCount` UInt64,
    `iana@reverse:octetDeltaCount@reverse` UInt64,
    `iana@reverse:packetDeltaCount@reverse` UInt64,
    `iana:flowEndReason` UInt8,
    `iana:exporterIPv4Address` String,
    `iana:exporterIPv6Address` String,
    `iana:observationDomainId` UInt32,
    `tributary:probeName` String,
    `tributary:streamId` String,
    `tributary:sequenceNumber` UInt64
) ENGINE = Kafka SETTINGS
    kafka_broker_list = 'kafka1.example:9092,kafka2.example:9092',
    kafka_topic_list = 'flows',
    kafka_group_name = 'tributary',
    kafka_format = 'JSONEachRow',
    kafka_num_consumers = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS tributary.flows_queue_view TO tributary.flows AS
SELECT
    parseDateTimeBestEffort(`iana:flowStartMilliseconds`) AS flow_start,
    toUInt64(flow_start) * 1000 + toUInt64OrZero(substring(`iana:flowStartMilliseconds`, 21, 3)) AS flow_start_ms,
    toUInt64(parseDateTimeBestEffort(`iana:flowEndMilliseconds`)) * 1000
        + toUInt64OrZero(substring(`iana:flowEndMilliseconds`, 21, 3)) AS flow_end_ms,
    if(`iana:sourceIPv4Address` != '', `iana:sourceIPv4Address`, `iana:sourceIPv6Address`) AS source_address,
    if(`iana:destinationIPv4Address` != '', `iana:destinationIPv4Address`, `iana:destinationIPv6Address`)
        AS destination_address,
    `iana:sourceTransportPort` AS source_port,
    `iana:destinationTransportPort` AS destination_port,
    `iana:protocolIdentifier` AS protocol,
    `iana:tcpControlBits` AS tcp_flags,
    `iana:octetDeltaCount` AS octets,
    `iana:packetDeltaCount` AS packets,
    `iana@reverse:octetDeltaCount@reverse` AS reverse_octets,
    `iana@reverse:packetDeltaCount@reverse` AS reverse_packets,
    `iana:flowEndReason` AS flow_end_reason,
    `tributary:probeName` AS probe_name,
    if(`iana:exporterIPv4Address` != '', `iana:exporterIPv4Address`, `iana:exporterIPv6Address`) AS probe_address,
    `iana:observationDomainId` AS observation_domain,
    `tributary:streamId` AS stream_id,
    `tributary:sequenceNumber` AS sequence_number
FROM tributary.flows_queue;
