-- SPDX-License-Identifier: Apache-2.0
-- Streams of which sequence numbers are missing between the first and the last that came, and how many. The ledger of the
-- probe has the ranges of numbers that it lost. What is on its way is counted here until it comes, and so is, in streams of that
-- time, what was dropped with a day (retention).
SELECT
    probe_name, stream_id,
    min(flow_start) AS first_flow,
    max(sequence_number) - min(sequence_number) + 1 AS numbers,
    count() AS records,
    numbers - records AS missing
FROM tributary.flows FINAL
GROUP BY probe_name, stream_id HAVING missing != 0 ORDER BY first_flow;
