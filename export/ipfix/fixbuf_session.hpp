// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "export/export_error.hpp"
#include "export/ipfix_message.hpp"
#include "export/message.hpp"
#include "flowcache/fields/field_groups.hpp"

namespace tributary {

/// One field of a template, as it is on the wire.
struct WireField {
    /// Its name in the registry of its owner, or that of its reverse element.
    const char* element;
    std::uint16_t octets{};  ///< kVariableLength for strings
    bool of_enterprise{};    ///< its specifier has an enterprise number
};

struct WireTemplate {
    std::uint16_t id{};
    std::uint16_t scope_fields{};  ///< options templates: the first so many; otherwise 0
    std::vector<WireField> fields;

    /// Of the template record (RFC 7011 §3.4.1, §3.4.2.2).
    [[nodiscard]] std::size_t octets() const noexcept;
};

/// A string in the memory of a data record, which libfixbuf takes as its fbVarfield_t.
struct WireString {
    std::size_t octets{};
    const char* text{};
};

/// Our use of libfixbuf: it knows IANA's elements, and encodes templates and options records into
/// memory, one message at a time. Flow records do not pass through it (MessageBuilder).
///
///     (append()* close())*          messages of options records
///     encode_templates()            messages of templates; not while data records are open
///
/// Two tasks that libfixbuf would do badly are done here: messages end before its buffer is full
/// (2.4 would leave an empty set behind), and number and time are written into the header when the
/// message leaves (MessageNumbering).
/// @thread  one; nothing is shared between sessions
class FixbufSession {
public:
    struct Settings {
        std::uint32_t observation_domain{};
        std::uint32_t enterprise_number{};  ///< of tributary's own elements
        std::size_t message_limit{};        ///< octets that no message exceeds
        /// Those whose elements the templates may have. Each session knows its own ones alone:
        /// elements of two declared tables may have one name and different numbers, and one name
        /// may be that of an element of IANA's in another table's templates.
        FieldGroups groups = kEveryGroup;
    };
    struct Message {
        MessageView octets;       ///< valid until the next append(); empty: it has no record
        std::uint32_t records{};  ///< data records in it
    };

    /// @param templates  all templates of the session; none is encoded yet
    /// @errors  ExportError: a template does not fit the limit, or libfixbuf refuses it
    FixbufSession(const Settings& settings, std::span<const WireTemplate> templates);
    FixbufSession(const FixbufSession&) = delete;
    FixbufSession& operator=(const FixbufSession&) = delete;
    ~FixbufSession();

    /// Messages that hold these templates in this order, each as many as fit.
    ///
    /// @errors  ExportError
    [[nodiscard]] std::vector<std::vector<std::byte>> encode_templates(
        std::span<const WireTemplate> templates);

    /// Whether a record of so many octets on the wire goes into the open message.
    [[nodiscard]] bool has_room(std::uint16_t template_id, std::size_t octets) const noexcept {
        return used_ + octets_of_set_header(template_id) + octets <= message_.size();
    }
    /// Adds a data record, for which there is room.
    ///
    /// @param fields  back to back as the template says: integers in host byte order, strings as
    ///                WireString
    /// @param octets  of the record on the wire
    /// @return  false: libfixbuf refused it, and the records of the open message are gone with it
    [[nodiscard]] bool append(std::uint16_t template_id, std::span<std::byte> fields,
                              std::size_t octets) noexcept;
    [[nodiscard]] Message close() noexcept;

private:
    struct Library;

    [[nodiscard]] std::size_t octets_of_set_header(std::uint16_t template_id) const noexcept {
        return open_set_ == template_id ? 0 : IpfixMessage::kSetHeader;
    }
    void check_sizes(std::span<const WireTemplate> templates) const;
    void add_template(const WireTemplate& made);
    void encode_template(std::uint16_t template_id);
    [[nodiscard]] std::vector<std::byte> emit_templates();
    [[nodiscard]] MessageView emitted() noexcept;
    bool select(std::uint16_t template_id) noexcept;
    bool write(std::span<std::byte> fields) noexcept;
    void begin_message() noexcept;

    std::vector<std::byte> message_;  ///< libfixbuf emits into it; as large as the limit
    std::unique_ptr<Library> library_;
    std::size_t used_{};        ///< octets of the open message
    std::uint32_t records_{};   ///< in the open message
    std::uint16_t open_set_{};  ///< template of the open set; 0: no set is open
    std::uint16_t selected_{};  ///< the template that is set in libfixbuf
};

}  // namespace tributary
