-- SPDX-License-Identifier: Apache-2.0
-- The tables of each server: clickhouse-client -n <tables.sql. Then queue.sql, which begins to read.
-- `flows` and `flows_by_minute` are what queries read: all shards together. Those named local hold this shard's rows.

CREATE DATABASE IF NOT EXISTS tributary;

-- One row per record. A record that came twice, with one stream and one sequence number, is one row once its parts are merged, and
-- at any time for a query with FINAL.
CREATE TABLE IF NOT EXISTS tributary.flows_local (
    flow_start DateTime,
    flow_start_ms UInt64,            -- milliseconds since 1970
    flow_end_ms UInt64,
    source_address String,
    destination_address String,
    source_port UInt16,
    destination_port UInt16,
    protocol String,                 -- TCP, or its number
    tcp_flags String,
    octets UInt64,                   -- of the flow, or of the biflow's direction away from its initiator
    packets UInt64,
    reverse_octets UInt64,           -- of the other direction; 0 where records are of one
    reverse_packets UInt64,
    flow_end_reason UInt8,           -- 1: idle timeout, 2: active timeout, 3: end of the flow, 4: forced, 5: lack of resources
    probe_name String,
    probe_address String,
    observation_domain UInt32,
    stream_id String,                -- one per start of a probe and collector
    sequence_number UInt64           -- counts the records of a stream
) ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMMDD(flow_start)
ORDER BY (flow_start, source_address, destination_address, stream_id, sequence_number);

-- Sums of each minute in which flows started.
CREATE TABLE IF NOT EXISTS tributary.flows_by_minute_local (
    minute DateTime,
    probe_name String,
    observation_domain UInt32,
    source_address String,
    destination_address String,
    protocol String,
    octets UInt64,
    packets UInt64,
    records UInt64
) ENGINE = SummingMergeTree((octets, packets, records))
PARTITION BY toYYYYMMDD(minute)
ORDER BY (minute, probe_name, observation_domain, source_address, destination_address, protocol);

-- Sees rows as they come: a record that comes twice counts twice here, until rebuild.sql has been run for its day.
CREATE MATERIALIZED VIEW IF NOT EXISTS tributary.flows_by_minute_view TO tributary.flows_by_minute_local AS
SELECT
    toStartOfMinute(flow_start) AS minute,
    probe_name, observation_domain, source_address, destination_address, protocol,
    sum(octets + reverse_octets) AS octets,
    sum(packets + reverse_packets) AS packets,
    count() AS records
FROM tributary.flows_local
GROUP BY minute, probe_name, observation_domain, source_address, destination_address, protocol;

-- A record always goes to the same shard, whichever server read it: its doubles meet there.
CREATE TABLE IF NOT EXISTS tributary.flows AS tributary.flows_local
ENGINE = Distributed(tributary, tributary, flows_local, cityHash64(stream_id, sequence_number));

CREATE TABLE IF NOT EXISTS tributary.flows_by_minute AS tributary.flows_by_minute_local
ENGINE = Distributed(tributary, tributary, flows_by_minute_local);
