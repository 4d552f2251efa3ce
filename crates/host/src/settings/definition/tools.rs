//! The options in the table `tools`. Other tables stand one level up.

use super::{DAY, Field};
use crate::settings::kind::{Kind, MANY};

pub(super) const TOOLS: &[Field] = &[
    Field::new(
        "require_approval",
        Kind::Flag,
        "true",
        "false: calls that no rule speaks of run without asking.",
    ),
    Field::new(
        "auto_approve",
        Kind::Any(&[Kind::List(&Kind::Text), Kind::Function, Kind::Module]),
        r#"["$default"]"#,
        "\
A list of tool names, presets and modules that say what runs without
asking, or a function: >lua

auto_approve = function(tool_name, input, context)
  if tool_name == \"calculator\" then return true end        -- run
  if tool_name == \"bash\" and input.command:match(\"rm %-rf\") then
    return \"deny\"                                           -- refuse
  end
  return false                                              -- ask
end
<
nil passes to the next rule. When the function fails, the call waits.
A chat's frontmatter may set a list of its own. What is denied here, by a
preset or this function, stays denied there; a call about which this
function asks or fails waits there too.
A preset that does not exist, or a slip for a tool, is an error when setup()
is called. Any other name may be that of a tool that is registered later.
A name with a dot is a module with a function `resolve`, see
|flemma.tools.approval|; it is loaded when it is first asked.",
    )
    .in_frontmatter("tools.auto_approve"),
    Field::new(
        "presets",
        Kind::Map(&Kind::Table(&[&[
            Field::new("approve", Kind::List(&Kind::Text), "[]", ""),
            Field::new("deny", Kind::List(&Kind::Text), "[]", ""),
        ]])),
        "{}",
        "\
Named lists, to be used in `auto_approve`. What one denies, no other
approves. There are \"$readonly\" (read), \"$default\" (read, write, edit) and
\"$standard\" (those of \"$default\", find, grep, ls, tool_search);
\"$shell-safe\" approves `bash` for commands that only read, see
|flemma-shell-safe|.
>lua
presets = { [\"$no-bash\"] = { deny = { \"bash\" } } }
<",
    ),
    Field::new(
        "offer",
        Kind::List(&Kind::Text),
        "[]",
        "\
Tools that models are offered beside those that always are: `grep`, `find`
and `ls` are there and not offered. >lua

tools = { offer = { \"grep\", \"find\", \"ls\" }, auto_approve = { \"$standard\" } }
<
In one chat: `flemma.opt.tools:append(\"grep\")`.",
    ),
    Field::table("autopilot", Kind::Table(&[AUTOPILOT]), ""),
    Field::new(
        "default_timeout",
        Kind::Number(0.1, DAY),
        "30.0",
        "Seconds a tool may run before it is stopped.",
    ),
    Field::new(
        "review_delay",
        Kind::Whole(0, 10_000),
        "500",
        "\
Milliseconds that a waiting call has to be on the screen before one press of
Alt-Enter runs it: a key that was meant for something else does not. A second
press runs it at once. 0 turns that off.",
    ),
    Field::new(
        "max_concurrent",
        Kind::Whole(0, MANY),
        "4",
        "Most calls of a chat that run at the same time; 0 is any number.",
    ),
    Field::new(
        "show_spinner",
        Kind::Flag,
        "true",
        "Whether running calls show that they run.",
    ),
    Field::new(
        "cursor_after_result",
        Kind::Choice(&["result", "stay", "next"]),
        r#""result""#,
        "\
Where the cursor goes when a call that waited for you gets its result: to the
result, nowhere, or to the next `@You:`. A window at the end of a chat follows
what is written there in any case.",
    ),
    Field::new(
        "lock_buffer",
        Kind::Flag,
        "false",
        "\
Whether the chat is not 'modifiable' while its tools run. The price: what you
type at that moment is refused, and the rest of it runs as commands.",
    ),
    Field::new(
        "script_paths",
        Kind::List(&Kind::Text),
        "[]",
        "\
Folders with tools of yours, each a folder with a `tool.toml` and a script,
beside `flemma/tools` in your configuration folder; see
|flemma-script-tools|.",
    ),
    Field::new(
        "script_libraries",
        Kind::List(&Kind::Text),
        "[]",
        "Folders with Python modules for all of them, beside each folder's `lib`.",
    ),
    Field::table("bash", Kind::Table(&[BASH]), ""),
    Field::table("http_get", Kind::Table(&[HTTP_GET]), ""),
];

const AUTOPILOT: &[Field] = &[
    Field::new(
        "enabled",
        Kind::Flag,
        "true",
        "Whether the steps chain by themselves. They stop when the same call fails with the same error in three requests.",
    )
    .in_frontmatter("tools.autopilot"),
    Field::new(
        "max_turns",
        Kind::Whole(1, MANY),
        "100",
        "Most requests in a row without you.",
    ),
];

const HTTP_GET: &[Field] = &[Field::new(
    "allow",
    Kind::List(&Kind::Text),
    "[]",
    "\
Hosts that `http_get` fetches from without asking: \"docs.rs\",
\"*.example.org\", \"localhost:8080\". What only this machine or its network
can reach is refused unless its address or network stands here as well:
\"localhost\", \"127.0.0.1\", \"10.0.0.0/8\".",
)];

const BASH: &[Field] = &[
    Field::new(
        "shell",
        Kind::Text,
        "null",
        "The shell that runs commands. nil: `bash`.",
    ),
    Field::new(
        "cwd",
        Kind::Text,
        r#""$FLEMMA_BUFFER_PATH""#,
        "\
The folder they run in. \"$FLEMMA_BUFFER_PATH\" is the chat's, \"$CWD\" Neovim's
working directory, \"~\" your home; a relative path starts in \"$CWD\".",
    ),
    Field::new(
        "env",
        Kind::Map(&Kind::Text),
        "{}",
        "What is added to their environment.",
    ),
    Field::new(
        "allow",
        Kind::List(&Kind::Text),
        "[]",
        "\
Commands that \"$shell-safe\" approves as well: programs, or programs and
the words behind them, such as \"tree\" or \"go test\".",
    ),
    Field::new(
        "deny",
        Kind::List(&Kind::Text),
        "[]",
        "\
Commands that never run, whoever approves them. Seen by their names, so it
is good against slips; what a program does inside is not seen.",
    ),
    Field::new(
        "unlisted",
        Kind::Choice(&["ask", "deny"]),
        r#""ask""#,
        "\
Commands that \"$shell-safe\" would not approve. \"ask\": the other rules
decide, and without one you are asked. \"deny\": they are refused.",
    ),
];
