-- SPDX-License-Identifier: Apache-2.0
-- Each minute's ten pairs of addresses with the most octets, into a topic of their own.
CREATE TABLE top_talkers (
    window_start TIMESTAMP(3),
    place BIGINT,
    source STRING,
    destination STRING,
    octets BIGINT,
    packets BIGINT
) WITH (
    'connector' = 'kafka',
    'topic' = 'top-talkers',
    'properties.bootstrap.servers' = 'kafka1.example:9092,kafka2.example:9092',
    'format' = 'json',
    'json.timestamp-format.standard' = 'ISO-8601'
);

INSERT INTO top_talkers
SELECT window_start, place, source, destination, octets, packets
FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end ORDER BY octets DESC, source, destination) AS place
    FROM (
        SELECT window_start, window_end, source, destination, SUM(octets) AS octets, SUM(packets) AS packets
        FROM TABLE(TUMBLE(TABLE flows, DESCRIPTOR(`iana:flowEndMilliseconds`), INTERVAL '1' MINUTE))
        GROUP BY window_start, window_end, source, destination
    )
)
WHERE place <= 10;
