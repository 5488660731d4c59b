// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/top_command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sysexits.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/control/control_client.hpp"
#include "daemon/control/terminal.hpp"
#include "daemon/control/top_screen.hpp"
#include "export/listing/flow_rates.hpp"
#include "export/listing/ipfix_reader.hpp"

namespace tributary {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Looks at a probe, and keeps the last look for comparison.
class ProbeView {
public:
    /// @param wait  called while an answer is awaited
    ProbeView(const TopArguments& arguments, SocketBuffer::Wait wait)
        : arguments_(arguments), wait_(std::move(wait)), flows_(arguments.flows) {}

    /// @errors  ControlFailure, nlohmann::json::exception: picture() does not change
    void look() {
        TopLook made;
        made.stats = parse_answer<json>(ask("stats").text());
        made.figures = parse_answer<json>(ask("figures").text());
        made.at = time_of(made.figures);
        const bool is_another = now_ && !is_same_probe(*now_, made);
        if (is_another) {
            spools_.forget();
            flows_.forget();
        }
        if (arguments_.flows > 0) {
            look_at_flows(made.at);
        }
        check(made, is_another);
        spools_.note(made);
        before_ = is_another ? std::nullopt : std::exchange(now_, std::nullopt);
        now_ = std::move(made);
    }

    /// Complete once a look has succeeded.
    [[nodiscard]] TopPicture picture() const {
        TopPicture made;
        made.before = before_ ? &*before_ : nullptr;
        made.now = now_ ? &*now_ : nullptr;
        made.spools = &spools_;
        made.flows = arguments_.flows > 0 ? &flows_ : nullptr;
        made.notice = flows_fault_;
        return made;
    }
    [[nodiscard]] bool has_rates() const noexcept { return before_.has_value(); }

private:
    [[nodiscard]] ControlAnswer ask(const std::string& command) const {
        return {arguments_.socket, command, arguments_.timeout, wait_};
    }
    /// Refuses an incomplete answer before it replaces a good one.
    void check(const TopLook& made, bool is_another) const {
        TopPicture shown;
        shown.before = now_ && !is_another ? &*now_ : nullptr;
        shown.now = &made;
        static_cast<void>(top_screen(shown, {}));
    }
    /// The probe's own clock, so that delays of the answer do not change rates; ours if the probe
    /// sends none.
    static double time_of(const json& figures) {
        using Seconds = std::chrono::duration<double>;
        constexpr double kNanoseconds = 1e9;
        const auto uptime = figures.find("host_uptime");
        return uptime != figures.end() ? uptime->get<double>() / kNanoseconds
                                       : Seconds(steady_clock::now().time_since_epoch()).count();
    }
    void read_flows(double at) {
        ControlAnswer answer = ask("flows");
        IpfixReader reader(answer.stream(), arguments_.socket, registry_);
        flows_.begin(at);
        while (const IpfixRecord* const record = reader.next()) {
            if (!record->layout->options) {
                flows_.add(view_flow(*record));
            }
        }
        answer.check();
        flows_.end();
    }
    /// The ledger is shown even without the flows, when a thread hangs.
    void look_at_flows(double at) {
        flows_fault_.clear();
        try {
            read_flows(at);
            return;
        } catch (const ControlFailure& failure) {
            flows_fault_ = failure.what();
        } catch (const IpfixDataError& error) {
            flows_fault_ = error.what();
        } catch (const IpfixInputError& error) {
            flows_fault_ = error.what();
        }
        flows_fault_ = "flows: " + flows_fault_;
        flows_.forget();
    }

    const TopArguments& arguments_;
    SocketBuffer::Wait wait_;
    std::shared_ptr<const ElementRegistry> registry_ = std::make_shared<ElementRegistry>();
    std::optional<TopLook> before_;
    std::optional<TopLook> now_;
    SpoolTrend spools_;
    FlowRates flows_;
    std::string flows_fault_;  ///< why the flows are missing
};

/// A closed pipe is no fault: its reader has ended. @return  exit code
int print(const ScreenLines& lines) {
    errno = 0;
    for (const ScreenLine& line : lines) {
        std::cout << line.text << '\n';
    }
    std::cout << std::flush;
    if (std::cout || errno == EPIPE) {
        return EX_OK;
    }
    std::cerr << "tributary top: cannot write: " << words_for(errno) << '\n';
    return EX_IOERR;
}

/// Prints a page for each look but the first.
int print_pages(const TopArguments& arguments) {
    constexpr ScreenSize kPage{.rows = 0, .columns = kWideScreen};
    ProbeView view(arguments, SocketBuffer::wait_idly);
    view.look();
    for (std::uint32_t looks = 1;; ++looks) {
        ::poll(nullptr, 0, static_cast<int>(milliseconds(arguments.interval).count()));
        view.look();
        ScreenLines page = top_screen(view.picture(), kPage);
        page.emplace_back();
        const int written = print(page);
        if (written != EX_OK || !std::cout || looks == arguments.count) {
            return written;
        }
    }
}

/// `top` on a terminal. It handles keys and signals also while it waits for an answer.
class TopSession {
public:
    TopSession(const TopArguments& arguments, Terminal& terminal)
        : arguments_(arguments),
          terminal_(terminal),
          view_(arguments,
                [this](int socket, milliseconds most) { return wait_for_answer(socket, most); }) {}

    /// @return  the last screen, when `count` is reached; empty: ended before
    ScreenLines run() {
        next_look_ = steady_clock::now();
        while (!has_ended_) {
            if (!is_paused_ && steady_clock::now() >= next_look_) {
                try_look();
                draw();
            }
            if (is_over()) {
                return screen();
            }
            handle_news(terminal_.wait(-1, time_until_look()));
        }
        return {};
    }

private:
    static constexpr milliseconds kBetweenTries{1000};

    /// Whether `count` looks are done.
    [[nodiscard]] bool is_over() const noexcept {
        return !has_ended_ && looks_ > 0 && looks_ == arguments_.count;
    }
    [[nodiscard]] milliseconds time_until_look() const {
        const auto left = std::chrono::ceil<milliseconds>(next_look_ - steady_clock::now());
        return is_paused_ ? kBetweenTries : std::clamp(left, milliseconds{0}, kBetweenTries);
    }
    /// See SocketBuffer::Wait.
    SocketBuffer::WaitEnd wait_for_answer(int socket, milliseconds most) {
        const auto deadline = steady_clock::now() + most;
        pollfd answer{socket, POLLIN, 0};
        do {
            const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
            handle_news(terminal_.wait(socket, std::clamp(left, milliseconds{0}, kBetweenTries)));
            if (has_ended_) {
                return SocketBuffer::WaitEnd::ended;
            }
            if (::poll(&answer, 1, 0) > 0) {
                return SocketBuffer::WaitEnd::ready;
            }
        } while (steady_clock::now() < deadline);
        return SocketBuffer::WaitEnd::timed_out;
    }
    /// The first look must succeed; in a later one the probe may be away.
    void try_look() {
        const auto began = steady_clock::now();
        try {
            view_.look();
            is_there_ = true;
            notice_.clear();
            looks_ += view_.has_rates() ? 1 : 0;
            next_look_ = std::max(began + arguments_.interval, steady_clock::now());
            return;
        } catch (const ControlFailure& failure) {
            wait_for_probe(failure.what());
        } catch (const json::exception& error) {
            wait_for_probe(arguments_.socket + " gives an unknown answer (" + error.what() + ")");
        }
    }
    /// Called by the handlers of try_look().
    void wait_for_probe(const std::string& why) {
        if (!is_there_ && !has_ended_) {
            throw;
        }
        const auto now = steady_clock::now();
        if (notice_.empty()) {
            away_since_ = now;
        }
        const std::chrono::duration<double> away = now - away_since_;
        notice_ = fmt::format("waiting for the probe for {}: {}", duration_text(away.count()), why);
        next_look_ = now + kBetweenTries;
    }
    void handle_news(const Terminal::News& news) {
        has_ended_ = has_ended_ || news.has_ended;
        for (const char key : news.keys) {
            handle_key(key);
        }
        if (news.needs_drawing || !news.keys.empty()) {
            draw();
        }
    }
    void handle_key(char key) {
        const bool had_help = std::exchange(has_help_, false);
        switch (key) {
            case 'q':
                has_ended_ = true;
                return;
            case 'h':
            case '?':
                has_help_ = !had_help;
                return;
            case 'r':
                order_ = RateOrder::octet_rate;
                return;
            case 'p':
                order_ = RateOrder::packet_rate;
                return;
            case 'o':
                order_ = RateOrder::octets;
                return;
            case ' ':
                is_paused_ = !is_paused_;
                return;
            case '\n':
            case '\r':
                is_paused_ = false;
                next_look_ = steady_clock::now();
                return;
            default:
                return;
        }
    }
    [[nodiscard]] ScreenLines screen() const {
        ScreenSize size = terminal_.size();
        const TopBar bar{.order = order_,
                         .interval = static_cast<unsigned>(arguments_.interval.count()),
                         .is_paused = is_paused_};
        const ScreenLine last = top_bar(bar, size);
        size.rows = std::max<std::size_t>(size.rows, 2) - 1;
        TopPicture picture = view_.picture();
        picture.order = order_;
        picture.notice = notice_.empty() ? picture.notice : notice_;
        ScreenLines lines = has_help_ ? top_help(picture, size) : top_screen(picture, size);
        lines.resize(size.rows);
        lines.push_back(last);
        return lines;
    }
    void draw() {
        if (is_there_ && !has_ended_) {
            terminal_.draw(screen());
        }
    }

    const TopArguments& arguments_;
    Terminal& terminal_;
    ProbeView view_;
    steady_clock::time_point next_look_;
    steady_clock::time_point away_since_;
    std::string notice_;
    std::uint32_t looks_ = 0;  ///< with rates
    RateOrder order_ = RateOrder::octet_rate;
    bool is_there_ = false;  ///< a look has succeeded
    bool is_paused_ = false;
    bool has_help_ = false;
    bool has_ended_ = false;
};

}  // namespace

int watch_probe(const TopArguments& arguments) {
    std::unique_ptr<Terminal> terminal = Terminal::open();
    if (terminal == nullptr) {
        return print_pages(arguments);
    }
    const ScreenLines last = TopSession(arguments, *terminal).run();
    const std::optional<int> signal = terminal->ending_signal();
    terminal.reset();
    if (signal) {
        ::signal(*signal, SIG_DFL);
        static_cast<void>(::raise(*signal) == 0);
    }
    return print(last);
}

}  // namespace tributary
