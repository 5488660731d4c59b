// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/manual/bash_completion.hpp"
#include "daemon/manual/command_reference.hpp"
#include "daemon/manual/manual_page.hpp"

namespace tributary {
namespace {

/// A program with the elements of the real ones: a subcommand, a group of options, files, words, a
/// flag.
CommandReference example() {
    CLI::App app("Does this and that", "prog");
    CLI::App* const sub = app.add_subcommand("list", "Lists files");
    std::vector<std::string> files;
    std::string order;
    bool flag = false;
    sub->add_option("FILE", files, "what to list")->required();
    sub->add_option("--sort", order, "order")
        ->check(CLI::IsMember({"size", "name"}))
        ->option_text("ORDER");
    sub->add_flag("-a,--all", flag, "also 'hidden' ones");
    CLI::Option_group* const group = sub->add_option_group("Output", "one of these");
    group->add_option("--to", order, "where to")->option_text("HOST:PORT");
    group->add_option("--into", order, "which file")->type_name("FILE");
    return describe(app);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("describe: options, words, groups and subcommands are those of the app",
          "[daemon][unit]") {
    const CommandReference program = example();
    CHECK(program.name == "prog");
    REQUIRE(program.commands.size() == 1);
    const CommandReference& list = program.commands.front();
    CHECK(list.name == "prog list");
    REQUIRE(list.arguments.size() == 1);
    CHECK(list.arguments[0].value == "FILE");
    CHECK(list.arguments[0].takes_many);
    REQUIRE(list.groups.size() == 2);
    REQUIRE(list.groups[0].options.size() == 3);
    CHECK(list.groups[0].options[0].names == std::vector<std::string>{"-h", "--help"});
    CHECK(list.groups[0].options[1].value == "ORDER");
    CHECK(list.groups[0].options[1].words.size() == 2);
    CHECK_FALSE(list.groups[0].options[1].takes_many);
    CHECK(list.groups[0].options[2].names == std::vector<std::string>{"-a", "--all"});
    CHECK(list.groups[0].options[2].value.empty());
    CHECK(list.groups[1].title == "Output");
    CHECK(list.groups[1].note == "one of these");
    REQUIRE(list.groups[1].options.size() == 2);
    CHECK(list.groups[1].options[0].value == "HOST:PORT");
}

TEST_CASE("roff_text: what roff would change or obey stays what it is", "[daemon][unit]") {
    CHECK(roff_text("--a 'b' \"c\" d\\n ~^`") ==
          "\\-\\-a \\(aqb\\(aq \\(dqc\\(dq d\\en \\(ti\\(ha\\(ga");
    CHECK(roff_text("a|b") == "a|\\:b");
    CHECK(roff_text(".br\n.in 3. 4") == "\\&.br\n\\&.in 3. 4");
}

TEST_CASE("roff_paragraphs: code is bold, an empty line parts paragraphs", "[daemon][unit]") {
    CHECK(roff_paragraphs("`a-b` and `c`\n\nd.\n") == "\\fBa\\-b\\fR and \\fBc\\fR\n.PP\nd.\n");
}

TEST_CASE("roff_commands: a subcommand with its synopsis and all options but --help",
          "[daemon][unit]") {
    const std::string page = roff_commands(example());
    CHECK(has(page, ".SS prog list\nLists files.\n"));
    CHECK(has(page, "\\fBprog list\\fR [\\fIOPTIONS\\fR] \\fIFILE\\fR...\n"));
    CHECK(has(page, ".TP\n\\fB\\-a\\fR, \\fB\\-\\-all\\fR\nalso \\(aqhidden\\(aq ones\n"));
    CHECK(has(page, "Output, one of these:\n.TP\n\\fB\\-\\-to\\fR \\fIHOST:PORT\\fR\n"));
    CHECK_FALSE(has(page, "help"));
}

TEST_CASE("roff_keys: by section, each with its limits and its default", "[daemon][unit]") {
    CHECK(roff_keys({{.path = "inputs[].queues", .value = "1", .limits = "a number", .help = "so"},
                     {.path = "read.queues", .value = "2", .limits = "one", .help = "many"}}) ==
          ".SS inputs[]\n.TP\n\\fBqueues\\fR\nso.\n.br\nMust be a number; the default is "
          "\\fB1\\fR.\n"
          ".SS read\n.TP\n\\fBqueues\\fR\nmany.\n.br\nMust be one; the default is \\fB2\\fR.\n");
}

TEST_CASE("bash_completion: each value by its name, each word by its option", "[daemon][unit]") {
    const std::string script =
        bash_completion(example(), {{.path = "a[].b", .value = {}, .limits = {}, .help = {}}});
    CHECK(has(script, "\" list --sort \"0) kind=words words=\"size name\" ;;"));
    CHECK(has(script, "\" list --to \"0) kind=free ;;"));
    CHECK(has(script, "\" list --into \"0) kind=files ;;"));
    CHECK(has(script, "argument=files ;;"));
    CHECK(has(script, "'a.0.b='"));
    CHECK(has(script, "complete -F _prog prog\n"));
    CHECK_FALSE(has(script, "s@"));  // all places are filled
}

}  // namespace tributary
