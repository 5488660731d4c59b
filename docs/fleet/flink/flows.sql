-- SPDX-License-Identifier: Apache-2.0
-- The topic as a table; the other files of this folder go behind it: sql-client.sh -i flows.sql -f top_talkers.sql
SET 'table.local-time-zone' = 'UTC';
-- A partition without flows does not hold up the windows.
SET 'table.exec.source.idle-timeout' = '10 s';

CREATE TABLE flows (
    `iana:sourceIPv4Address` STRING,
    `iana:sourceIPv6Address` STRING,
    `iana:destinationIPv4Address` STRING,
    `iana:destinationIPv6Address` STRING,
    `iana:octetDeltaCount` BIGINT,
    `iana:packetDeltaCount` BIGINT,
    `iana@reverse:octetDeltaCount@reverse` BIGINT,
    `iana@reverse:packetDeltaCount@reverse` BIGINT,
    `iana:flowEndMilliseconds` TIMESTAMP_LTZ(3),
    `tributary:probeName` STRING,
    `tributary:streamId` STRING,
    `tributary:sequenceNumber` BIGINT,
    source AS COALESCE(`iana:sourceIPv4Address`, `iana:sourceIPv6Address`),
    destination AS COALESCE(`iana:destinationIPv4Address`, `iana:destinationIPv6Address`),
    octets AS COALESCE(`iana:octetDeltaCount`, 0) + COALESCE(`iana@reverse:octetDeltaCount@reverse`, 0),
    packets AS COALESCE(`iana:packetDeltaCount`, 0) + COALESCE(`iana@reverse:packetDeltaCount@reverse`, 0),
    -- A record leaves the probe up to flows.idle-timeout after the flow's last packet (30 s by default). What comes later than
    -- this is in no window: totals.sql has it.
    WATERMARK FOR `iana:flowEndMilliseconds` AS `iana:flowEndMilliseconds` - INTERVAL '60' SECOND
) WITH (
    'connector' = 'kafka',
    'topic' = 'flows',
    'properties.bootstrap.servers' = 'kafka1.example:9092,kafka2.example:9092',
    'properties.group.id' = 'tributary-flink',
    'scan.startup.mode' = 'earliest-offset',
    'format' = 'json',
    'json.timestamp-format.standard' = 'ISO-8601'
);
