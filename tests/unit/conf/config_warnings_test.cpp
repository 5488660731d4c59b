// SPDX-License-Identifier: Apache-2.0
#include "conf/config_warnings.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

/// Of a probe with two inputs; the first has two queues.
std::vector<std::string> warnings_of_two_inputs(const std::vector<std::string>& sets) {
    return load(
               "export: {collectors: [{host: h}]}\n"
               "inputs:\n"
               "  - {device: net_null0, queues: 2}\n"
               "  - device: net_null1\n",
               sets, ConfigUse::probe)
        .warnings;
}

}  // namespace

TEST_CASE("warnings_about: tracking fragments over queues that part them is warned of",
          "[conf][unit]") {
    CHECK(warnings_of_two_inputs({}).empty());
    const std::vector<std::string> of_first = warnings_of_two_inputs({"flows.fragments=track"});
    REQUIRE(of_first.size() == 1);  // the second input has one queue
    CHECK(of_first[0] ==
          "input net_null0: flows.fragments is track, but rss is ip-and-l4: fragments may reach "
          "another queue than their first one, and have ports 0 then; rss: ip keeps them together");
    CHECK(warnings_of_two_inputs({"flows.fragments=track", "inputs.0.rss=ip"}).empty());
    CHECK(warnings_of_two_inputs({"flows.fragments=track", "inputs.0.queues=1"}).empty());
}

TEST_CASE("warnings_about: the group tunnel without tunnels is warned of", "[conf][unit]") {
    CHECK(warnings_of_two_inputs({"flows.tunnel=outer", "export.fields=[tunnel]"}) ==
          std::vector<std::string>{"export.fields has tunnel, but flows.tunnel is outer: records "
                                   "tell no tunnels then"});
    CHECK(warnings_of_two_inputs({"flows.tunnel=inner", "export.fields=[tunnel]"}).empty());
}

TEST_CASE("warnings_about: what TCP analysis cannot tell is warned of", "[conf][unit]") {
    CHECK(warnings_of_two_inputs({"export.fields=[tcp-analysis]"}) ==
          std::vector<std::string>{"export.fields has tcp-analysis or elements of it, but "
                                   "flows.tcp-analysis is false: records do not have them then"});
    CHECK(warnings_of_two_inputs({"export.fields=[tcp-analysis]", "flows.tcp-analysis=true"})
              .empty());
    CHECK(warnings_of_two_inputs({"flows.tcp-analysis=true", "inputs.1.sampling=2"}) ==
          std::vector<std::string>{"flows.tcp-analysis is true, but packets are sampled: what is "
                                   "passed over leaves holes, and what comes again is mostly "
                                   "not seen twice"});
    CHECK(warnings_of_two_inputs({"flows.tcp-analysis=true"}).empty());
    CHECK(warnings_of_two_inputs({"inputs.1.sampling=2"}).empty());
}

TEST_CASE("warnings_about: an idle timeout longer than the active one is warned of",
          "[conf][unit]") {
    CHECK(warnings_of_two_inputs({"flows.idle-timeout=300", "flows.active-timeout=299"}) ==
          std::vector<std::string>{"flows.idle-timeout is longer than flows.active-timeout: no "
                                   "record ends by it"});
    CHECK(warnings_of_two_inputs({"flows.idle-timeout=300", "flows.active-timeout=300"}).empty());
}

TEST_CASE("warnings_about: a timeout behind a connection's end is no longer than the idle one",
          "[conf][unit]") {
    CHECK(warnings_of_two_inputs({"flows.tcp-end=true", "flows.tcp-end-timeout=31"}) ==
          std::vector<std::string>{
              "flows.tcp-end-timeout is longer than flows.idle-timeout, which holds then"});
    CHECK(warnings_of_two_inputs({"flows.tcp-end=true", "flows.tcp-end-timeout=30"}).empty());
    CHECK(warnings_of_two_inputs({"flows.tcp-end=true", "flows.idle-timeout=1"})
              .empty());  // the default one
}

TEST_CASE("warnings_about: a topic that may have messages twice, or not at all, is warned of",
          "[conf][unit]") {
    const auto of_topic = [](const std::string& keys) {
        return load(
                   "inputs: [{device: net_null0}]\n"
                   "export: {collectors: [{transport: kafka, brokers: 'h:1', topic: t, format: "
                   "json, " +
                       keys + "}]}\n",
                   {}, ConfigUse::probe)
            .warnings;
    };
    const std::string twice =
        "export.collectors.0.properties has enable.idempotence false: messages may be in the topic "
        "twice, and in another order, so that it may hold more than exported and unconfirmed; "
        "numbers tell (docs/export.md)";
    CHECK(of_topic("key: flow").empty());
    CHECK(of_topic("properties: {enable.idempotence: true}").empty());
    for (const std::string no : {"false", "False", "f", "0"}) {
        CHECK(of_topic("properties: {enable.idempotence: " + no + "}") == std::vector{twice});
    }
    CHECK(of_topic("properties: {enable.idempotence: false, acks: all}") == std::vector{twice});
    CHECK(of_topic("properties: {enable.idempotence: false, acks: 1}") ==
          std::vector{twice, std::string("export.collectors.0.properties has acks 1: records count "
                                         "as exported before all replicas have them, so that the "
                                         "topic may hold less than exported")});
    CHECK(of_topic("key: sourceIPAddress").empty());
    CHECK(of_topic("key: sourceIPv4Address") ==
          std::vector<std::string>{"export.collectors.0.key is sourceIPv4Address: records of the "
                                   "other IP version have no key; sourceIPAddress is of both"});
}

TEST_CASE("warnings_about: keys that a format or protocol has no place for are warned of",
          "[conf][unit]") {
    const auto of = [](const std::string& collector, const std::string& more = "") {
        return load("inputs: [{device: net_null0}]\nexport: {" + more + "collectors: [{" +
                        collector + "}]}\n",
                    {}, ConfigUse::probe)
            .warnings;
    };
    const auto idle = [](const std::string& key, const std::string& because) {
        return std::vector{key + " is given, but " + because + ": it has no effect then"};
    };
    const std::string of_csv = "format is csv, whose columns are always the same";
    const std::string of_message = "format is flowmessage, whose fields are always the same";
    const std::string csv = "transport: file, path: f, format: csv";
    const std::string message = "transport: file, path: f, format: flowmessage";
    const std::string topic = "transport: kafka, brokers: h, topic: t, format: json";
    const std::string key = "export.collectors.0.";
    CHECK(of(csv).empty());
    CHECK(of(csv + ", observation-domain: 7") == idle(key + "observation-domain", of_csv));
    CHECK(of(csv + ", enterprise-elements: false") == idle(key + "enterprise-elements", of_csv));
    CHECK(of(csv, "observation-domain: 7, ") ==
          idle("export.observation-domain",
               "the format of all collectors is csv, whose columns are always the same"));
    CHECK(of(csv, "probe: {name: x}, ") ==
          idle("export.probe", "no collector has format json, flowmessage or rawflow"));
    CHECK(of(message + ", timestamps: nanoseconds") == idle(key + "timestamps", of_message));
    CHECK(of(message + ", cert-elements: true") == idle(key + "cert-elements", of_message));
    CHECK(of(message + ", observation-domain: 7", "probe: {name: x}, ").empty());
    CHECK(of(topic + ", properties: {ssl.ca.location: f}") ==
          idle(key + "properties.ssl.ca.location", "security.protocol is plaintext"));
    CHECK(of(topic + ", properties: {sasl.mechanism: PLAIN, security.protocol: SSL}") ==
          idle(key + "properties.sasl.mechanism", "security.protocol is ssl"));
    CHECK(of(topic + ", properties: {sasl.mechanism: PLAIN, ssl.ca.location: f, security.protocol: "
                     "SASL_SSL}")
              .empty());
    for (const std::string property :
         {"debug", "log_level", "log.thread.name", "log.connection.close"}) {
        const std::string value = property == "debug"       ? "all"
                                  : property == "log_level" ? "7"
                                                            : "true";
        CHECK(of(topic + ", properties: {" + property + ": '" + value + "'}") ==
              idle(key + "properties." + property, "the probe reads no log lines of librdkafka"));
    }
    CHECK(of(topic + ", properties: {statistics.interval.ms: '1000'}") ==
          idle(key + "properties.statistics.interval.ms",
               "the probe reads no statistics of librdkafka"));
}

TEST_CASE("warnings_about: keys without effect are warned of", "[conf][unit]") {
    struct Case {
        std::string given;
        std::string because;
        std::string used;
    };
    const std::vector<Case> cases{
        {"flows.mac-addresses=outer", "flows.tunnel is outer and flows.mpls-pseudowires is false",
         "flows.mpls-pseudowires=true"},
        {"flows.fragment-timeout=60", "flows.fragments is zero", "flows.fragments=track"},
        {"flows.tcp-end-timeout=5", "flows.tcp-end is false", "flows.tcp-end=true"},
        {"flows.tcp-duplicate-time=0.2", "flows.tcp-analysis is false", "flows.tcp-analysis=true"},
        {"flows.tcp-retransmission-time=5", "flows.tcp-analysis is false",
         "flows.tcp-analysis=true"},
        {"inputs.1.trim-length=64", "parse is not trimmed", "inputs.1.parse=trimmed"},
        {"inputs.1.trimmed-by=source", "parse is not trimmed", "inputs.1.parse=trimmed"},
        {"inputs.0.sampling-method=random", "sampling is 1", "inputs.0.sampling=2"},
        {"read.trim-length=64", "parse is not trimmed", "read.parse=trimmed"},
        {"read.sampling-method=random", "sampling is 1", "read.sampling=2"}};
    for (const Case& one : cases) {
        CAPTURE(one.given);
        const std::string key = one.given.substr(0, one.given.find('='));
        CHECK(warnings_of_two_inputs({one.given}) ==
              std::vector<std::string>{key + " is given, but " + one.because +
                                       ": it has no effect then"});
        CHECK(warnings_of_two_inputs({one.given, one.used, "inputs.0.rss=ip"}).empty());
    }
}

}  // namespace tributary
