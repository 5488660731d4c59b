-- SPDX-License-Identifier: Apache-2.0
-- Days whose sums by minute count records that came twice, and how many: none is printed where there are none. Such a day wants
-- rebuild.sql. A day whose records were dropped (retention) is not among them: it has nothing to be rebuilt from.
SELECT day, sum(by_minute) AS counted, sum(single) AS records, sum(by_minute) - sum(single) AS doubles
FROM (
    SELECT toYYYYMMDD(minute) AS day, sum(records) AS by_minute, toUInt64(0) AS single
    FROM tributary.flows_by_minute GROUP BY day
    UNION ALL
    SELECT toYYYYMMDD(flow_start) AS day, toUInt64(0) AS by_minute, count() AS single
    FROM tributary.flows FINAL GROUP BY day
)
GROUP BY day HAVING counted > records AND records != 0 ORDER BY day;
