-- SPDX-License-Identifier: Apache-2.0
-- Makes the sums by minute of one day anew, from its records, each once. On each server, for a day of which nothing comes any
-- more, and whose records are still in flows_local (otherwise the day's sums are gone): sed s/DAY/20260131/ rebuild.sql | clickhouse-client -n
ALTER TABLE tributary.flows_by_minute_local DROP PARTITION DAY;
INSERT INTO tributary.flows_by_minute_local
SELECT
    toStartOfMinute(flow_start) AS minute,
    probe_name, observation_domain, source_address, destination_address, protocol,
    sum(octets + reverse_octets) AS octets,
    sum(packets + reverse_packets) AS packets,
    count() AS records
FROM tributary.flows_local FINAL
WHERE toYYYYMMDD(flow_start) = DAY
GROUP BY minute, probe_name, observation_domain, source_address, destination_address, protocol;
