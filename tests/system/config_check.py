#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributaryd --check-config` and `tributary check`: all faults in one run, also against this machine, and what a
good configuration runs."""
import os
import re
import subprocess

import harness
from stream_collector import Authority

MISTAKES = """inputs:
  - {name: a, device: eth0, queues: 0, mtu: 9k}
  - {name: a, device: "af_packet:nosuch0", filter: "tcp prot 80", parse: trimed}
  - {device: "0000:ff:1f.7", sampling: 0, polling: busy}
flows:
  max-flows: many
  idle-timeout: 30 sec
  active-timeout: 5 minutes
  direction: biflow
  direction: uniflow
\ttcp-end: yes
  tunnel-in-key: true
export:
  mode: failower
  timestamps: micro
  fields: [layer2, ttl]
  collectors:
    - {host: 192.0.2.1, transport: tls, tls: {ca: /nowhere/ca.pem, certificate: /nowhere/probe.pem}}
    - {host: 192.0.2.1, port: 99999}
    - {transport: file, path: /nowhere/flows.ipfix, host: x}
    - {host: 192.0.2.2, spool: {directory: /var/spool/x}}
cores: {export: 1, input: [1, 1, 4000]}
telemetry: {listen: localhost}
log: {level: loud, file: /nowhere/tributary.log}
"""
# Line, key, and the text after it; the key of a fault is followed by its value.
TOLD = (
    (2, "inputs.0.device is eth0; must be a PCI address, ", "did you mean af_packet:eth0?"),
    (2, "inputs.0.queues is 0; must be a whole number from 1 to 1024 ", "default 1)"),
    (2, "inputs.0.mtu is 9k; must be auto or a whole number from 68 to 16000 ", "did you mean 9000?"),
    (3, "inputs.1.name is a; must differ from inputs.0.name ", "by it)"),
    (3, "inputs.1.device is af_packet:nosuch0, but this machine has no interface nosuch0 now; ", "lo"),
    (3, "inputs.1.filter is tcp prot 80; must be a filter expression in pcap syntax ", "syntax error)"),
    (3, "inputs.1.parse is trimed; must be full, trimmed or unified-header ", "did you mean trimmed?"),
    (4, "inputs.2.device is 0000:ff:1f.7, but this machine has no PCI device 0000:ff:1f.7 now; ", ""),
    (4, "inputs.2.sampling is 0; must be a whole number from 1 to 4294967295 ", "default 1)"),
    (4, "inputs.2.polling is not a key; ", "did you mean inputs.2.poll?"),
    (6, "flows.max-flows is many; must be a whole number from 1 to 1073741824 ", "default 1048576)"),
    (7, "flows.idle-timeout is 30 sec; must be a whole number of seconds ", "did you mean 30s?"),
    (8, "flows.active-timeout is 5 minutes; must be a whole number of seconds ", "did you mean 5m?"),
    (10, "flows.direction is given twice, first in ", ":9; must be given once (remove one)"),
    (11, "a tab indents this line; must be spaces ", "no tab there)"),
    (14, "export.mode is failower; must be copy, balance or failover ", "did you mean failover?"),
    (15, "export.timestamps is micro; must be milliseconds, microseconds or nanoseconds ", "did you mean microseconds?"),
    (16, "export.fields is [layer2, ttl]; must be a list of none or some of extremes, ", "default [])"),
    (18, "export.collectors.0.tls.key is missing; must be the file of tls.certificate's private key", ""),
    (18, "export.collectors.0.tls.ca is /nowhere/ca.pem; must be a file that can be read ", "(No such file or directory)"),
    (18, "export.collectors.0.tls.certificate is /nowhere/probe.pem; must be a file that can be read ",
     "(No such file or directory)"),
    (19, "export.collectors.1.port is 99999; must be auto or a whole number from 1 to 65535 ", "default auto)"),
    (20, "export.collectors.2.host is given, but transport is file; must be left out ", ""),
    (20, "export.collectors.2.path is /nowhere/flows.ipfix; must be in a folder that is there ", "(No such file or directory)"),
    (21, "export.collectors.3.spool.directory is given, but transport is none of tcp, tls and kafka; must be left out", ""),
    (22, "cores has 4000, which this machine does not have online ", ""),
    (23, "telemetry.listen is localhost; must be IPv4 ADDRESS:PORT ", "default \"127.0.0.1:9477\")"),
    (24, "log.level is loud; must be trace, debug, info, warn or error ", "default info)"),
    (24, "log.file is /nowhere/tributary.log; must be in a folder that is there ", "(No such file or directory)"),
)
PROBE = """inputs: [{name: up, device: "af_packet:lo"}]
flows: {max-flows: 64k}
telemetry: {listen: ""}
"""


class CheckCase(harness.TestCase):
    def check_both(self, path, expect=harness.EX_OK, user=None):
        """@return  standard output and the log without times, the same from both programs"""
        answers = []
        for command in ([harness.TRIBUTARYD, "--check-config", "--config", path], [harness.TRIBUTARY, "check", path]):
            result = subprocess.run(command, capture_output=True, text=True, timeout=60, user=user,
                                    extra_groups=[] if user else None)
            self.assertEqual(result.returncode, expect, result.stderr)
            answers.append((result.stdout, [line.split(" ", 1)[1] for line in result.stderr.splitlines()]))
        self.assertEqual(answers[0], answers[1])
        return answers[0]

    def told(self, text, expect=harness.EX_CONFIG):
        return self.check_both(self.path("probe.yaml", text), expect)[1]


class Mistakes(CheckCase):
    def test_all_are_told_in_one_run_with_place_value_limits_and_meaning(self):
        lines = self.told(MISTAKES)
        path = self.path("probe.yaml")
        for number, begin, end in TOLD:
            place = "%s:%d: %s" % (path, number, begin)
            found = [line for line in lines if line.split(": ", 1)[1].startswith(place)]
            self.assertEqual(len(found), 1, (begin, lines))
            self.assertTrue(found[0].endswith(end), found[0])
        self.assertEqual(len(lines), len(TOLD), lines)

    def test_more_memory_than_the_machine_has(self):
        with open("/proc/meminfo") as meminfo:
            mebibytes = int(re.search(r"MemTotal: +(\d+)", meminfo.read()).group(1)) // 1024
        collectors = "export: {collectors: [{host: 127.0.0.1}]}\n"
        lines = self.told(PROBE.replace("64k", "1G").replace("af_packet:lo\"", "net_null0\", queues: 64") + collectors)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"probe\.yaml:2: flows\.max-flows is 1000000000; must be smaller, or the inputs must have "
                                   r"fewer queues \(64 queues take \d{7,} MiB with their packet buffers, this machine has %d "
                                   r"MiB\)$" % mebibytes)

    def test_more_queues_than_cores_are_warned_of(self):
        for queues, warnings in ((1, 0 if os.cpu_count() > 1 else 1), (os.cpu_count() + 1, 1)):
            lines = self.told(PROBE.replace("64k", "1k").replace("af_packet:lo\"", "net_null0\", queues: %d" % queues) +
                              "export: {collectors: [{host: 127.0.0.1}]}\n", harness.EX_OK)
            self.assertEqual(len([line for line in lines if "more busy threads than cores: core " in line]), warnings, lines)
            self.assertEqual(len([line for line in lines if "no core is left for helper threads: " in line]), warnings, lines)

    def test_a_core_of_two_threads(self):
        self.assertTrue(self.told(PROBE + "cores: {export: 0, input: [0]}\nexport: {collectors: [{host: 127.0.0.1}]}\n")[0].endswith(
            "probe.yaml:4: cores.export is 0, which cores.input has too; must be another core (or auto)"))

    def test_one_file_by_two_paths(self):
        """Also through a link, and before the file is there."""
        os.mkdir(self.path("folder"))
        os.symlink("folder", self.path("link"))
        for first, second in (("folder/a", "link/a"), ("folder/a", "folder/../link/./a"), ("b", "link/../b")):
            text = PROBE + "export:\n  collectors:\n" + "".join(
                "  - {transport: file, path: %s/%s}\n" % (self.directory, path) for path in (first, second))
            lines = self.told(text)
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], r"probe\.yaml:7: export\.collectors\.1 is at \S+; must differ from export\.collectors\.0 "
                                       r"\(it would get its records twice\)$")
        spools = "".join("  - {transport: tcp, host: 192.0.2.%d, spool: {directory: %s/%s}}\n" % (number, self.directory, path)
                         for number, path in ((1, "folder"), (2, "link/")))
        self.assertIn("export.collectors.1.spool.directory is that of export.collectors.0 too",
                      self.told(PROBE + "export:\n  collectors:\n" + spools)[0])

    def test_two_outputs_in_one_file(self):
        collector = "export: {collectors: [{transport: file, path: %s/./a}]}\n" % self.directory
        spool = "export: {collectors: [{host: 127.0.0.1, transport: tcp, spool: {directory: %s/s}}]}\n" % self.directory
        os.mkdir(self.path("s"))
        for more, words in (("log: {file: @/a}\n" + collector, r"log\.file and .* are one file"),
                            ("log: {file: @/probe.yaml}\n" + collector, r"log\.file and the configuration are one file"),
                            ("log: {file: @/c}\ncontrol: {socket: @/c}\n" + collector,
                             r"log\.file and control\.socket are one file"),
                            ("log: {file: @/s/log}\n" + spool, r"log\.file, .*/s/log, is in the directory of .*spool"),
                            ("log: {file: @}\n" + collector, r"log\.file is \S+; must be a file \(Is a directory\)")):
            with self.subTest(words):
                lines = self.told(PROBE + more.replace("@", self.directory))
                self.assertEqual(len(lines), 1, lines)
                self.assertRegex(lines[0], r"probe\.yaml:4: " + words)

    def test_files_where_this_user_must_not_look_are_not_one(self):
        """The folders of a service belong to its own user."""
        if os.getuid() != 0:
            self.skipTest("needs root")
        for folder in ("one", "two"):
            os.mkdir(self.path(folder), 0o700)
        path = self.path("probe.yaml", PROBE + "log: {file: %s/one/a}\nexport: {collectors: [{transport: file, path: %s/two/a}]}\n" % (
            self.directory, self.directory))
        os.chmod(self.directory, 0o755)
        os.chmod(path, 0o644)
        self.check_both(path, user=65534)

    def test_a_socket_whose_path_is_too_long(self):
        text = PROBE + "export: {collectors: [{host: 127.0.0.1}]}\ncontrol: {socket: /tmp/%s}\n"
        self.told(text % ("x" * 102), harness.EX_OK)
        self.assertRegex(self.told(text % ("x" * 103))[0], r"probe\.yaml:5: control\.socket is /tmp/x+.*; must be auto, the "
                                                           r"path of a unix socket, of at most 107 octets, ")


class Characters(CheckCase):
    def test_no_text_of_the_configuration_controls_the_terminal(self):
        """In faults, warnings and the summary: C1 controls, the direction of writing, what takes no room."""
        for hidden in ("\\u009b2J", "\\u202e", "\\u2066", "\\ufeff"):
            collector = 'export: {collectors: [{transport: file, path: "%s/a%sb"}]}\n' % (self.directory, hidden)
            for text, expect in ((PROBE + collector + 'log: {level: "a%sb"}\n' % hidden, harness.EX_CONFIG),
                                 (PROBE.replace("name: up", 'name: "a%sb", sampling-method: random' % hidden) + collector, None)):
                with self.subTest(hidden):
                    out, lines = self.check_both(self.path("probe.yaml", text), *([expect] if expect else []))
                    self.assertEqual(len(lines), 1, lines)
                    for line in out.splitlines() + lines:
                        self.assertTrue(line.isprintable(), ascii(line))
        result = subprocess.run([harness.TRIBUTARYD, "--config", b"/nowhere/\xff\xe2\x80\xae"], capture_output=True)
        self.assertTrue(result.stderr.rstrip(b"\n").decode().isprintable(), result.stderr)
        self.assertIn(b"/nowhere/??", result.stderr)


class KafkaProperties(CheckCase):
    def test_what_librdkafka_refuses(self):
        collector = "export: {collectors: [{transport: kafka, format: json, brokers: '127.0.0.1:1', topic: flows, %s}]}\n"
        secret = self.path("password", "not-to-be-seen\n")
        self.check_both(self.path("probe.yaml", PROBE + collector % ("secrets: {sasl.password: %s}" % secret)))
        for wrong, words in (("properties: {no.such.property: 1}", 'property no.such.property: No such configuration property'),
                             ("properties: {linger.ms: soon}", "property linger.ms: "),
                             ("properties: {acks: 1}", "`acks` must be set to `all` when `enable.idempotence` is true"),
                             ("properties: {retries: 0}", "`retries` must be set >= 1 when `enable.idempotence` is true"),
                             ("properties: {security.protocol: SASL_SSL}", "Invalid sasl.kerberos.kinit.cmd value: "),
                             ("secrets: {sasl.password: /nowhere/password}",
                              "secrets.sasl.password: cannot read /nowhere/password"),
                             *(("secrets: {sasl.password: %s}" % self.path(name, content), "secrets.sasl.password: %s %s" % (
                                 self.path(name), fault)) for name, content, fault in (
                                     ("empty", "\n", "is empty"),
                                     ("indented", " secret\n", "begins with a blank, which librdkafka would leave out"),
                                     ("cut", "sec\0ret\n", "has an octet of 0, where librdkafka would end")))):
            with self.subTest(wrong):
                _, lines = self.check_both(self.path("probe.yaml", PROBE + collector % wrong), harness.EX_CONFIG)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("probe.yaml:4: export.collectors.0: kafka: " + words, lines[0])


    def test_bare_messages_are_flow_messages_of_a_topic(self):
        topic = "transport: kafka, brokers: '127.0.0.1:1', topic: flows, delimited: false, format: "
        for collector, words in ((topic + "flowmessage", None),
                                 (topic + "json", "format is json; must be left out (or format flowmessage)"),
                                 (topic + "ipfix", "format is ipfix; must be left out (or format flowmessage)"),
                                 ("transport: file, path: f, format: flowmessage, delimited: false",
                                  "transport is not kafka; must be left out")):
            with self.subTest(collector):
                path = self.path("probe.yaml", PROBE + "export: {collectors: [{%s}]}\n" % collector)
                _, lines = self.check_both(path, *([harness.EX_CONFIG] if words else []))
                if words:
                    self.assertEqual(len(lines), 1, lines)
                    self.assertIn("collectors.0.delimited is given, but " + words, lines[0])


class Topics(CheckCase):
    def topic(self, keys):
        return self.path("probe.yaml", PROBE + "export: {collectors: [{transport: kafka, brokers: '127.0.0.1:1', topic: flows, "
                                               "%s}]}\n" % keys)

    def test_key_of_an_element(self):
        self.check_both(self.topic("format: json, key: sourceIPAddress"))
        for wrong, begin, end in (
                ("format: json, key: sourceAddress", "sourceAddress; must be flow, none or the name of an element (",
                 "did you mean sourceIPAddress?"),
                ("format: json, key: tunnelId", "tunnelId, but no record has this element; must be ", ""),
                ("key: vlanId", "vlanId, but format is ipfix; must be flow or none ", "")):
            with self.subTest(wrong):
                _, lines = self.check_both(self.topic(wrong), harness.EX_CONFIG)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("probe.yaml:4: export.collectors.0.key is " + begin, lines[0])
                self.assertTrue(lines[0].endswith(end), lines[0])

    def test_the_summary_has_format_and_key(self):
        for keys, words in (("", "format ipfix, key flow"), ("format: json, key: none", "format json, key none"),
                            ("format: flowmessage, key: destinationIPAddress", "format flowmessage, key destinationIPAddress")):
            out, lines = self.check_both(self.topic(keys))
            self.assertEqual(lines, [])
            self.assertIn("\n             kafka 127.0.0.1:1 topic flows, %s\n" % words, out)

    def test_messages_that_may_come_twice(self):
        _, lines = self.check_both(self.topic("format: json, properties: {enable.idempotence: false}"))
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("warning: export.collectors.0.properties has enable.idempotence false: messages may be in the topic twice",
                      lines[0])


class Tables(CheckCase):
    TABLES = """fields: [{name: dnsId, from: l4, offset: 8, as: unsigned16, when: udp port 53}]
tables:
  - {name: subnets, filter: "not net 10.0.0.0/8", key: [sourceAddress/24/56, ipDiffServCodePoint], values: [max(ipTTL)]}
  - {name: dns, key: [sourceAddress, destinationAddress, dnsId], direction: biflow, max-flows: 2k, idle-timeout: 5}
"""

    def test_the_summary_has_tables_fields_and_who_gets_which(self):
        out, lines = self.check_both(self.path("probe.yaml", PROBE + self.TABLES + """export:
  collectors:
    - {host: 192.0.2.1}
    - {host: 192.0.2.2, tables: [main, subnets, dns]}
"""))
        self.assertEqual(lines, [])
        for words in (r"field      dnsId is 2 octets from l4 \+ 8, unsigned16, when udp port 53 \((compiled|interpreted).*\)",
                      r"table      subnets: 2 key fields, 1 value, at most 100000 flows in each queue, uniflows, idle timeout 30 s, "
                      r"active timeout 300 s, filter not net 10\.0\.0\.0/8 \((compiled|interpreted).*\)",
                      r"table      dns: 3 key fields, 0 values, at most 2000 flows in each queue, biflows, idle timeout 5 s, "
                      r"active timeout 300 s",
                      r"export     all records to each of 2 collectors, of the tables that it names",
                      r"           udp 192\.0\.2\.1:4739, format ipfix",
                      r"           udp 192\.0\.2\.2:4739, format ipfix, tables main, subnets and dns"):
            self.assertRegex(out, r"(?m)^  %s$" % words)

    def test_mistakes_are_told_at_their_keys(self):
        lines = self.told(PROBE + self.TABLES.replace("ipDiffServCodePoint", "dscp").replace("udp port 53", "udp prot 53").replace(
            "not net", "not nett") + "export: {collectors: [{host: 192.0.2.1, tables: [main, dnss]}]}\n")
        expected = ("4: fields.0.when is udp prot 53; must be a filter expression in pcap syntax ",
                    "6: tables.0.filter is not nett 10.0.0.0/8; must be a filter expression in pcap syntax ",
                    "6: tables.0.key: 'dscp': there is no such field",
                    "8: export.collectors.0.tables has dnss, but there is no such table; must be names of tables (main, subnets "
                    "and dns); did you mean dns?")
        self.assertEqual(len(lines), len(expected), lines)
        for words in expected:
            self.assertEqual(len([line for line in lines if "probe.yaml:" + words in line]), 1, (words, lines))


class ProbeName(CheckCase):
    def test_text_of_255_octets(self):
        collector = "export: {probe: {name: %s}, collectors: [{transport: tcp, host: 127.0.0.1, port: 5170, format: flowmessage}]}\n"
        self.check_both(self.path("probe.yaml", PROBE + collector % ("n" * 255)))
        for wrong, words in (("n" * 256, "export.probe.name is nnn"), ('"a\\tb"', "export.probe.name is a"),
                             ('"\\ud800"', "this is not YAML: invalid unicode")):
            with self.subTest(wrong):
                _, lines = self.check_both(self.path("probe.yaml", PROBE + collector % wrong), harness.EX_CONFIG)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("probe.yaml:4: " + words, lines[0])


class TlsFiles(CheckCase):
    def collectors(self, **files):
        return self.path("probe.yaml", PROBE + "export: {collectors: [{host: 127.0.0.1, transport: tls, tls: {%s}}]}\n" % (
            ", ".join("%s: %s" % item for item in files.items())))

    def test_files_that_are_not_what_they_should_be(self):
        authority = Authority(self.path("ca"))
        certificate, key = authority.issue("probe")
        _, other_key = authority.issue("other")
        text = self.path("text", "no certificate\n")
        good = {"ca": authority.certificate, "certificate": certificate, "key": key}
        self.check_both(self.collectors(**good))
        for wrong, words in (({"ca": text}, "tls: certificate authorities " + text),
                             ({"certificate": text}, "tls: certificate " + text),
                             ({"key": other_key}, "tls: key %s: key values mismatch" % other_key),
                             ({"ca": self.directory}, "tls: certificate authorities " + self.directory),
                             ({"key": "/nowhere/key.pem"}, "tls.key is /nowhere/key.pem; must be a file that can be read "
                                                           "(No such file or directory)")):
            with self.subTest(words):
                _, lines = self.check_both(self.collectors(**{**good, **wrong}), harness.EX_CONFIG)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("probe.yaml:4: export.collectors.0." + words, lines[0])

    def test_a_certificate_that_is_not_valid_today_is_a_warning(self):
        authority = Authority(self.path("ca"))
        for words, start, end in (("has expired at 2020-01-02 03:04:05 UTC", "20200101000000Z", "20200102030405Z"),
                                  ("is not valid before 2089-01-01 00:00:00 UTC", "20890101000000Z", "20890102000000Z")):
            certificate, key = authority.issue("probe", start=start, end=end)
            bundle = self.path("bundle.pem", "".join(
                open(path).read() for path in (authority.certificate, certificate)))
            path = self.collectors(ca=bundle, certificate=certificate, key=key)
            printed, lines = self.check_both(path)
            self.assertIn("is good", printed)
            self.assertEqual(len(lines), 2, lines)
            for line, name in zip(lines, ("ca", "certificate")):
                self.assertRegex(line, r"warning: .*probe\.yaml:4: export\.collectors\.0\.tls\.%s is \S+, but its certificate "
                                       r"CN=probe %s" % (name, words))

    def test_a_file_of_another_user_is_a_warning(self):
        """The probe may run as a user with the permission to read it."""
        if os.getuid() != 0:
            self.skipTest("needs root")
        authority = Authority(self.path("ca"))
        os.chmod(authority.certificate, 0o600)
        os.chmod(self.directory, 0o755)
        os.chmod(authority.directory, 0o755)
        path = self.collectors(ca=authority.certificate)
        os.chmod(path, 0o644)
        printed, lines = self.check_both(path, user=65534)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"warning: .*probe\.yaml:4: export\.collectors\.0\.tls\.ca is \S+, but this user must not "
                                   r"read it")
        self.assertIn("is good", printed)


class Spools(CheckCase):
    """Directories that a start cannot use; none is made, and no file in them changes."""

    def failover(self, directory, fields=""):
        return self.path("probe.yaml", PROBE + "export: {mode: failover, fields: [%s], spool: {directory: %s},\n  collectors: "
                         "[{host: 127.0.0.1, transport: tcp}, {host: 127.0.0.2, transport: tcp}]}\n" % (fields, directory))

    def of_its_own(self, directory):
        return self.path("probe.yaml", PROBE + "export: {collectors: [{host: 127.0.0.1, transport: tcp, "
                         "spool: {directory: %s}}]}\n" % directory)

    def test_directories_that_cannot_be_a_spool(self):
        file, dangling = self.path("file", ""), self.path("dangling")
        os.symlink("/nowhere/else", dangling)
        for directory, reason in ((file, "Not a directory"), (file + "/spool", "Not a directory"),
                                  ("/proc/spool", "Operation not supported"), ("/sys/spool/a", "Operation not supported"),
                                  (dangling + "/spool", "No such file or directory")):
            for configuration, key in ((self.failover, "export.spool"), (self.of_its_own, "export.collectors.0.spool")):
                with self.subTest(directory=directory, key=key):
                    _, lines = self.check_both(configuration(directory), harness.EX_CONFIG)
                    self.assertEqual(len(lines), 1, lines)
                    self.assertIn("probe.yaml:4: %s.directory is %s; must be a directory in which files can be made (%s)"
                                  % (key, directory, reason), lines[0])

    def test_a_spool_of_all_collectors_is_shown(self):
        spool = self.path("a/b/spool/")
        printed, lines = self.check_both(self.failover(spool))
        self.assertEqual([line for line in lines if "spool" in line], [])
        self.assertIn("\n             spool %s of at most 1024 MiB for what none of them can take\n" % spool, printed)
        self.assertFalse(os.path.exists(self.path("a")))

    def test_a_directory_of_another_user_is_a_warning(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.directory, 0o755)
        path = self.failover(self.path("spool"))
        os.chmod(path, 0o644)
        _, lines = self.check_both(path, user=65534)
        self.assertEqual(len([line for line in lines if re.search(
            r"warning: .*probe\.yaml:4: export\.spool\.directory is \S+, but this user must not write there", line)]), 1, lines)


class Good(CheckCase):
    def test_it_says_what_it_would_run(self):
        spool = self.path("spool")
        path = self.path("probe.yaml", """inputs:
  - {name: up, device: "af_packet:lo", filter: tcp, sampling: 10}
  - {device: net_null0, queues: 2, parse: trimmed, trim-length: 96}
flows: {max-flows: 4096, direction: biflow, tcp-end: true, tcp-analysis: true, tunnel: inner, idle-timeout: 5m}
control: {socket: ""}
log: {file: %s/tributary.log}
export:
  collectors:
    - {host: collector.example.net, transport: tcp, direction: uniflow, spool: {directory: %s, max-size: 2GiB}}
    - {transport: file, path: %s/flows.ipfix, rotation: {interval: 300, size: 64M, command: 'zstd -q --rm "$1"'}}
""" % (self.directory, spool, self.directory))
        printed, lines = self.check_both(path)
        self.assertEqual([line for line in lines if not re.search("sampled|more busy threads|no core is left for helper threads", line)], [])
        printed = re.sub(r"memory     [1-9]\d* MiB", "memory     N MiB", printed)
        self.assertEqual(printed, """%s is good, and runs:
  input      up is af_packet:lo, 1 queue, frames are parsed, filter tcp (compiled to machine code), 1 of 10 packets is taken
  input      net_null0, 2 queues, the first 96 octets of a frame are parsed
  flows      at most 4096 in each queue, biflows, idle timeout 300 s, active timeout 300 s, TCP connections end their \
records, TCP analysis, inside tunnels
  memory     N MiB for caches and packet buffers
  export     all records to each of 2 collectors
             tcp collector.example.net:4739, format ipfix, biflows are split into uniflows, spool %s of at most 2048 MiB
             file %s/flows.ipfix, format ipfix, a new file each 300 s, a new file after 64000000 octets, each finished file is given to zstd -q --rm "$1"
  telemetry  127.0.0.1:9477
  control    there is no socket
  log        %s/tributary.log
""" % (path, spool, self.directory, self.directory))
        self.assertFalse(os.path.exists(spool))     # nothing was made

    def test_what_captures_are_read_with(self):
        result = self.tributaryd("--check-config", "--read", "x", "--set", "read.queues=4", "--set", "flows.max-flows=1G")
        self.assertEqual(result.stdout, "the configuration is good, and runs:\n"
                                        "  packets    from captures, 4 queues, frames are parsed\n"
                                        "  flows      at most 1000000000 in each queue, uniflows, idle timeout 30 s, active "
                                        "timeout 300 s\n")


if __name__ == "__main__":
    harness.main()
