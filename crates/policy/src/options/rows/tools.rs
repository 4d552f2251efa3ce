//! The table `tools`.

use super::{
    ANYWHERE, DAY, Loosens, MANY, OptionDef, OptionKind, PROJECT, RULES, option, table, unset,
};
use crate::options::Scope;

pub(super) const TOOLS: &[OptionDef] = &[
    option(
        "require_approval",
        OptionKind::Flag,
        "true",
        "Whether calls that no rule decides ask. false: they run.",
    )
    .scopes(PROJECT)
    .loosens(Loosens::Unless {
        strict: "true",
        what: "would run calls that no rule decides without asking",
    }),
    option(
        "auto_approve",
        OptionKind::Any(&[
            OptionKind::List(&OptionKind::Text),
            OptionKind::Function,
            OptionKind::Module,
        ]),
        r#"["$default"]"#,
        "\
The calls that run without asking: a list of tool names, presets, and
modules, or a function: >lua

auto_approve = function(tool_name, input, context)
  if tool_name == \"calculator\" then return true end        -- run
  if tool_name == \"bash\" and input.command:match(\"rm %-rf\") then
    return \"deny\"                                           -- refuse
  end
  return false                                              -- ask
end
<
nil passes the call to the next rule. If the function fails, the call asks.

A chat's frontmatter can set its own list. Calls that are denied here, by a
preset or this function, stay denied there; calls about which this function
asks, or on which it fails, ask there too.

An unknown preset and a misspelled tool are errors. Any other name may be that
of a tool that is registered later. A name with a dot is a module with a
function `resolve`, see |flemma.tools.approval|; it is loaded when it is first
needed.",
    )
    .scopes(&[
        Scope::Setup,
        Scope::ConfigFile,
        Scope::Project,
        Scope::Rules,
        Scope::Frontmatter,
    ])
    .loosens(Loosens::Compared),
    option(
        "presets",
        OptionKind::Map(&OptionKind::Table(&[&[
            option("approve", OptionKind::List(&OptionKind::Text), "[]", ""),
            option("deny", OptionKind::List(&OptionKind::Text), "[]", ""),
        ]])),
        "{}",
        "\
Named lists for `auto_approve`. A tool that one of them denies stays denied
even if another approves it. Built in are \"$readonly\" (read), \"$default\"
(read, write, edit, apply_patch), and \"$standard\" (those of \"$default\",
find, grep, ls, tool_search); \"$shell-safe\" approves `bash` for commands that
only read, see |flemma-shell-safe|; \"$trial\" has the others tried, and
approves those that change nothing, see |flemma-trials-rule|.
>lua
presets = { [\"$no-bash\"] = { deny = { \"bash\" } } }
<",
    ),
    option(
        "offer",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Tools that models are offered in addition to the default ones, see
|flemma-built-in-tools|: >lua

tools = { offer = { \"grep\", \"find\", \"ls\" }, auto_approve = { \"$standard\" } }
<
In one chat: `flemma.opt.tools:append(\"grep\")`.",
    )
    .scopes(PROJECT),
    table("autopilot", OptionKind::Table(&[AUTOPILOT]), ""),
    option(
        "default_timeout",
        OptionKind::Number(0.1, DAY),
        "30.0",
        "Maximum number of seconds that a tool runs.",
    ),
    option(
        "review",
        OptionKind::Choice(&["after", "always", "none"]),
        r#""after""#,
        "\
When you see the changes that calls make in files and that a rule approves.
\"after\": when the run is over, one line says how many files and lines changed,
with the diffs of at most three files and 60 lines; <CR> opens them all.
\"always\": each call of `write`, `edit`, and `apply_patch` waits for you.
\"none\": neither. Calls that no rule approves wait in any case. See
|flemma-review|.",
    )
    .scopes(ANYWHERE)
    .loosens(Loosens::Unless {
        strict: r#""always""#,
        what: "would change files that you have not reviewed",
    }),
    option(
        "diagnostics",
        OptionKind::Flag,
        "true",
        "\
Whether the result of a call that changes a file names the new syntax
errors, and the new diagnostics of language servers. See
|flemma-new-problems|.",
    ),
    option(
        "review_delay",
        OptionKind::Whole(0, 10_000),
        "500",
        "\
Milliseconds that a pending call must be visible before one press of Alt-Enter
runs it, so that a key that was meant for something else does not. Another
press runs it at once; a key that is held down does not. 0: no delay.",
    ),
    option(
        "max_concurrent",
        OptionKind::Whole(0, MANY),
        "4",
        "Maximum number of calls of a chat that run at the same time; 0: no limit.",
    ),
    option(
        "show_spinner",
        OptionKind::Flag,
        "true",
        "Whether running calls show a spinner.",
    ),
    option(
        "cursor_after_result",
        OptionKind::Choice(&["result", "stay", "next"]),
        r#""result""#,
        "\
Where the cursor goes when a call that asked gets its result: \"result\": to the
result, \"stay\": nowhere, \"next\": to the next `@You:`. A window at the end of
a chat always follows new text.",
    ),
    option(
        "lock_buffer",
        OptionKind::Flag,
        "false",
        "\
Whether the chat is not 'modifiable' while its tools run. If you are typing at
that moment, the text is refused, and the rest of it runs as commands.",
    ),
    option(
        "script_paths",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Folders with script tools, in addition to `flemma/tools` in your configuration
folder; see |flemma-script-tools|.",
    ),
    option(
        "script_libraries",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "Folders with Python modules for all script tools, in addition to each folder's\n`lib`.",
    ),
    table("bash", OptionKind::Table(&[BASH]), ""),
    table("http_get", OptionKind::Table(&[HTTP_GET]), ""),
];

const AUTOPILOT: &[OptionDef] = &[
    option(
        "enabled",
        OptionKind::Flag,
        "true",
        "\
Whether approved calls run and their results are sent without a key. It
stops if the same call fails with the same error in three requests.",
    )
    .scopes(ANYWHERE)
    .loosens(Loosens::WhenTurnedOn(
        "would send again by itself after each approved call",
    )),
    option(
        "max_turns",
        OptionKind::Whole(1, MANY),
        "100",
        "Maximum number of requests in a row without a key from you.",
    )
    .scopes(PROJECT)
    .loosens(Loosens::WhenRaised(
        "would send more requests in a row without a key from you",
    )),
    unset(
        "max_cost",
        OptionKind::Number(0.01, 1e6),
        "\
Price in US dollars at which autopilot stops and waits for a key. The request
that exceeds it is the last. Before a request to a model without a known price,
which could not be stopped, Neovim asks; `flemma send` fails. nil: no limit.",
    )
    .scopes(PROJECT)
    .loosens(Loosens::WhenRaised(
        "would spend more without a key from you",
    )),
];

const HTTP_GET: &[OptionDef] = &[option(
    "allow",
    OptionKind::List(&OptionKind::Text),
    "[]",
    "\
Hosts that `http_get` fetches from without asking: \"docs.rs\",
\"*.example.org\", \"localhost:8080\". Addresses that only this machine or its
network can reach are refused unless listed here: \"localhost\",
\"127.0.0.1\", \"10.0.0.0/8\".",
)
.scopes(RULES)
.loosens(Loosens::Always(
    "would fetch from these hosts without asking",
))];

const BASH: &[OptionDef] = &[
    unset(
        "shell",
        OptionKind::Text,
        "The shell that runs commands. nil: `bash`.",
    ),
    option(
        "cwd",
        OptionKind::Text,
        r#""$FLEMMA_BUFFER_PATH""#,
        "\
The folder in which commands run. \"$FLEMMA_BUFFER_PATH\" is the folder of the
chat, \"$CWD\" Neovim's working directory, \"~\" your home. A relative path starts
in \"$CWD\".",
    ),
    option(
        "env",
        OptionKind::Map(&OptionKind::Text),
        "{}",
        "Environment variables for commands, with their values.",
    ),
    option(
        "allow",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Commands that \"$shell-safe\" also approves: programs, or programs with the words
after them, such as \"tokei\" or \"go test\".",
    )
    .scopes(RULES)
    .loosens(Loosens::Always(
        "would let \"$shell-safe\" run these commands",
    )),
    option(
        "deny",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Commands that never run, even if approved. They are recognized by name, which
prevents mistakes, not attacks: what a program starts itself is not checked.
A project's list is added to yours.",
    )
    .scopes(PROJECT)
    .loosens(Loosens::Forbids),
    option(
        "unlisted",
        OptionKind::Choice(&["ask", "deny"]),
        r#""ask""#,
        "\
Commands that \"$shell-safe\" would not approve. \"ask\": the other rules
decide, and without one you are asked. \"deny\": they are refused.",
    )
    .scopes(PROJECT)
    .loosens(Loosens::Unless {
        strict: r#""deny""#,
        what: "would run commands that are refused now if a rule or you approve them",
    }),
    option(
        "trial",
        OptionKind::Flag,
        "true",
        "\
Whether commands can be tried with `:Flemma try`: run where they change nothing, to
see what they would do. See |flemma-trials|.",
    ),
    option(
        "trial_home",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Files and folders in your home folder that commands also see when \"$trial\"
tries them, besides the project and toolchains: \"~/.config/foo\". Secrets in
them stay hidden, and so does a folder with more than 30,000 entries. See
|flemma-trials-rule|.",
    ),
];
