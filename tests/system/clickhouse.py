# SPDX-License-Identifier: Apache-2.0
"""ClickHouse servers for tests: processes on the loopback address, each with its data in a folder of its own."""
import os
import socket
import subprocess

import foreign_server
import harness

# `yandex` is the root that all versions know. The caches are small: several servers share the machine with a broker.
CONFIG = """<yandex>
  <logger><level>information</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host>
  <tcp_port>{port}</tcp_port>
  <http_port>{http_port}</http_port>
  <path>{directory}/data/</path>
  <tmp_path>{directory}/tmp/</tmp_path>
  <user_files_path>{directory}/files/</user_files_path>
  <format_schema_path>{directory}/schemas/</format_schema_path>
  <mark_cache_size>67108864</mark_cache_size>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <max_concurrent_queries>50</max_concurrent_queries>
  <timezone>UTC</timezone>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
</yandex>
"""
USERS = """<yandex>
  <profiles><default><stream_flush_interval_ms>500</stream_flush_interval_ms></default></profiles>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota></default></users>
  <quotas><default></default></quotas>
</yandex>
"""


def need_clickhouse():
    """Skips the test where there is no ClickHouse."""
    harness.need("clickhouse-server", "clickhouse-client")


class Server(foreign_server.ForeignServer):
    """One server. What write_config() writes into its config.d and users.d is read when it starts."""

    def __init__(self):
        need_clickhouse()
        super().__init__("clickhouse")
        self.port = harness.free_port(socket.SOCK_STREAM)
        http_port = self.port
        while http_port == self.port:
            http_port = harness.free_port(socket.SOCK_STREAM)
        for folder in ("data", "tmp", "files", "schemas", "config.d", "users.d"):
            os.mkdir(self.path(folder))
        self.write_config("config.xml", CONFIG.format(port=self.port, http_port=http_port, directory=self.directory))
        self.write_config("users.xml", USERS)

    def write_config(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)

    def command(self):
        return ["clickhouse-server", "--config-file=" + self.path("config.xml")]

    def client(self, text):
        return subprocess.run(["clickhouse-client", "--port", str(self.port), "-n"], input=text, capture_output=True,
                              text=True, timeout=120)

    def answers(self):
        return self.client("SELECT 1").stdout == "1\n"

    def query(self, text):
        """The rows that these statements print, each a list of words."""
        done = self.client(text)
        if done.returncode != 0:
            raise AssertionError("%s\nin the query\n%s" % (done.stderr, text))
        return [line.split("\t") for line in done.stdout.splitlines()]
