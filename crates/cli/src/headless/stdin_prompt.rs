//! `[y/N]`: the question about a call that waits, and the answer from standard
//! input, typed or piped. Where no line comes, nobody was there.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::sync::mpsc as blocking;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::resolver_calls::RUNS_FREE;

/// Most lines of one argument that a question shows.
const LINES: usize = 60;
/// Most columns of a line.
const COLUMNS: usize = 400;

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Run it.
    Yes,
    /// Do not.
    No,
    /// Standard input is at its end.
    Nobody,
}

/// Reads answers, on a thread of its own that lives as long as the process.
#[derive(Debug, Default)]
pub struct Answers(Option<blocking::Sender<oneshot::Sender<Option<String>>>>);

impl Answers {
    /// Where the next line arrives; none at the end of standard input.
    pub fn next(&mut self) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        let thread = self.0.get_or_insert_with(|| {
            let (questions, queue) = blocking::channel();
            std::thread::spawn(move || read_answers(&queue));
            questions
        });
        drop(thread.send(sender));
        receiver
    }
}

fn read_answers(queue: &blocking::Receiver<oneshot::Sender<Option<String>>>) {
    for question in queue {
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line);
        let line = count.is_ok_and(|it| it > 0).then_some(line);
        // Who gave up meanwhile needs no answer.
        let _ = question.send(line);
    }
}

/// What a line answers to `[y/N]`. It is shown where no terminal has shown it.
pub fn answer(line: Option<String>) -> Answer {
    let answer = line.map_or(Answer::Nobody, |line| read(&line));
    if !io::stdin().is_terminal() {
        eprintln!("{}", if answer == Answer::Yes { "y" } else { "n" });
    }
    answer
}

fn read(line: &str) -> Answer {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}

/// What is asked: all that the call would do, nothing in it hidden.
///
/// `runs_free` is whether it is a command that should be held by a sandbox and is not.
pub fn question(tool: &str, input: &Value, folder: &Path, runs_free: bool) -> String {
    let inner = chat::approval::inside(tool, input);
    let (tool, input) = match &inner {
        Some((name, arguments)) => (*name, arguments),
        None => (tool, input),
    };
    let tool_shown = chat::preview::one_line(tool, COLUMNS);
    let mut lines = match writes(input, folder) {
        Some((path, what)) => vec![
            format!("Tool {tool_shown} wants to write to {path}"),
            format!("Content: {what}"),
        ],
        None => vec![format!("Tool {tool_shown} wants to run:")],
    };
    for (name, value) in input.as_object().into_iter().flatten() {
        if !value.is_null() {
            lines.extend(argument(name, value));
        }
    }
    if runs_free {
        lines.push(format!("UNSANDBOXED: {RUNS_FREE}"));
    }
    lines.push("Continue? [y/N]: ".to_owned());
    let lines: Vec<String> = lines.iter().map(|it| format!("[flemma] {it}")).collect();
    lines.join("\n")
}

/// Where a call writes and how much, if it says so.
fn writes(input: &Value, folder: &Path) -> Option<(String, String)> {
    let (path, content) = (
        input.get("path")?.as_str()?,
        input.get("content")?.as_str()?,
    );
    let path = tools::resolve(folder, path).ok()?;
    let real = tools::leads_to(&path);
    let appends = input.get("append").and_then(Value::as_bool) == Some(true);
    let how = match std::fs::metadata(&real) {
        Ok(_) if appends => "at the end of a file that exists".to_owned(),
        Ok(old) => format!("overwriting a file of {} bytes", old.len()),
        Err(_) => "a new file".to_owned(),
    };
    let path = chat::preview::one_line(&real.to_string_lossy(), COLUMNS);
    Some((path, format!("{} bytes, {how}", content.len())))
}

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
    fn a_question_shows_all_of_a_command() {
        let input = json!({"command": "ls\nrm -rf \u{202e}x", "timeout": null});
        let asked = question("bash", &input, Path::new("/p"), false);
        assert!(asked.starts_with(
            "[flemma] Tool bash wants to run:\n[flemma]   command, 2 lines:\n[flemma]     ls\n"
        ));
        assert!(asked.ends_with("\n[flemma] Continue? [y/N]: "), "{asked}");
        assert!(!asked.contains('\u{202e}') && !asked.contains("timeout"));
    }

    #[test]
    fn what_is_too_long_says_how_it_ends() {
        let command = format!("ls{}rm -rf ~", "\n".repeat(300));
        let asked = question("bash", &json!({"command": command}), Path::new("/p"), false);
        assert!(
            asked.contains("301 lines") && asked.contains("rm -rf ~"),
            "{asked}"
        );
    }

    #[test]
    fn a_write_says_where_and_how_much() {
        let folder = tempfile::tempdir().expect("a folder");
        let input = json!({"path": "new.txt", "content": "hällo"});
        let asked = question("write", &input, folder.path(), false);
        assert!(
            asked.contains("wants to write to /") && asked.contains("/new.txt\n"),
            "{asked}"
        );
        assert!(asked.contains("Content: 6 bytes, a new file"), "{asked}");
    }

    #[test]
    fn only_a_yes_is_one() {
        for (line, answer) in [
            ("y\n", Answer::Yes),
            (" YES \n", Answer::Yes),
            ("\n", Answer::No),
            ("yolo\n", Answer::No),
        ] {
            assert_eq!(read(line), answer, "{line:?}");
        }
    }
}
