//! Questions of running calls, asked on the terminal one after another: a numbered list or a
//! line of text.

use std::collections::VecDeque;

use session::protocol::{EditorReply, InputPrompt, Prompted};
use tokio::sync::oneshot;

use super::output::Output;
use super::stdin_prompt::StdinLines;

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
        match parse(prompt, line) {
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
fn parse(prompt: &InputPrompt, line: Option<String>) -> Result<Prompted, String> {
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

#[cfg(test)]
mod tests {
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
        parse(prompt, Some(line.to_owned())).map(|it| (it.text, it.item))
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
        let cancelled = parse(&line, None).map(|it| it.text);
        assert_eq!(cancelled, Ok(None));
    }
}
