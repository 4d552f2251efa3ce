//! The sub-commands of `:Flemma`: what they do, and which words they take.

use chat::suggest;
use serde::Serialize;

/// A sub-command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CommandRow {
    /// Its name.
    pub name: &'static str,
    /// Its effect, in one line.
    pub help: &'static str,
    /// Completions of its words.
    pub words: &'static [&'static str],
}

const fn row(name: &'static str, help: &'static str) -> CommandRow {
    CommandRow {
        name,
        help,
        words: &[],
    }
}

impl CommandRow {
    const fn words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

/// All sub-commands, sorted.
pub const COMMANDS: [CommandRow; 64] = [
    row("allow", "Choose a rule that approves calls like the one at the cursor."),
    row("allow!", "Open the file with these rules."),
    row("allow-file", "Let this chat send the secret or outside file that this line names."),
    row("approve", "Approve the call at the cursor, or the only pending call; with `all`, every one.").words(&["all"]),
    row("ask", "Put the selected lines and a question into the last chat, and send the question."),
    row("ask!", "The same in a new chat."),
    row("autopilot:disable", "Wait for a key after each step."),
    row("autopilot:enable", "Continue without a key after approved calls."),
    row("autopilot:status", "Show whether autopilot is on."),
    row("cancel", "Stop the request, or cancel all running and pending calls."),
    row("chats", "Pick a chat of this project; with `all`, of all projects.").words(&["all"]),
    row("compact", "Have the model summarize the earlier messages; you edit the summary before it replaces them."),
    row("context", "Show what the next request contains: tokens by part, what is cached, and the price."),
    row("edit", "Let a model change the selected lines, and review what it proposes; alone, open the last edit."),
    row("export", "Open this chat as Markdown, or as HTML under a name that ends in .html."),
    row("fix", "Apply the fix for the diagnostic on this line."),
    row("fork", "Open a copy of this chat, up to the message at the cursor."),
    row("install", "Install the host program of this version, or build it with cargo."),
    row("jobs", "List the background jobs of all chats, with their logs."),
    row("log", "Show the latest decisions and calls."),
    row("mcp", "List the MCP servers, or the tools of one."),
    row("mcp:accept", "Accept the tools of a server as it describes them now."),
    row("mcp:login", "Log in at an MCP server, in your browser."),
    row("mcp:logout", "Remove the login at an MCP server."),
    row("mcp:restart", "Restart an MCP server."),
    row("mcp:trust", "Trust the servers that the project's .mcp.json names."),
    row("new", "Open a new chat from a template."),
    row("paste", "Save the image of the clipboard beside this chat, and refer to it."),
    row("pending", "Pick a pending call of all open chats, and go to it."),
    row("plan", "Let this chat only read, search, and try commands, or end that."),
    row("queue", "Send this when the model is done; without words, list queued messages."),
    row("queue!", "Move the queued messages into the prompt."),
    row("redo", "Take the last undo back."),
    row("refresh", "Send files and other references as they are now, not as they were sent first."),
    row("reject", "Reject the call at the cursor, or the only pending call, for this reason."),
    row("rename", "Rename this chat's file to a title, by default its first words."),
    row("restart", "Restart the host process."),
    row("review", "Decide about the call at the cursor; with `turn`, revert parts of what changed since a message."),
    row("review!", "Review every change of files in this chat, or only those that ask."),
    row("rewind", "Restore the files, or the chat, as they were at an earlier message."),
    row("rules", "Add references to the project's rules, such as AGENTS.md, to this chat."),
    row("run", "Run a command written as YAML: its name, then its arguments."),
    row("sandbox:clear", "Remove what trials of this chat wrote to ignored folders."),
    row("sandbox:disable", "Run commands without the sandbox, with all of your permissions."),
    row("sandbox:enable", "Run commands in the sandbox."),
    row("sandbox:status", "Show the sandbox that commands run in, or why there is none."),
    row("search", "Put the lines of all chats with these words into the quickfix list."),
    row("send", "Send the chat now."),
    row("shorten", "Send old results shortened from the next request on; the chat keeps them whole."),
    row("shorten!", "Send all results whole again."),
    row("skills", "Add the list of skills to this chat."),
    row("status", "Show provider, model, and tools of this chat. `verbose`: show all options."),
    row("steer", "Interrupt the model with a message. Calls that have not started are skipped."),
    row("switch", "Use another provider, model, or preset for this chat. Without arguments: pick one."),
    row("switch!", "Use another provider, model, or preset for all chats."),
    row("tool:cancel", "Cancel the running call at the cursor, or the oldest one."),
    row("tool:cancel-all", "Same as cancel."),
    row("tool:list", "List running calls and all tools."),
    row("trust", "Trust this chat's frontmatter, and ask about the project's settings. `project`, `tools`: only these.").words(&["project", "tools"]),
    row("trust!", "Revoke that trust, and the grants of allow-file.").words(&["project", "tools"]),
    row("try", "Try the command at the cursor: run it where it changes nothing, and show what it would do."),
    row("tutor", "Open an offline tutorial chat."),
    row("undo", "Restore the files that the last call changed, or only this file."),
    row("usage", "Show tokens and cost of this chat, and of all chats in the last 30 days or as many as you give."),
];

/// Returns the names of all sub-commands.
fn names() -> Vec<&'static str> {
    COMMANDS.iter().map(|it| it.name).collect()
}

/// Returns the message for a name that is not a sub-command.
pub fn unknown(name: &str) -> String {
    let names = names();
    let members = |group: &str| {
        let prefix = format!("{group}:");
        let members = names.iter().filter(|it| it.starts_with(&prefix)).copied();
        members.collect::<Vec<&str>>()
    };
    let group = members(name);
    if !group.is_empty() {
        let group = group.join(", ");
        return format!(":Flemma {name} is a group. Its commands: {group}.");
    }
    if let Some(nearest) = suggest(name, names.iter().copied()) {
        return format!("There is no command \"{name}\". Did you mean \"{nearest}\"?");
    }
    let others = name.split_once(':').map(|(group, _)| members(group));
    let others = others.filter(|it| !it.is_empty()).unwrap_or(names.clone());
    format!(
        "There is no command \"{name}\". Commands: {}.",
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The files of the help.
    fn help() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../doc");
        let files = ["flemma.txt", "flemma-cookbook.txt"];
        files
            .map(|it| std::fs::read_to_string(folder.join(it)).unwrap())
            .to_vec()
    }

    #[test]
    fn sub_commands_are_sorted() {
        assert!(names().is_sorted(), "{:?}", names());
    }

    #[test]
    fn every_sub_command_has_a_help_tag() {
        let help = help().concat();
        let lacks_tag = |name: &&str| !help.contains(&format!("*:Flemma-{name}*"));
        let missing: Vec<&str> = names().into_iter().filter(lacks_tag).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn the_help_names_only_sub_commands_that_exist() {
        let names: BTreeSet<&str> = names().into_iter().collect();
        let mut unknown = Vec::new();
        for line in help().iter().flat_map(|it| it.lines()) {
            for (at, start) in line.match_indices("Flemma ") {
                let before = line[..at].chars().next_back();
                let rest = &line[at + start.len()..];
                let is_part = |it: char| it.is_ascii_lowercase() || it == ':' || it == '-';
                let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                let is_forced = rest[end..].starts_with('!');
                let name = &rest[..end + usize::from(is_forced)];
                // A word such as {name} or ... stands for others.
                let is_name = name.starts_with(|it: char| it.is_ascii_lowercase());
                let is_command = before.is_some_and(|it| ":>,".contains(it)) && is_name;
                let plain = name.trim_end_matches([':', '-']);
                if is_command && !names.contains(name) && !names.contains(plain) {
                    unknown.push(line.to_owned());
                }
            }
        }
        assert_eq!(unknown, Vec::<String>::new());
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest_one_and_a_group_its_members() {
        for (name, expected) in [
            (
                "stauts",
                "There is no command \"stauts\". Did you mean \"status\"?",
            ),
            (
                "alow",
                "There is no command \"alow\". Did you mean \"allow\"?",
            ),
            (
                "sedn",
                "There is no command \"sedn\". Did you mean \"send\"?",
            ),
            (
                "tool",
                ":Flemma tool is a group. Its commands: tool:cancel, tool:cancel-all, tool:list.",
            ),
            (
                "sandbox:off",
                "There is no command \"sandbox:off\". Commands: sandbox:clear, sandbox:disable, sandbox:enable, \
                 sandbox:status.",
            ),
        ] {
            assert_eq!(unknown(name), expected);
        }
        assert!(unknown("xyzzy").starts_with("There is no command \"xyzzy\". Commands: allow, "));
    }
}
