//! The open questions of a run, and standard input, which answers them, typed or piped: `[y/N]` or
//! `[y/N/e]` about a pending call, and the questions of running calls. The end of standard input
//! means that there is no user.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::sync::mpsc as blocking;

use chat::tool::ToolUseId;
use serde_json::Value;
use session::protocol::{DiffItem, EditorReply, InputPrompt, Prompted};
use session::resolver_calls::RUNS_FREE;
use tokio::sync::oneshot;

use super::output::Output;
use super::reviewing::{OpenReview, ReviewStep};
use super::waiting::{self, PendingDiff};

/// The open questions of a run.
#[derive(Debug, Default)]
pub struct OpenQuestions {
    stdin: StdinLines,
    /// Questions of running calls.
    prompts: TerminalPrompts,
    /// The call that is asked about next.
    diff: Option<PendingDiff>,
    /// The open question about a pending call.
    confirmation: Option<PendingConfirmation>,
    /// The review of a pending call.
    review: OpenReview,
}

/// A question about a pending call.
#[derive(Debug)]
struct PendingConfirmation {
    call: (usize, ToolUseId),
    line: oneshot::Receiver<Option<String>>,
    /// True if the user may edit what the call would change.
    can_edit: bool,
}

/// The next step of an open question.
#[derive(Debug)]
pub enum QuestionStep {
    /// The diff that is shown with the question about a call.
    Diff(Vec<DiffItem>),
    /// The answer to the question about a call.
    Confirmation(Confirmation),
    /// The line that answers a question of a running call.
    Line(Option<String>),
    /// The next step of a review.
    Review(ReviewStep),
}

impl OpenQuestions {
    /// Waits for the next step of any open question.
    pub async fn next(&mut self) -> QuestionStep {
        // All can be dropped while they wait, as each owns nothing that it received.
        tokio::select! {
            diff = waiting::diff(&mut self.diff) => QuestionStep::Diff(diff),
            answer = confirmed(&mut self.confirmation) => QuestionStep::Confirmation(answer),
            line = self.prompts.line() => QuestionStep::Line(line),
            step = self.review.next() => QuestionStep::Review(step),
        }
    }

    /// Returns true if a pending call is asked about or reviewed, or will be.
    pub fn is_confirming(&self) -> bool {
        self.confirmation.is_some() || self.diff.is_some() || self.review.is_open()
    }

    /// Returns true if the user's editor has the terminal.
    pub fn is_in_editor(&self) -> bool {
        self.review.is_in_editor()
    }

    /// Returns the review of a pending call.
    pub fn review_mut(&mut self) -> &mut OpenReview {
        &mut self.review
    }

    /// Requests a line of standard input.
    pub fn next_line(&mut self) -> oneshot::Receiver<Option<String>> {
        self.stdin.next()
    }

    /// Sets the call that is asked about once its diff is made.
    pub fn prepare(&mut self, call: PendingDiff) {
        self.diff = Some(call);
    }

    /// Takes the call whose diff is made.
    pub fn take_prepared(&mut self) -> Option<PendingDiff> {
        self.diff.take()
    }

    /// Requests a line for the question about this call.
    pub fn confirm(&mut self, call: (usize, ToolUseId), can_edit: bool) {
        let line = self.stdin.next();
        self.confirmation = Some(PendingConfirmation {
            call,
            line,
            can_edit,
        });
    }

    /// Takes the call whose question was answered.
    pub fn take_confirmed(&mut self) -> Option<(usize, ToolUseId)> {
        self.confirmation.take().map(|pending| pending.call)
    }

    /// Queues a question of a running call.
    pub fn prompt(
        &mut self,
        prompt: InputPrompt,
        reply: oneshot::Sender<EditorReply>,
        output: &mut Output,
    ) {
        self.prompts.push(prompt, reply, &mut self.stdin, output);
    }

    /// Handles the line that answers a question of a running call.
    pub fn prompted(&mut self, line: Option<String>, output: &mut Output) {
        self.prompts.answer(line, &mut self.stdin, output);
    }
}

async fn confirmed(pending: &mut Option<PendingConfirmation>) -> Confirmation {
    match pending {
        // The sender is gone only if the thread that reads has failed.
        Some(pending) => {
            let line = (&mut pending.line).await.unwrap_or(None);
            answer(line, pending.can_edit)
        }
        None => std::future::pending().await,
    }
}

/// The open questions. The first one is on the terminal.
#[derive(Debug, Default)]
pub struct TerminalPrompts {
    queue: VecDeque<(InputPrompt, oneshot::Sender<EditorReply>)>,
    line: Option<oneshot::Receiver<Option<String>>>,
}

impl TerminalPrompts {
    /// Waits for the line that answers the question on the terminal.
    pub async fn line(&mut self) -> Option<String> {
        match &mut self.line {
            Some(line) => line.await.unwrap_or(None),
            None => std::future::pending().await,
        }
    }

    /// Queues a question.
    pub fn push(
        &mut self,
        prompt: InputPrompt,
        reply: oneshot::Sender<EditorReply>,
        stdin: &mut StdinLines,
        output: &mut Output,
    ) {
        self.queue.push_back((prompt, reply));
        // A second question on the terminal would take the line that answers the first one.
        if self.line.is_none() {
            self.show(None, stdin, output);
        }
    }

    /// Shows the first question, below the problem of the last answer to it.
    fn show(&mut self, problem: Option<&str>, stdin: &mut StdinLines, output: &mut Output) {
        if let Some((prompt, _)) = self.queue.front() {
            output.ask("", &shown(prompt, problem), &[]);
            self.line = Some(stdin.next());
        }
    }

    /// Handles the line that answers the first question.
    pub fn answer(&mut self, line: Option<String>, stdin: &mut StdinLines, output: &mut Output) {
        self.line = None;
        let Some((prompt, _)) = self.queue.front() else {
            return;
        };
        match parse_reply(prompt, line) {
            Err(problem) => self.show(Some(&problem), stdin, output),
            Ok(prompted) => {
                if let Some((_, reply)) = self.queue.pop_front() {
                    // Fails if the call was cancelled meanwhile.
                    drop(reply.send(EditorReply::Prompted(prompted)));
                }
                self.show(None, stdin, output);
            }
        }
    }
}

fn shown(prompt: &InputPrompt, problem: Option<&str>) -> String {
    let mut lines: Vec<String> = problem.into_iter().map(str::to_owned).collect();
    let initial = prompt.initial.as_deref().filter(|it| !it.is_empty());
    match (&prompt.items, initial) {
        (Some(items), _) => {
            lines.push(prompt.title.clone());
            let numbered = items.iter().enumerate();
            lines.extend(numbered.map(|(at, item)| format!("  {} {item}", at + 1)));
            lines.push("Number, or nothing to cancel: ".to_owned());
        }
        (None, Some(initial)) => lines.push(format!("{} [{initial}]: ", prompt.title)),
        (None, None) => lines.push(format!("{}: ", prompt.title)),
    }
    let lines: Vec<String> = lines.iter().map(|it| format!("[flemma] {it}")).collect();
    lines.join("\n")
}

/// Parses the answer. Without a line, the user cancels the question.
fn parse_reply(prompt: &InputPrompt, line: Option<String>) -> Result<Prompted, String> {
    let mut prompted = Prompted::default();
    let Some(line) = line else {
        return Ok(prompted);
    };
    let line = line.trim_end_matches(['\n', '\r']);
    match &prompt.items {
        // An empty line cancels a choice, which has no initial value.
        Some(_) if line.trim().is_empty() => {}
        Some(items) => {
            let number = line.trim().parse::<usize>().ok();
            let item = number.and_then(|it| it.checked_sub(1));
            let item = item.filter(|it| *it < items.len());
            let all = items.len();
            prompted.item = Some(item.ok_or_else(|| format!("Type a number from 1 to {all}."))?);
        }
        None if line.is_empty() => prompted.text = Some(prompt.initial.clone().unwrap_or_default()),
        None => prompted.text = Some(line.to_owned()),
    }
    Ok(prompted)
}

/// Maximum number of lines of an argument in a question.
const LINES: usize = 60;
/// The answers besides y and n.
const ANSWERS: &str = "(a: yes, and from now on; any other text: no, for this reason)";
/// Maximum bytes of an argument that is shown together with a diff.
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
    use serde_json::json;

    use super::*;

    fn prompt(items: Option<&[&str]>, initial: &str) -> InputPrompt {
        InputPrompt {
            buffer: 1,
            title: "Colour".to_owned(),
            items: items.map(|all| all.iter().map(|it| (*it).to_owned()).collect()),
            initial: Some(initial.to_owned()),
        }
    }

    fn answer(prompt: &InputPrompt, line: &str) -> Result<(Option<String>, Option<usize>), String> {
        parse_reply(prompt, Some(line.to_owned())).map(|it| (it.text, it.item))
    }

    #[test]
    fn a_list_takes_a_number_and_nothing_else() {
        let list = prompt(Some(&["red", "green"]), "");
        assert_eq!(
            shown(&list, None),
            "[flemma] Colour\n[flemma]   1 red\n[flemma]   2 green\n[flemma] Number, or nothing to cancel: "
        );
        assert_eq!(answer(&list, "2\n"), Ok((None, Some(1))));
        assert_eq!(answer(&list, "\n"), Ok((None, None)));
        for wrong in ["0", "3", "green"] {
            assert_eq!(
                answer(&list, wrong),
                Err("Type a number from 1 to 2.".to_owned())
            );
        }
    }

    #[test]
    fn an_empty_line_takes_the_initial_text() {
        let line = prompt(None, "red");
        assert_eq!(shown(&line, None), "[flemma] Colour [red]: ");
        assert_eq!(answer(&line, "\n"), Ok((Some("red".to_owned()), None)));
        assert_eq!(answer(&line, " \n"), Ok((Some(" ".to_owned()), None)));
        assert_eq!(
            answer(&line, "blue\r\n"),
            Ok((Some("blue".to_owned()), None))
        );
        let cancelled = parse_reply(&line, None).map(|it| it.text);
        assert_eq!(cancelled, Ok(None));
    }

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
