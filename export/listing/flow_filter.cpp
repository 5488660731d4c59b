// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_filter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/listing/element_condition.hpp"
#include "export/listing/filter_values.hpp"
#include "export/listing/filter_vocabulary.hpp"
#include "export/listing/filter_words.hpp"
#include "export/listing/printable_text.hpp"
#include "export/messages/flow_words.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMaximumDepth = 100;  // of "(" and "not": no filter exhausts the stack

/// The words in front of a value. A value without any takes those of the value before it: "port 53
/// or 80".
struct Prefix {
    enum class Kind : std::uint8_t { host, net, port, protocol };

    std::uint8_t ip_version{};       ///< 0: either
    const ProtocolWord* protocol{};  ///< of ports; nullptr: any
    bool outer{};
    Endpoint endpoint{};
    Kind kind{};
};

template <class Condition>
FlowCondition make(Condition condition) {
    return FlowCondition{{std::move(condition)}};
}

FlowCondition both(FlowCondition first, FlowCondition second) {
    Chain chain;
    chain.links.push_back({Joint::all, std::move(first)});
    chain.links.push_back({Joint::all, std::move(second)});
    return make(std::move(chain));
}

/// Whether it can only be an address.
bool is_address(std::string_view word) {
    return parse_host(word.substr(0, word.find('/'))).has_value();
}

/// Recursive descent over the grammar of flow_filter.hpp.
class FilterParser {
public:
    FilterParser(std::string_view text, const FlowFilter::Aliases& aliases)
        : words_(text), aliases_(aliases) {}

    FlowCondition parse() {
        FlowCondition root = parse_filter();
        if (!words_.word().empty()) {
            expected("'and', 'or' or the end");
        }
        return root;
    }

    [[nodiscard]] const std::vector<FlowFilter::NamedElement>& elements() const noexcept {
        return elements_;
    }

private:
    FlowCondition parse_filter() {
        Chain chain;
        Joint joint = Joint::all;
        bool goes_on = true;
        while (goes_on) {
            chain.links.push_back({joint, parse_factor()});
            const std::optional<Joint> next = parse_joint();
            goes_on = next.has_value();
            joint = next.value_or(Joint::all);
        }
        return chain.links.size() == 1 ? std::move(chain.links.front().condition)
                                       : make(std::move(chain));
    }

    std::optional<Joint> parse_joint() {
        if (words_.accept("and") || words_.accept("&&")) {
            return Joint::all;
        }
        return words_.accept("or") || words_.accept("||") ? std::optional(Joint::any)
                                                          : std::nullopt;
    }

    FlowCondition parse_factor() {
        if (depth_ == kMaximumDepth) {
            fail("more than " + std::to_string(kMaximumDepth) + " nested 'not' and '('");
        }
        ++depth_;
        FlowCondition condition = parse_unjoined();
        --depth_;
        return condition;
    }

    FlowCondition parse_unjoined() {
        if (words_.accept("not") || words_.accept("!")) {
            Negation negation;
            negation.operand.push_back(parse_factor());
            return make(std::move(negation));
        }
        if (!words_.accept("(")) {
            return parse_primitive();
        }
        FlowCondition inner = parse_filter();
        if (!words_.accept(")")) {
            expected("'and', 'or' or ')'");
        }
        prefix_.reset();
        return inner;
    }

    FlowCondition parse_primitive() {
        if (const std::optional<Name> name = begins_sum()) {
            prefix_.reset();
            return parse_sum(*name);
        }
        // "12345/peer" begins as an address does.
        const bool has_enterprise = words_.word().find('/') != std::string_view::npos;
        if (has_enterprise && begins_element()) {
            prefix_.reset();
            return parse_element();
        }
        if (prefix_ && is_value_of(*prefix_)) {
            return parse_value(*prefix_);
        }
        prefix_.reset();
        if (std::optional<FlowCondition> condition = parse_own()) {
            return std::move(*condition);
        }
        Prefix prefix;
        std::optional<FlowCondition> alone = parse_protocol_words(prefix);
        return alone ? std::move(*alone) : parse_prefixed(prefix);
    }

    /// Whether the word is a value and no word of the language.
    [[nodiscard]] bool is_value_of(const Prefix& prefix) const {
        const std::string_view word = words_.word();
        if (prefix.kind == Prefix::Kind::port) {
            return find_protocol_word(word) == nullptr && parse_ports(word).has_value();
        }
        if (prefix.kind == Prefix::Kind::protocol) {
            return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
        }
        return word.find_first_of("0123456789") == 0 || is_address(word);
    }

    /// Conditions that begin with a word of their own.
    std::optional<FlowCondition> parse_own() {
        if (const auto measure = find_measure(words_.word())) {
            words_.advance();
            return parse_measure(*measure);
        }
        if (words_.accept("tunnel")) {
            return parse_tunnel();
        }
        if (words_.accept("tunnel-id")) {
            constexpr std::uint32_t kMost = 0xFFFF'FFFF;
            return make(TunnelIdCondition{
                taken(parse_number(words_.word(), kMost), "a number up to 4294967295")});
        }
        if (words_.accept("vlan")) {
            return parse_vlan();
        }
        if (words_.accept("flags")) {
            const bool exactly = words_.accept("=") || words_.accept("==");
            return make(FlagsCondition{
                taken(parse_tcp_flags(words_.word()), "letters of CEUAPRSF, such as S or SA"),
                exactly});
        }
        if (words_.accept("reason")) {
            return make(ReasonCondition{taken(parse_end_reason(words_.word()),
                                              "'idle', 'active', 'end', 'forced' or 'resources'")});
        }
        return std::nullopt;
    }

    FlowCondition parse_measure(const FlowMeasure& measure) {
        MeasureCondition condition{.measure = measure};
        if (const auto comparison = parse_comparison(words_.word())) {
            condition.comparison = *comparison;
            words_.advance();
        }
        condition.number =
            taken(parse_quantity(words_.word(), measure.unit), std::string(form_of(measure.unit)));
        return make(condition);
    }

    FlowCondition parse_tunnel() {
        TunnelCondition tunnel;
        if (!words_.accept("any")) {
            tunnel.kind = taken(parse_tunnel_kind(words_.word()),
                                "'any' or a kind of tunnel such as vxlan, gre or gtp-u");
        }
        return make(tunnel);
    }

    FlowCondition parse_vlan() {
        constexpr std::uint32_t kMost = 4095;
        VlanCondition vlan;
        if (words_.word().find_first_of("0123456789") == 0) {
            const auto number = parse_number(words_.word(), kMost);
            vlan.id = {static_cast<std::uint16_t>(taken(
                number.value_or(0) != 0 ? number : std::nullopt, "a VLAN number from 1 to 4095"))};
        }
        return make(vlan);
    }

    /// Takes words of IP versions and protocols.
    ///
    /// @return  nothing: more is to follow
    std::optional<FlowCondition> parse_protocol_words(Prefix& prefix) {
        if (const ProtocolWord* const known = find_protocol_word(words_.word())) {
            words_.advance();
            prefix.protocol = known;
            const bool goes_on = known->has_ports && begins_prefix();
            return goes_on ? std::nullopt : std::optional(make(ProtocolCondition{known->protocol}));
        }
        const bool ipv4 = words_.accept("ip");
        if (!ipv4 && !words_.accept("ip6")) {
            return std::nullopt;
        }
        prefix.ip_version = ipv4 ? 4 : 6;
        if (words_.accept("multicast")) {
            NetCondition net =
                parse_net(ipv4 ? "224.0.0.0/4" : "ff00::/8").value_or(NetCondition{});
            net.endpoint = Endpoint::destination;
            return make(net);
        }
        const bool goes_on = begins_prefix() || words_.word() == "outer" ||
                             words_.word() == "proto" || is_address(words_.word());
        return goes_on ? std::nullopt : std::optional(make(VersionCondition{prefix.ip_version}));
    }

    [[nodiscard]] bool begins_prefix() const {
        static constexpr std::array<std::string_view, 6> kWords{"src", "dst",  "host",
                                                                "net", "port", "portrange"};
        return std::find(kWords.begin(), kWords.end(), words_.word()) != kWords.end();
    }

    FlowCondition parse_prefixed(Prefix prefix) {
        prefix.outer = prefix.protocol == nullptr && words_.accept("outer");
        const bool has_endpoint = parse_endpoint(prefix);
        if (!prefix.outer && (words_.accept("port") || words_.accept("portrange"))) {
            prefix.kind = Prefix::Kind::port;
        } else if (prefix.protocol != nullptr) {
            expected("'port' or 'portrange'");
        } else if (words_.accept("net")) {
            prefix.kind = Prefix::Kind::net;
        } else if (words_.accept("host") || is_address(words_.word())) {
            const bool is_net = words_.word().find('/') != std::string_view::npos;
            prefix.kind =
                is_net && is_address(words_.word()) ? Prefix::Kind::net : Prefix::Kind::host;
        } else if (!prefix.outer && !has_endpoint && words_.accept("proto")) {
            prefix.kind = Prefix::Kind::protocol;
        } else if (!prefix.outer && !has_endpoint && prefix.ip_version == 0 && begins_element()) {
            return parse_element();
        } else {
            refuse(prefix, has_endpoint);
        }
        return parse_value(prefix);
    }

    /// What stands for a number of a flow: the name of a measure or an element, or an alias.
    struct Name {
        std::string text;  ///< of an alias: the element's name
        std::size_t column{};
        FilterWords behind;
    };
    [[nodiscard]] std::optional<Name> name_at(const FilterWords& at) const {
        Name name{.text = std::string(at.word()), .column = at.column(), .behind = at};
        name.behind.advance();
        FilterWords inner = name.behind;
        if (!aliases_.empty() && inner.accept("(")) {
            const std::string text = name.text + "(" + std::string(inner.word()) + ")";
            inner.advance();
            const auto found = aliases_.find(text);
            if (found != aliases_.end() && inner.accept(")")) {
                return Name{.text = found->second, .column = at.column(), .behind = inner};
            }
        }
        return is_element_name(at.word()) ? std::optional(std::move(name)) : std::nullopt;
    }
    [[nodiscard]] static bool is_sign(std::string_view word) { return word == "+" || word == "-"; }
    /// The first name of a sum, or an alias; a number in front of a sum is none.
    [[nodiscard]] std::optional<Name> begins_sum() const {
        std::optional<Name> name = name_at(words_);
        const bool is_alias = name && name->text != words_.word();
        const bool is_one = name && (is_alias || is_sign(name->behind.word()));
        return is_one ? std::move(name) : std::nullopt;
    }

    FlowCondition parse_sum(const Name& first) {
        SumCondition sum;
        sum.terms.push_back(term_of(first, false));
        words_ = first.behind;
        while (is_sign(words_.word())) {
            const bool is_subtracted = words_.word() == "-";
            words_.advance();
            sum.terms.push_back(parse_term(is_subtracted));
        }
        sum.comparison = taken(parse_comparison(words_.word()), "'+', '-' or a comparison");
        const bool is_negative = words_.accept("-");
        std::string_view digits = words_.word();
        const bool has_sign = !is_negative && digits.starts_with('-');
        digits.remove_prefix(has_sign ? 1 : 0);
        const std::uint64_t number = taken(at_most_63_bits(parse_quantity(digits, unit_of(sum))),
                                           std::string(form_of(unit_of(sum))));
        sum.number = static_cast<std::int64_t>(is_negative || has_sign ? -number : number);
        return make(std::move(sum));
    }
    SumTerm parse_term(bool is_subtracted) {
        const std::optional<Name> name = name_at(words_);
        if (name) {
            words_ = name->behind;
            return term_of(*name, is_subtracted);
        }
        return {.is_subtracted = is_subtracted,
                .number = taken(parse_quantity(words_.word(), MeasureUnit::count),
                                "a number, or the name of one")};
    }
    SumTerm term_of(const Name& name, bool is_subtracted) {
        SumTerm term{.is_subtracted = is_subtracted,
                     .measure = find_measure(name.text),
                     .column = name.column};
        if (!term.measure) {
            term.element = name.text;
            elements_.push_back({name.text, name.column});
        }
        return term;
    }
    /// That of its measures; a sum of times is compared with a time.
    [[nodiscard]] MeasureUnit unit_of(const SumCondition& sum) const {
        const auto is_time = [](const SumTerm& term) {
            return term.measure && term.measure->unit == MeasureUnit::nanoseconds;
        };
        const auto times = std::ranges::count_if(sum.terms, is_time);
        if (times != 0 && times != std::ssize(sum.terms)) {
            fail("a sum of a time and of what is no time");
        }
        return times != 0 ? MeasureUnit::nanoseconds : MeasureUnit::count;
    }
    [[nodiscard]] static std::string_view form_of(MeasureUnit unit) {
        return unit == MeasureUnit::count ? kCountForm : kTimeForm;
    }
    [[nodiscard]] static std::optional<std::uint64_t> at_most_63_bits(
        std::optional<std::uint64_t> number) {
        constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
        return number && *number <= kMost ? number : std::nullopt;
    }

    /// Whether the word is the name of an element, and a comparison follows. What other tools and
    /// pcap filters have there is refused with a hint instead.
    [[nodiscard]] bool begins_element() const {
        const std::string_view word = words_.word();
        FilterWords behind = words_;
        behind.advance();
        const bool is_joint = word == "and" || word == "or" || word == "not";
        return is_element_name(word) && !is_joint && !is_packet_word(word) &&
               likely_filter_words(word).empty() && parse_comparison(behind.word()).has_value();
    }

    FlowCondition parse_element() {
        ElementCondition condition{.name = std::string(words_.word()), .column = words_.column()};
        words_.advance();
        condition.comparison = parse_comparison(words_.word()).value_or(Comparison::equal);
        words_.advance();
        constexpr std::string_view kSymbols = "()!=<>&|";
        if (words_.word().empty() || words_.word().find_first_of(kSymbols) == 0) {
            expected("a value to compare with");
        }
        condition.operand = read_operand(words_.word());
        words_.advance();
        elements_.push_back({condition.name, condition.column});
        return make(std::move(condition));
    }

    /// "src", "dst", "src or dst", "src and dst", or the other way around.
    bool parse_endpoint(Prefix& prefix) {
        const bool source = words_.accept("src");
        if (!source && !words_.accept("dst")) {
            return false;
        }
        prefix.endpoint = source ? Endpoint::source : Endpoint::destination;
        if (const auto joint = parse_joint()) {
            if (!words_.accept(source ? "dst" : "src")) {
                expected(source ? "'dst'" : "'src'");
            }
            prefix.endpoint = *joint == Joint::any ? Endpoint::either : Endpoint::both;
        }
        return true;
    }

    FlowCondition parse_value(const Prefix& prefix) {
        FlowCondition condition = parse_value_alone(prefix);
        prefix_ = prefix;
        if (prefix.protocol != nullptr) {
            return both(make(ProtocolCondition{prefix.protocol->protocol}), std::move(condition));
        }
        return prefix.ip_version != 0 && !prefix.outer
                   ? both(make(VersionCondition{prefix.ip_version}), std::move(condition))
                   : std::move(condition);
    }

    FlowCondition parse_value_alone(const Prefix& prefix) {
        switch (prefix.kind) {
            case Prefix::Kind::host:
                return make_net(prefix,
                                taken(of_version(prefix, parse_host(words_.word())),
                                      prefix.ip_version == 4   ? "an IPv4 address"
                                      : prefix.ip_version == 6 ? "an IPv6 address"
                                                               : "an IPv4 or IPv6 address"));
            case Prefix::Kind::net:
                return make_net(prefix, parse_masked_net(prefix));
            case Prefix::Kind::port:
                return parse_port_value(prefix);
            case Prefix::Kind::protocol:
                return parse_protocol_value();
        }
        return {};
    }

    static std::optional<NetCondition> of_version(const Prefix& prefix,
                                                  std::optional<NetCondition> net) {
        const bool fits = prefix.ip_version == 0 || (net && net->ip_version == prefix.ip_version);
        return fits ? net : std::nullopt;
    }

    static FlowCondition make_net(const Prefix& prefix, NetCondition net) {
        net.endpoint = prefix.endpoint;
        net.outer = prefix.outer;
        return make(net);
    }

    NetCondition parse_masked_net(const Prefix& prefix) {
        const NetCondition net = taken(of_version(prefix, parse_net(words_.word())),
                                       "a network such as 10.0.0.0/8 or 2001:db8::/32");
        return words_.accept("mask")
                   ? taken(with_mask(net, words_.word()), "a mask of IPv4 such as 255.255.0.0")
                   : net;
    }

    FlowCondition parse_port_value(const Prefix& prefix) {
        const auto comparison = parse_comparison(words_.word());
        if (comparison) {
            words_.advance();
        }
        const auto found =
            comparison ? parse_ports(*comparison, words_.word()) : parse_ports(words_.word());
        PortCondition ports = taken(found, "a port such as 443 or a range such as 8000-8099");
        ports.endpoint = prefix.endpoint;
        return make(ports);
    }

    /// A name may begin with a backslash, which pcap filters need.
    FlowCondition parse_protocol_value() {
        std::string_view word = words_.word();
        word.remove_prefix(word.starts_with('\\') ? 1 : 0);
        const auto number =
            word == "icmp6" ? std::optional(ip_protocol::kIcmpV6) : parse_protocol(word);
        return make(ProtocolCondition{taken(number, "a protocol name or a number up to 255")});
    }

    [[noreturn]] void refuse(const Prefix& prefix, bool has_endpoint) const {
        const std::string_view word = words_.word();
        if (is_packet_word(word)) {
            fail("'" + printable(word) + "' is of packets; flows do not tell it");
        }
        if (prefix.outer) {
            expected(has_endpoint ? "'host' or 'net'" : "'host', 'net', 'src' or 'dst'");
        }
        expected(has_endpoint ? "'host', 'net' or 'port'"
                              : "a condition such as tcp, 'port 53', 'net 10.0.0.0/8', "
                                "'octets > 1M', 'flags S', 'not' or '('");
    }

    template <class Value>
    Value taken(const std::optional<Value>& value, const std::string& what) {
        if (!value) {
            expected(what);
        }
        words_.advance();
        return *value;
    }

    [[noreturn]] void expected(const std::string& what) const {
        const std::string_view word = words_.word();
        const std::string_view meant = likely_filter_words(word);
        fail("expected " + what + ", found " +
             (word.empty() ? "the end" : "'" + printable(word) + "'") +
             (meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?"));
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw FilterError("filter, column " + std::to_string(words_.column()) + ": " + what);
    }

    FilterWords words_;
    const FlowFilter::Aliases& aliases_;
    std::optional<Prefix> prefix_;  ///< of the value before, if there is one
    std::vector<FlowFilter::NamedElement> elements_;
    std::size_t depth_{};
};

}  // namespace

FlowFilter::FlowFilter(std::string_view text, const Aliases& aliases) : given_(true) {
    FilterParser parser(text, aliases);
    root_ = parser.parse();
    elements_ = parser.elements();
}

std::string FlowFilter::NamedElement::fault() const {
    return "filter, column " + std::to_string(column) + ": '" + printable(name) +
           "' is no word of filters, and no element that IANA or the input gives this name";
}

}  // namespace tributary
