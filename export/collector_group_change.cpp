// SPDX-License-Identifier: Apache-2.0
// Other collectors, or other options for all of them, while records are exported.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "export/collector_group.hpp"

namespace tributary {
namespace {

bool is_one_path(const std::string& a, const std::string& b) {
    std::error_code unknown;  // no working directory: then paths are what they are
    const auto normal = [&](const std::string& path) {
        return std::filesystem::absolute(path + "/", unknown).lexically_normal();
    };
    return !a.empty() && !b.empty() && normal(a) == normal(b);
}

/// Whether two collectors have one file or one spool.
bool share_place(const CollectorOptions& a, const CollectorOptions& b) {
    const bool are_files = a.transport == TransportKind::file && b.transport == TransportKind::file;
    return (are_files && is_one_path(a.path, b.path)) ||
           is_one_path(a.spool.directory, b.spool.directory);
}

/// What all sessions depend on.
ExportOptions common_part(ExportOptions options) {
    options.collectors.clear();
    options.drain_timeout = {};
    options.spool = {};
    // Whether records are kept for another collector is what matters.
    options.mode = options.mode == ExportMode::failover ? ExportMode::failover : ExportMode::copy;
    return options;
}

}  // namespace

/// How many collectors get each record.
std::size_t CollectorGroup::copies_of(const ExportOptions& options) noexcept {
    return options.mode == ExportMode::copy ? options.collectors.size() : 1;
}

void CollectorGroup::change(const ExportOptions& options, std::span<const std::size_t> accounts) {
    if (retired_.size() >= kMostRetired) {
        throw ExportError("too many collectors that former reloads took away still get records");
    }
    // What may find no memory comes before anything changes.
    ExportOptions next = options;
    retired_.reserve(retired_.size() + members_.size());
    if (options.spool.directory != options_.spool.directory) {
        throw ExportError("export.spool.directory would change; that needs a restart");
    }
    const bool all_anew = common_part(options) != common_part(options_);
    for (const Member& member : members_) {
        refuse_end(member, options, all_anew);
    }
    Members wanted(options.collectors.size());
    for (std::size_t index = 0; index < wanted.size(); ++index) {
        wanted[index].options = options.collectors[index];
        wanted[index].account = accounts[index];
        wanted[index].is_new = all_anew || same_member(wanted[index].options) == members_.end();
    }
    // Files last: what is there gets another name, and another collector may still be refused.
    begin_sessions(wanted, options, false);
    begin_sessions(wanted, options, true);
    take_over(std::move(wanted));
    if (copies_of(options) != copies_of(options_)) {
        book_.set_copies(copies_of(options));
    }
    spool_.set_max_octets(options.spool.max_octets);
    options_ = std::move(next);
}

/// Makes the sessions of those that are new.
///
/// @param of_files  those of files, or all others
void CollectorGroup::begin_sessions(Members& wanted, const ExportOptions& options, bool of_files) {
    for (std::size_t index = 0; index < wanted.size(); ++index) {
        Member& member = wanted[index];
        const bool is_failover = options.mode == ExportMode::failover;
        const bool is_file = member.options.transport == TransportKind::file;
        if (member.is_new && is_file == of_files) {
            refuse_shared_place(member.options);
            member.session = std::make_unique<CollectorSession>(
                options, metering_, book_,
                CollectorPlace{.option = index,
                               .account = member.account,
                               .group_spool = is_failover ? &spool_.overflow() : nullptr},
                handler_);
        }
    }
}

/// Puts these members in the place of the present ones, which go on among them or are retired.
void CollectorGroup::take_over(Members wanted) noexcept {
    const CollectorSession* const active = members_.empty() ? nullptr : &session(active_);
    for (Member& member : wanted) {
        if (member.is_new) {
            book_.account(member.account).failed.set(0);
        } else {
            member.session = std::move(same_member(member.options)->session);
        }
    }
    for (Member& member : members_) {
        if (member.session != nullptr) {
            retired_.push_back(std::move(member));
        }
    }
    members_ = std::move(wanted);
    if (members_.front().is_new) {  // it may take a while to be reached, as at the start
        was_up_ = false;
        began_.reset();
    }
    const auto still_active = std::ranges::find_if(
        members_, [active](const Member& member) { return member.session.get() == active; });
    active_ = still_active != members_.end()
                  ? static_cast<std::size_t>(still_active - members_.begin())
                  : 0;
    told_active_ = active_;
}

/// The member with a session for a collector of just these options.
CollectorGroup::Members::iterator CollectorGroup::same_member(const CollectorOptions& collector) {
    return std::ranges::find_if(members_, [&](const Member& member) {
        return member.session != nullptr && member.options == collector;
    });
}

/// The end of a rotated file may wait for a disk and a command, and the others' records with it;
/// what a spool keeps is told of at the end of the process.
void CollectorGroup::refuse_end(const Member& member, const ExportOptions& wanted, bool all_anew) {
    const bool stays = !all_anew && std::ranges::find(wanted.collectors, member.options) !=
                                        wanted.collectors.end();
    const bool is_bound = member.options.rotation.is_on() || member.options.spool.is_on();
    if (!stays && is_bound) {
        throw ExportError(describe(member.options) +
                          " would end, and it has a spool or its files are rotated; that needs a "
                          "restart");
    }
}

void CollectorGroup::refuse_shared_place(const CollectorOptions& collector) const {
    const auto is_in_use = [&collector](const Member& member) {
        return share_place(collector, member.options);
    };
    if (std::ranges::any_of(members_, is_in_use) || std::ranges::any_of(retired_, is_in_use)) {
        throw ExportError(describe(collector) + " would change, and its file or spool is in use");
    }
}
}  // namespace tributary
