//! Helpers that start an editor and read what a chat shows. They know the text of a
//! buffer and no internal types.

use std::time::{Duration, Instant};

use harness::{Editor, Provider, Setup};
use serde_json::{Value as Json, json};

/// A chat with an unanswered question.
pub const QUESTION: &str = "@You:\nGo.\n";

/// Keys that approve the next pending block by hand.
pub const APPROVE: &str = "/pending<CR>cwapproved<Esc>";

/// A setup that runs the host under test and has no provider.
pub fn offline() -> Setup {
    Setup::new().host(env!("CARGO_BIN_EXE_flemma"))
}

/// A setup that talks to `provider`.
pub fn setup(provider: &Provider) -> Setup {
    with_options(provider, json!({}))
}

/// A setup that talks to `provider`, with further options.
pub fn with_options(provider: &Provider, mut options: Json) -> Setup {
    options["provider"] = json!(provider.name());
    // Tests press keys immediately. `first_look` tests the delay.
    if options["tools"]["review_delay"].is_null() {
        options["tools"]["review_delay"] = json!(0);
    }
    offline().provider(provider).options(options)
}

/// A setup that talks to `provider`, with options in Lua: the text between the braces of
/// `setup({…})`.
pub fn with_lua_options(provider: &Provider, options: &str) -> Setup {
    let name = provider.name();
    let init = format!(
        "local options = {{ provider = '{name}', sandbox = {{ enabled = false }}, {options} }}
         options.tools = options.tools or {{}}
         options.tools.review_delay = 0
         require('flemma').setup(options)"
    );
    offline().provider(provider).init(&init)
}

/// An editor on a chat with this text.
#[track_caller]
pub fn open(provider: &Provider, text: &str) -> Editor {
    let editor = setup(provider).file("question.chat", text).start();
    watch(&editor);
    editor
}

/// An editor on a [`QUESTION`], with these options.
#[track_caller]
pub fn ask_with(provider: &Provider, options: Json) -> Editor {
    let setup = with_options(provider, options);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor
}

/// Arguments of a `bash` call.
pub fn command(command: &str) -> Json {
    json!({"label": "testing", "command": command, "timeout": null})
}

/// Arguments of a `read` call.
pub fn file(path: &str) -> Json {
    json!({"label": "testing", "path": path, "offset": null, "limit": null})
}

/// Waits until the buffer ends in `end`.
#[track_caller]
pub fn wait_end(editor: &Editor, end: &str) {
    editor.wait_for(&format!("a chat that ends in {end:?}"), |editor| {
        editor.text().ends_with(end)
    });
}

/// The result block of a call, from its header to its closing fence. Empty if there is
/// none.
#[track_caller]
pub fn result(editor: &Editor, id: &str) -> String {
    let text = editor.text();
    let Some(start) = text.find(&format!("**Tool Result:** `{id}`")) else {
        return String::new();
    };
    let block = &text[start..];
    let open = block.find("\n```").map_or(block.len(), |at| at + 1);
    let close = block[open..].find("\n```\n");
    let end = close.map_or(block.len(), |at| open + at + "\n```".len());
    block[..end].to_owned()
}

/// Waits until the result block of a call reads `expected`.
#[track_caller]
pub fn wait_result(editor: &Editor, id: &str, expected: &str) {
    editor.wait_for(&format!("the block\n{expected}\nof {id}"), |editor| {
        result(editor, id) == expected
    });
}

/// The state of a call: `ran`, `failed`, `waits`, or `denied`. Empty if it is undecided or
/// runs.
pub fn became(editor: &Editor, id: &str) -> &'static str {
    let block = result(editor, id);
    if block.contains("status=pending") {
        "waits"
    } else if block.contains("status=") || block.is_empty() {
        ""
    } else if block.contains("The tool was denied by a policy.") {
        "denied"
    } else if block.contains("(error)") {
        "failed"
    } else {
        "ran"
    }
}

/// Waits until each of these calls has a state, and returns their states.
#[track_caller]
pub fn outcomes<const N: usize>(editor: &Editor, ids: [&str; N]) -> [&'static str; N] {
    let all = |editor: &Editor| ids.map(|id| became(editor, id));
    editor.wait_for("something became of every call", |editor| {
        !all(editor).contains(&"")
    });
    all(editor)
}

/// A [`QUESTION`] below a frontmatter.
pub fn below(frontmatter: &str) -> String {
    format!("```lua\n{frontmatter}\n```\n\n{QUESTION}")
}

/// An editor on a chat that the user types: a [`QUESTION`] below a frontmatter.
/// Beside it is `f.txt`.
#[track_caller]
pub fn type_below(provider: &Provider, frontmatter: &str) -> Editor {
    let setup = setup(provider).with("f.txt", "a\n");
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.type_text(&below(frontmatter));
    editor
}

/// Presses Alt-Enter, and again if the call appeared just before the first press.
#[track_caller]
pub fn alt_enter(editor: &Editor) {
    /// A held key is repeated sooner, so such a press would not count.
    const NOT_HELD: Duration = Duration::from_millis(750);
    let pressed = Instant::now();
    let sentence = "Nothing was run: the call appeared as you pressed the key.";
    let refused = |editor: &Editor| editor.messages().matches(sentence).count();
    let (before, text) = (refused(editor), editor.text());
    editor.keys("<M-CR>");
    editor.wait_for("what the key does", |editor| {
        refused(editor) > before || editor.text() != text
    });
    if refused(editor) > before {
        editor.wait_for("a pause", |_| pressed.elapsed() > NOT_HELD);
        editor.keys("<M-CR>");
    }
}

/// Waits until the messages contain `text`, and returns all of them.
#[track_caller]
pub fn wait_message(editor: &Editor, text: &str) -> String {
    editor.wait_for(&format!("the message {text:?}"), |editor| {
        editor.messages().contains(text)
    });
    editor.messages()
}

/// Waits until the cursor is on a line that starts with `start`.
#[track_caller]
pub fn wait_cursor(editor: &Editor, start: &str) {
    editor.wait_for(&format!("the cursor on {start:?}"), |editor| {
        let lines = editor.lines();
        lines
            .get(editor.cursor().0)
            .is_some_and(|line| line.starts_with(start))
    });
}

/// Records Flemma's `User` events, for [`events`].
#[track_caller]
pub fn watch(editor: &Editor) {
    let code = r#"
        seen = {}
        vim.api.nvim_create_autocmd("User", { pattern = "Flemma*", callback = function(event)
          local about = (event.data or {}).tool_id or (event.data or {}).status or ""
          table.insert(seen, vim.trim(event.match .. " " .. about))
        end })
    "#;
    editor.lua(code, &json!([]));
}

/// Flemma's `User` events since [`watch`], each with its call or status.
#[track_caller]
pub fn events(editor: &Editor) -> Vec<String> {
    let seen = editor.lua("return seen", &json!([]));
    let names = seen.as_array().into_iter().flatten();
    names
        .map(|name| name.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Waits for one of the [`events`].
#[track_caller]
pub fn wait_event(editor: &Editor, event: &str) {
    editor.wait_for(&format!("the event {event}"), |editor| {
        events(editor).iter().any(|seen| seen == event)
    });
}

/// Waits until a diagnostic of the buffer contains `text`.
#[track_caller]
pub fn wait_diagnostic(editor: &Editor, text: &str) {
    let code = "return vim.tbl_map(function(it) return it.message end, vim.diagnostic.get(0))";
    editor.wait_for(&format!("the diagnostic {text:?}"), |editor| {
        let messages = editor.lua(code, &json!([]));
        let messages = messages.as_array().into_iter().flatten();
        messages
            .filter_map(Json::as_str)
            .any(|message| message.contains(text))
    });
}

/// Waits until the host has handled all keys and answers so far. No tool may be running.
#[track_caller]
pub fn at_rest(editor: &Editor) {
    // The host handles this command after everything before it, and answers.
    let sentence = "No tool is running here.";
    let said = |editor: &Editor| editor.messages().matches(sentence).count();
    let before = said(editor);
    editor.command("Flemma tool:cancel");
    editor.wait_for("the host's answer", |editor| said(editor) > before);
}

/// Fails unless exactly `count` requests were sent.
#[track_caller]
pub fn expect_requests(editor: &Editor, count: usize) {
    at_rest(editor);
    let started = events(editor);
    let started = started
        .iter()
        .filter(|name| name.starts_with("FlemmaRequestStarted"));
    assert_eq!(
        started.count(),
        count,
        "requests: {:#?}\n{}",
        events(editor),
        editor.text()
    );
}

/// The first Lua snippet after a tag of the manual.
pub fn manual_snippet(tag: &str) -> String {
    manual_text(tag, "lua")
}

/// The first snippet in a language after a tag of the manual.
pub fn manual_text(tag: &str, language: &str) -> String {
    let manual = harness::repository().join("doc/flemma.txt");
    let text = std::fs::read_to_string(manual).unwrap();
    let rest = text.split(&format!("*{tag}*")).nth(1).unwrap();
    let code = rest.split(&format!(">{language}\n")).nth(1).unwrap();
    code.split("\n<").next().unwrap().to_owned()
}

/// Waits until the language server serves the chat.
#[track_caller]
pub fn wait_server(editor: &Editor) {
    editor.wait_for("the language server", |editor| {
        let code = "local client = vim.lsp.get_clients({ bufnr = 0, name = 'flemma' })[1]
          return client ~= nil and client.initialized == true";
        editor.lua(code, &json!([])) == json!(true)
    });
}

/// Returns the tools that a request to Anthropic offers: from its beginning, and in messages.
pub fn offered_tools(body: &Json) -> Vec<Json> {
    let first = body["tools"].as_array().into_iter().flatten();
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|it| it["content"].as_array().into_iter().flatten());
    let added = blocks.filter(|it| it["type"] == "tool_addition");
    let added = added.map(|it| &it["tool"]["definition"]);
    first.chain(added).cloned().collect()
}

/// Returns the names of [`offered_tools`].
pub fn offered_names(body: &Json) -> Vec<String> {
    let tools = offered_tools(body).into_iter();
    tools
        .filter_map(|it| Some(it["name"].as_str()?.to_owned()))
        .collect()
}
