//! `[y/N]` and `[y/N/e]`: the question about a pending call, and its answer from standard
//! input, typed or piped. The end of standard input means that there is no user.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::sync::mpsc as blocking;

use serde_json::Value;
use session::protocol::DiffItem;
use session::resolver_calls::RUNS_FREE;
use tokio::sync::oneshot;

/// Maximum number of lines of an argument in a question.
const LINES: usize = 60;
/// The answers besides y and n.
const ANSWERS: &str = "(a: yes, and from now on; any other text: no, for this reason)";
/// Maximum bytes of an argument that is shown beside a diff.
const SHORT: usize = 80;
/// Maximum number of columns of a line.
const COLUMNS: usize = 400;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// Run the call.
    Yes,
    /// Run it, and calls like it from now on.
    Always,
    /// Reject it, for this reason.
    No(Option<String>),
    /// Edit what it would change.
    Edit,
    /// Standard input has ended.
    EndOfInput,
}

/// Reads lines of standard input on request, in a thread that lives as long as the process.
#[derive(Debug, Default)]
pub struct StdinLines(Option<blocking::Sender<oneshot::Sender<Option<String>>>>);

impl StdinLines {
    /// Requests the next line, which is `None` at the end of standard input.
    pub fn next(&mut self) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        let thread = self.0.get_or_insert_with(|| {
            let (requests, queue) = blocking::channel();
            // Reading standard input cannot be cancelled, so no task of the runtime may do it.
            std::thread::spawn(move || read_lines(&queue));
            requests
        });
        // Fails only if the thread has panicked. The receiver then reports the end of input.
        drop(thread.send(sender));
        receiver
    }
}

fn read_lines(queue: &blocking::Receiver<oneshot::Sender<Option<String>>>) {
    for request in queue {
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line);
        let line = count.is_ok_and(|it| it > 0).then_some(line);
        // Fails if the run has ended meanwhile.
        let _ = request.send(line);
    }
}

/// Returns true if the user can be asked: a question needs a place to be shown and one to be
/// answered.
pub fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Parses the line that answers a question about a call. Prints the answer unless a terminal has
/// echoed it.
pub fn answer(line: Option<String>, can_edit: bool) -> Confirmation {
    let answer = line.map_or(Confirmation::EndOfInput, |line| parse(&line, can_edit));
    // Otherwise the log of a script would show a question without an answer.
    if !io::stdin().is_terminal() {
        let is_yes = matches!(answer, Confirmation::Yes | Confirmation::Always);
        eprintln!("{}", if is_yes { "y" } else { "n" });
    }
    answer
}

fn parse(line: &str, can_edit: bool) -> Confirmation {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Confirmation::Yes,
        "e" | "edit" if can_edit => Confirmation::Edit,
        "a" | "always" => Confirmation::Always,
        "" | "n" | "no" | "e" => Confirmation::No(None),
        // Anything unclear is a no, as the capital N promises, and the model learns it.
        _ => Confirmation::No(Some(line.trim().to_owned())),
    }
}

/// Returns the last line of a question, behind which the answer is typed.
pub fn last_line(can_edit: bool) -> &'static str {
    if can_edit {
        "[flemma] Continue? [y/N, or e to edit the diff]: "
    } else {
        "[flemma] Continue? [y/N]: "
    }
}

/// Returns the question about a call above its last line, with all of the call's arguments. Those
/// that `diff` shows are left out.
///
/// `is_unsandboxed` is true for a command that should run in a sandbox and cannot.
pub fn question(
    tool: &str,
    input: &Value,
    folder: &Path,
    is_unsandboxed: bool,
    diff: &[DiffItem],
) -> String {
    // The decision is about the call inside `execute_tool`.
    let inner = chat::approval::inside(tool, input);
    let (tool, input) = match &inner {
        Some((name, arguments)) => (*name, arguments),
        None => (tool, input),
    };
    let tool_shown = chat::preview::one_line(tool, COLUMNS);
    let mut lines = match write_target(input, folder) {
        Some((path, content)) => vec![
            format!("Tool {tool_shown} wants to write to {path}"),
            format!("Content: {content}"),
        ],
        None => vec![format!("Tool {tool_shown} wants to run:")],
    };
    let has_diff = diff.iter().any(|file| !file.rows.is_empty());
    for (name, value) in input.as_object().into_iter().flatten() {
        let is_in_diff = has_diff && is_content(value);
        if !value.is_null() && !is_in_diff {
            lines.extend(argument(name, value));
        }
    }
    if is_unsandboxed {
        lines.push(format!("UNSANDBOXED: {RUNS_FREE}"));
    }
    lines.push(ANSWERS.to_owned());
    if !io::stdin().is_terminal() {
        lines.push("The answer is the next line of standard input.".to_owned());
    }
    lines.iter().map(|it| format!("[flemma] {it}\n")).collect()
}

/// Returns true if an argument may be the content of a file, or a part of it.
fn is_content(value: &Value) -> bool {
    let is_long = |text: &String| text.contains('\n') || text.len() > SHORT;
    match value {
        Value::String(text) => is_long(text),
        Value::Array(_) | Value::Object(_) => true,
        _ => false,
    }
}

/// Returns the real path that a call writes to and a description of the content, if its
/// arguments are those of `write`.
fn write_target(input: &Value, folder: &Path) -> Option<(String, String)> {
    let (path, content) = (
        input.get("path")?.as_str()?,
        input.get("content")?.as_str()?,
    );
    let path = tools::resolve(folder, path).ok()?;
    let real = tools::leads_to(&path);
    let appends = input.get("append").and_then(Value::as_bool) == Some(true);
    // The user must know before the answer whether something is lost.
    let how = match std::fs::metadata(&real) {
        Ok(_) if appends => "at the end of a file that exists".to_owned(),
        Ok(old) => format!("overwriting a file of {} bytes", old.len()),
        Err(_) => "a new file".to_owned(),
    };
    let path = chat::preview::one_line(&real.to_string_lossy(), COLUMNS);
    Some((path, format!("{} bytes, {how}", content.len())))
}

/// Returns the lines that show an argument.
fn argument(name: &str, value: &Value) -> Vec<String> {
    let name = chat::preview::one_line(name, COLUMNS);
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let all: Vec<&str> = text.split('\n').collect();
    let show = |line: &str| chat::preview::one_line(line, COLUMNS);
    if let [only] = all.as_slice() {
        return vec![format!("  {name}: {}", show(only))];
    }
    let mut lines = vec![format!("  {name}, {} lines:", all.len())];
    let shown = all.len().min(LINES);
    lines.extend(
        all[..shown]
            .iter()
            .map(|line| format!("    {}", show(line))),
    );
    // The last line too, so that nothing can hide behind a long beginning.
    if let Some(last) = all[shown..].last() {
        lines.push(format!("    … {} more lines, the last:", all.len() - shown));
        lines.push(format!("    {}", show(last)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_shows_a_command_in_full() {
        let input = json!({"command": "ls\nrm -rf \u{202e}x", "timeout": null});
        let asked = question("bash", &input, Path::new("/p"), false, &[]);
        assert!(asked.starts_with(
            "[flemma] Tool bash wants to run:\n[flemma]   command, 2 lines:\n[flemma]     ls\n"
        ));
        assert!(asked.contains("[flemma]     rm -rf <202e>x\n"), "{asked}");
        assert!(!asked.contains('\u{202e}') && !asked.contains("timeout"));
    }

    #[test]
    fn a_long_argument_is_shown_with_its_last_line() {
        let command = format!("ls{}rm -rf ~", "\n".repeat(300));
        let asked = question(
            "bash",
            &json!({"command": command}),
            Path::new("/p"),
            false,
            &[],
        );
        assert!(
            asked.contains("301 lines") && asked.contains("rm -rf ~"),
            "{asked}"
        );
    }

    #[test]
    fn a_write_shows_its_path_and_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let input = json!({"path": "new.txt", "content": "hällo"});
        let asked = question("write", &input, folder.path(), false, &[]);
        assert!(
            asked.contains("wants to write to /") && asked.contains("/new.txt\n"),
            "{asked}"
        );
        assert!(asked.contains("Content: 6 bytes, a new file"), "{asked}");
    }

    #[test]
    fn what_a_diff_shows_is_not_shown_again() {
        let input = json!({"path": "f", "label": "fix", "oldText": "a\nb", "newText": "c\nd"});
        let asked = |diff: &[DiffItem]| question("edit", &input, Path::new("/p"), false, diff);
        assert!(asked(&[]).contains("newText, 2 lines:"));
        let row = session::protocol::DiffRow::default();
        let diff = DiffItem {
            rows: vec![row],
            ..DiffItem::default()
        };
        let asked = asked(&[diff]);
        assert!(
            asked.contains("path: f") && asked.contains("label: fix"),
            "{asked}"
        );
        assert!(!asked.contains("newText"), "{asked}");
    }

    #[test]
    fn only_y_and_yes_mean_yes() {
        for (line, answer) in [
            ("y\n", Confirmation::Yes),
            (" YES \n", Confirmation::Yes),
            ("a\n", Confirmation::Always),
            ("Always\n", Confirmation::Always),
            ("\n", Confirmation::No(None)),
            ("N\n", Confirmation::No(None)),
            ("e\n", Confirmation::No(None)),
            ("yolo\n", Confirmation::No(Some("yolo".to_owned()))),
            (
                " Use make. \n",
                Confirmation::No(Some("Use make.".to_owned())),
            ),
        ] {
            assert_eq!(parse(line, false), answer, "{line:?}");
        }
        assert_eq!(parse("e\n", true), Confirmation::Edit);
        assert_eq!(
            parse("else\n", true),
            Confirmation::No(Some("else".to_owned()))
        );
    }
}
