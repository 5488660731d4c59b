#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows on their way to another shard wait in files. When that server is killed while it takes them, ClickHouse 18.16 says
# "Attempt to read after eof", takes the file for damaged, and moves it into a folder `broken`. This puts it back, and ClickHouse
# sends it again. What was written more than a day ago stays, tried or not, so that a
# damaged file is not tried for ever.
#
#   resend.sh [FOLDER]    FOLDER: ClickHouse's data, by default /var/lib/clickhouse
exec find "${1:-/var/lib/clickhouse}/data/tributary/flows" -ignore_readdir_race -path '*/broken/*.bin' -mtime -1 -execdir mv -n {} .. \;
