-- SPDX-License-Identifier: Apache-2.0
-- Streams of which sequence numbers are missing between the first and the last that came, and how many. What a probe told lost has
-- its ranges of numbers in the probe's ledger; what is on its way is counted here until it comes.
SELECT
    probe_name, stream_id,
    min(flow_start) AS first_flow,
    max(sequence_number) - min(sequence_number) + 1 AS numbers,
    count() AS records,
    numbers - records AS missing
FROM tributary.flows FINAL
GROUP BY probe_name, stream_id HAVING missing != 0 ORDER BY first_flow;
