-- SPDX-License-Identifier: Apache-2.0
-- What the topic holds from its first record to its last, each record once, whatever its time: to compare with the probes' ledgers.
SET 'execution.runtime-mode' = 'batch';

SELECT COUNT(*) AS records, SUM(octets) AS octets, SUM(packets) AS packets
FROM (
    SELECT `tributary:streamId`, `tributary:sequenceNumber`, MAX(octets) AS octets, MAX(packets) AS packets
    FROM flows /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */
    GROUP BY `tributary:streamId`, `tributary:sequenceNumber`
);
