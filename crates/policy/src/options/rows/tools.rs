//! The table `tools`.

use super::{ANYWHERE, DAY, Kind, Loosens, MANY, OptionDef, RULES, option, table, unset};
use crate::options::Scope;

pub(super) const TOOLS: &[OptionDef] = &[
    option(
        "require_approval",
        Kind::Flag,
        "true",
        "false: calls that no rule decides run without asking.",
    ),
    option(
        "auto_approve",
        Kind::Any(&[Kind::List(&Kind::Text), Kind::Function, Kind::Module]),
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
nil passes to the next rule. If the function fails, the call waits.
A chat's frontmatter may set a list of its own. What is denied here, by a
preset or this function, stays denied there; a call about which this
function asks or fails waits there too.
A preset that does not exist and a misspelled tool are errors. Any other name
may be that of a tool that is registered later.
A name with a dot is a module with a function `resolve`, see
|flemma.tools.approval|; it is loaded when it is first asked.",
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
        Kind::Map(&Kind::Table(&[&[
            option("approve", Kind::List(&Kind::Text), "[]", ""),
            option("deny", Kind::List(&Kind::Text), "[]", ""),
        ]])),
        "{}",
        "\
Named lists for `auto_approve`. A tool that one of them denies stays denied
even if another approves it. Built in are \"$readonly\" (read), \"$default\"
(read, write, edit), and \"$standard\" (those of \"$default\", find, grep, ls,
tool_search); \"$shell-safe\" approves `bash` for commands that only read, see
|flemma-shell-safe|.
>lua
presets = { [\"$no-bash\"] = { deny = { \"bash\" } } }
<",
    ),
    option(
        "offer",
        Kind::List(&Kind::Text),
        "[]",
        "\
Tools that models are offered in addition to the usual ones. `grep`, `find`,
and `ls` exist but are not offered by default. >lua

tools = { offer = { \"grep\", \"find\", \"ls\" }, auto_approve = { \"$standard\" } }
<
In one chat: `flemma.opt.tools:append(\"grep\")`.",
    ),
    table("autopilot", Kind::Table(&[AUTOPILOT]), ""),
    option(
        "default_timeout",
        Kind::Number(0.1, DAY),
        "30.0",
        "Seconds a tool may run before it is stopped.",
    ),
    option(
        "review_delay",
        Kind::Whole(0, 10_000),
        "500",
        "\
Milliseconds that a pending call must be visible before one press of
Alt-Enter runs it, so that a key meant for something else does not. A second
press runs it at once. 0: no delay.",
    ),
    option(
        "max_concurrent",
        Kind::Whole(0, MANY),
        "4",
        "Most calls of a chat that run at the same time; 0: no limit.",
    ),
    option(
        "show_spinner",
        Kind::Flag,
        "true",
        "Whether running calls show a spinner.",
    ),
    option(
        "cursor_after_result",
        Kind::Choice(&["result", "stay", "next"]),
        r#""result""#,
        "\
Where the cursor goes when a call that waited for you gets its result: to the
result, nowhere, or to the next `@You:`. A window at the end of a chat always
follows new text.",
    ),
    option(
        "lock_buffer",
        Kind::Flag,
        "false",
        "\
Whether the chat is not 'modifiable' while its tools run. Text that you type
at that moment is then refused, and the rest of it runs as commands.",
    ),
    option(
        "script_paths",
        Kind::List(&Kind::Text),
        "[]",
        "\
Folders with tools of yours, each a folder with a `tool.toml` and a script,
in addition to `flemma/tools` in your configuration folder; see
|flemma-script-tools|.",
    ),
    option(
        "script_libraries",
        Kind::List(&Kind::Text),
        "[]",
        "Folders with Python modules for all of them, in addition to each folder's `lib`.",
    ),
    table("bash", Kind::Table(&[BASH]), ""),
    table("http_get", Kind::Table(&[HTTP_GET]), ""),
];

const AUTOPILOT: &[OptionDef] = &[
    option(
        "enabled",
        Kind::Flag,
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
        Kind::Whole(1, MANY),
        "100",
        "Most requests in a row without you.",
    ),
];

const HTTP_GET: &[OptionDef] = &[option(
    "allow",
    Kind::List(&Kind::Text),
    "[]",
    "\
Hosts that `http_get` fetches from without asking: \"docs.rs\",
\"*.example.org\", \"localhost:8080\". Addresses that only this machine or its
network can reach are refused unless listed here: \"localhost\",
\"127.0.0.1\", \"10.0.0.0/8\".",
)
.scopes(RULES)];

const BASH: &[OptionDef] = &[
    unset(
        "shell",
        Kind::Text,
        "The shell that runs commands. nil: `bash`.",
    ),
    option(
        "cwd",
        Kind::Text,
        r#""$FLEMMA_BUFFER_PATH""#,
        "\
The folder they run in. \"$FLEMMA_BUFFER_PATH\" is the chat's, \"$CWD\" Neovim's
working directory, \"~\" your home; a relative path starts in \"$CWD\".",
    ),
    option(
        "env",
        Kind::Map(&Kind::Text),
        "{}",
        "Variables added to their environment.",
    ),
    option(
        "allow",
        Kind::List(&Kind::Text),
        "[]",
        "\
Commands that \"$shell-safe\" approves as well: programs, or programs and
the words after them, such as \"tree\" or \"go test\".",
    )
    .scopes(RULES),
    option(
        "deny",
        Kind::List(&Kind::Text),
        "[]",
        "\
Commands that never run, even if approved. They are recognized by name, which
guards against mistakes; what a program does inside is not seen.",
    ),
    option(
        "unlisted",
        Kind::Choice(&["ask", "deny"]),
        r#""ask""#,
        "\
Commands that \"$shell-safe\" would not approve. \"ask\": the other rules
decide, and without one you are asked. \"deny\": they are refused.",
    ),
];
