# SPDX-License-Identifier: Apache-2.0
"""A Kafka broker from its published jars, for tests: one process, which is controller too, on the loopback address.

Topics are made and deleted through librdkafka, which kcat brings: the jars have no tools. What the topics hold is read by
kcat."""
import ctypes
import fcntl
import os
import re
import shutil
import socket
import subprocess
import unittest

import foreign_server
import harness
import maven_jars
from stream_collector import Authority

JARS = maven_jars.Jars("kafka", ["org.apache.kafka:kafka_2.13:4.1.2", "org.slf4j:slf4j-simple:1.7.36"])
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
# Sessions of one second: a broker that was killed is let in again after two seconds instead of twelve.
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAIN://127.0.0.1:{plain},CLIENT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAIN://127.0.0.1:{plain},CLIENT://127.0.0.1:{client}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,CLIENT:{protocol}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAIN
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
num.network.threads=1
num.io.threads=2
auto.create.topics.enable=false
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=250
"""


def why_there_is_no_broker():
    """None, with Kafka's jars in the build folder, or one line on what is missing."""
    if shutil.which("kcat") is None:
        return "no Kafka broker, not installed: kcat"
    return JARS.why_missing()


def need_broker():
    """Skips the test where no broker can be had."""
    reason = why_there_is_no_broker()
    if reason is not None:
        raise unittest.SkipTest(reason)


class GroupInfo(ctypes.Structure):
    """struct rd_kafka_group_info"""
    _fields_ = [("broker_id", ctypes.c_int32), ("broker_host", ctypes.c_char_p), ("broker_port", ctypes.c_int),
                ("group", ctypes.c_char_p), ("error", ctypes.c_int), ("state", ctypes.c_char_p),
                ("protocol_type", ctypes.c_char_p), ("protocol", ctypes.c_char_p), ("members", ctypes.c_void_p),
                ("member_count", ctypes.c_int)]


class GroupList(ctypes.Structure):
    """struct rd_kafka_group_list"""
    _fields_ = [("groups", ctypes.POINTER(GroupInfo)), ("count", ctypes.c_int)]


class Client:
    """librdkafka, as far as it takes to ask for metadata and consumer groups, to make topics and to delete them."""

    PRODUCER, TEXT = 0, 512
    POINTERS = ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_queue_new", "rd_kafka_queue_poll", "rd_kafka_NewTopic_new",
                "rd_kafka_event_CreateTopics_result", "rd_kafka_CreateTopics_result_topics", "rd_kafka_DeleteTopic_new",
                "rd_kafka_event_DeleteTopics_result", "rd_kafka_DeleteTopics_result_topics")

    def __init__(self, address):
        self.librdkafka = ctypes.CDLL("librdkafka.so.1")
        for name in self.POINTERS:
            getattr(self.librdkafka, name).restype = ctypes.c_void_p
        for name in ("rd_kafka_topic_result_error_string", "rd_kafka_event_error_string"):
            getattr(self.librdkafka, name).restype = ctypes.c_char_p
        self.fault = ctypes.create_string_buffer(self.TEXT)
        configuration = ctypes.c_void_p(self.librdkafka.rd_kafka_conf_new())
        for name, value in (("bootstrap.servers", address), ("log_level", "0")):
            self.librdkafka.rd_kafka_conf_set(configuration, name.encode(), value.encode(), self.fault, self.TEXT)
        self.handle = ctypes.c_void_p(
            self.librdkafka.rd_kafka_new(self.PRODUCER, configuration, self.fault, self.TEXT))
        if not self.handle:
            raise AssertionError("librdkafka: " + self.fault.value.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.librdkafka.rd_kafka_destroy(self.handle)

    def metadata_come(self, seconds):
        metadata = ctypes.c_void_p()
        code = self.librdkafka.rd_kafka_metadata(self.handle, 1, None, ctypes.byref(metadata), int(seconds * 1000))
        if code == 0:
            self.librdkafka.rd_kafka_metadata_destroy(metadata)
        return code == 0

    def group_is_settled(self, name, members):
        """Whether a consumer group has so many members, and each knows its partitions."""
        found = ctypes.POINTER(GroupList)()
        if self.librdkafka.rd_kafka_list_groups(self.handle, name.encode(), ctypes.byref(found), 5000) != 0:
            return False
        groups = [(group.error, group.state, group.member_count) for group in found.contents.groups[:found.contents.count]]
        self.librdkafka.rd_kafka_group_list_destroy(found)
        return groups == [(0, b"Stable", members)]

    def create_topic(self, name, partitions, copies, settings):
        library = self.librdkafka
        topic = ctypes.c_void_p(library.rd_kafka_NewTopic_new(name.encode(), partitions, copies, self.fault, self.TEXT))
        for key, value in settings.items():
            library.rd_kafka_NewTopic_set_config(topic, key.encode(), str(value).encode())
        fault = self.administer("CreateTopics", topic)
        library.rd_kafka_NewTopic_destroy(topic)
        if fault:
            raise AssertionError("the topic %s cannot be made: %s" % (name, fault))

    def delete_topic(self, name):
        topic = ctypes.c_void_p(self.librdkafka.rd_kafka_DeleteTopic_new(name.encode()))
        fault = self.administer("DeleteTopics", topic)
        self.librdkafka.rd_kafka_DeleteTopic_destroy(topic)
        if fault:
            raise AssertionError("the topic %s cannot be deleted: %s" % (name, fault))

    def administer(self, operation, topic):
        """CreateTopics or DeleteTopics, of one topic. @return  None, or why it was not done"""
        library = self.librdkafka
        queue = ctypes.c_void_p(library.rd_kafka_queue_new(self.handle))
        getattr(library, "rd_kafka_" + operation)(self.handle, (ctypes.c_void_p * 1)(topic), ctypes.c_size_t(1), None, queue)
        event = ctypes.c_void_p(library.rd_kafka_queue_poll(queue, 30_000))
        fault = self.fault_of(operation, event)
        library.rd_kafka_event_destroy(event)
        library.rd_kafka_queue_destroy(queue)
        return fault

    def fault_of(self, operation, event):
        library = self.librdkafka
        if not event:
            return "no answer"
        if library.rd_kafka_event_error(event) != 0:
            return library.rd_kafka_event_error_string(event).decode()
        count = ctypes.c_size_t()
        result = ctypes.c_void_p(getattr(library, "rd_kafka_event_%s_result" % operation)(event))
        topics = ctypes.cast(getattr(library, "rd_kafka_%s_result_topics" % operation)(result, ctypes.byref(count)),
                             ctypes.POINTER(ctypes.c_void_p))
        done = ctypes.c_void_p(topics[0])
        if library.rd_kafka_topic_result_error(done) == 0:
            return None
        return (library.rd_kafka_topic_result_error_string(done) or b"an error without words").decode()


def split_messages(octets):
    """Partition -> [(offset, key or None, value or None)], of what kcat prints for FORMAT."""
    messages, position = {}, 0
    while position < len(octets):
        line_end = octets.index(b"\n", position)
        partition, offset, key_octets, value_octets = map(int, octets[position:line_end].split())
        parts, position = [], line_end + 1
        for length in (key_octets, value_octets):
            parts.append(None if length < 0 else octets[position:position + length])
            position += max(length, 0)
        messages.setdefault(partition, []).append((offset, *parts))
        position += 1  # the line's end
    return messages


def java(folder, *arguments):
    """Its temporary files, of which a killed one leaves some, go into the folder."""
    return ["java", "-Xmx384m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            "-Djava.io.tmpdir=" + folder, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", JARS.class_path, *arguments]


class Archive:
    """Kafka's classes as Java has loaded them, beside the jars: with them a broker starts in half of the time. The first test
    that finds none makes it, by a broker that ends in order."""

    def __init__(self):
        self.path = os.path.join(JARS.folder, "classes.jsa")

    def make(self):
        with open(os.path.join(JARS.folder, "lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(self.path):
                return
            made = self.path + ".new"
            with Broker(archives_to=made) as broker:
                broker.stop()
            if not os.path.exists(made):  # another make of Java
                open(made, "w").close()
            os.rename(made, self.path)

    def options(self):
        if not os.path.exists(self.path):
            self.make()
        return ["-XX:SharedArchiveFile=" + self.path] if os.path.getsize(self.path) > 0 else []


class BrokerProcess(foreign_server.ForeignServer):
    """A broker as its file server.properties says; `plain_address` is where it answers without more ado.

    @param archives_to  where it writes the archive of classes when it ends in order; None: it uses the one that is there"""

    def __init__(self, plain_address, archives_to=None):
        need_broker()
        self.archives_to = archives_to
        self.from_archive = [] if archives_to else Archive().options()
        super().__init__("kafka")
        self.plain_address = plain_address

    def write_properties(self, text):
        with open(self.path("server.properties"), "w") as out:
            out.write(text)

    def command(self):
        to_archive = ["-XX:ArchiveClassesAtExit=" + self.archives_to] if self.archives_to else []
        return java(self.directory, *self.from_archive, *to_archive, "kafka.Kafka", self.path("server.properties"))

    def launch(self):
        if not os.path.exists(self.path("data")):
            self.format()
        super().launch()

    def format(self):
        formatted = subprocess.run(
            java(self.directory, *self.from_archive, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c",
                 self.path("server.properties")),
            capture_output=True, text=True, timeout=self.SECONDS_TO_START)
        if formatted.returncode != 0:
            raise AssertionError("Kafka's StorageTool: " + formatted.stdout + formatted.stderr)

    def answers(self):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", int(self.plain_address.rpartition(":")[2]))) != 0:
                return False
        with Client(self.plain_address) as client:
            return client.metadata_come(seconds=2)


class Broker(BrokerProcess):
    """`address` is for clients: plain, or with a password or TLS as asked for. `plain_address` asks for neither.

    @param settings    lines of server.properties, as {"message.max.bytes": 2000}
    @param users       {name: password}: clients authenticate by SASL PLAIN
    @param certificate what the certificate bears, such as "IP:127.0.0.1": clients connect by TLS, and `ca` is the path of the
                       authority's certificate
    """

    FORMAT = "%p %o %K %S\\n%k%s\\n"
    # So long a consumer waits for more at the end of a partition: half a second by default.
    AT_ONCE = ("-X", "fetch.wait.max.ms=10")

    def __init__(self, settings=None, users=None, certificate=None, archives_to=None):
        ports = set()
        while len(ports) < 3:
            ports.add(harness.free_port(socket.SOCK_STREAM))
        self.port, plain, controller = ports
        self.address = "127.0.0.1:%d" % self.port
        super().__init__("127.0.0.1:%d" % plain, archives_to)
        text = PROPERTIES.format(plain=plain, client=self.port, controller=controller, data=self.path("data"),
                                 protocol=("SASL_" if users else "") + ("SSL" if certificate else "PLAINTEXT"))
        text += self.sasl_lines(users) if users else ""
        text += self.tls_lines(certificate) if certificate else ""
        text += "".join("%s=%s\n" % setting for setting in (settings or {}).items())
        self.write_properties(text)

    def format(self):
        """What a broker alone needs of what the StorageTool writes, which is a process of Java; the rest it chooses itself."""
        os.mkdir(self.path("data"))
        with open(self.path("data", "meta.properties"), "w") as out:
            out.write("version=1\ncluster.id=%s\nnode.id=1\n" % CLUSTER)

    @staticmethod
    def sasl_lines(users):
        known = " ".join('user_%s="%s"' % user for user in users.items())
        return ("sasl.enabled.mechanisms=PLAIN\n"
                "listener.name.client.plain.sasl.jaas.config="
                "org.apache.kafka.common.security.plain.PlainLoginModule required %s;\n" % known)

    def tls_lines(self, bears):
        authority = Authority(self.path("authority"))
        self.ca = authority.certificate
        certificate, key = authority.issue("broker", bears=bears)
        store = self.path("broker.store.pem")
        with open(store, "w") as out:
            for path in (key, certificate):
                with open(path) as part:
                    out.write(part.read())
        return ("listener.name.client.ssl.keystore.type=PEM\nlistener.name.client.ssl.keystore.location=%s\n" % store)

    def create_topic(self, name, partitions=1, **settings):
        """The topic answers when this returns.

        @param settings  of the topic, with _ for ., such as max_message_bytes=1000"""
        with Client(self.plain_address) as client:
            client.create_topic(name, partitions, 1, {key.replace("_", "."): value for key, value in settings.items()})

        def answers():
            try:
                return len(self.end_offsets(name, partitions)) == partitions
            except AssertionError:  # a partition is not known yet, or has no leader
                return False
        harness.wait_until(answers, 30, "the partitions of topic " + name)

    def delete_topic(self, name):
        with Client(self.plain_address) as client:
            client.delete_topic(name)

    def kcat(self, *arguments, stdin=b""):
        """What kcat prints."""
        done = subprocess.run(["kcat", "-b", self.plain_address, *arguments], input=stdin, capture_output=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError("kcat %s: %s" % (" ".join(arguments), done.stderr.decode(errors="replace")))
        return done.stdout

    def end_offsets(self, topic, partitions):
        """Partition -> offset after its last message."""
        asked = [part for partition in range(partitions) for part in ("-t", "%s:%d:-1" % (topic, partition))]
        found = re.findall(r"\[(\d+)\] offset (\d+)", self.kcat("-Q", *asked).decode())
        return {int(partition): int(offset) for partition, offset in found}

    def messages(self, topic):
        """Partition -> [(offset, key or None, value or None)]: all that the topic holds, in order."""
        return split_messages(self.kcat("-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", self.FORMAT, *self.AT_ONCE))
