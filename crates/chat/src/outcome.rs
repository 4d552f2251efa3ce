//! Summaries of finished calls, for display next to their results.
//!
//! Pure: the document contains the call and whether it failed; only the session that ran it
//! knows the duration.

use core::time::Duration;

use crate::diff::Counts;
use crate::document::{Document, ResultKind, ToolResultBlock, ToolUseBlock};
use crate::preview;

/// Last line of a failed command's result, as written by the tool `bash`.
const EXITS: [(&str, &str); 2] = [
    ("Command exited with code ", "exit "),
    ("Command was killed by ", ""),
];
/// Maximum length of an exit code or signal name in bytes; anything longer is other text.
const LONGEST_EXIT: usize = 16;
/// The command that restores the files that a call changed.
const UNDO: &str = ":Flemma undo";
/// Maximum columns of a tool's name.
const NAME: usize = 40;
/// Maximum columns of the command with the files that it cannot restore.
const LACKS: usize = 80;

/// How far `:Flemma undo` can restore the files that a call changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoCoverage {
    /// True if it restores files.
    pub restores: bool,
    /// Names of files that it cannot restore.
    pub lacks: Vec<String>,
}

impl UndoCoverage {
    /// Returns the command, with the files that it lacks; `None` if the call changed no file.
    fn summary(&self) -> Option<String> {
        match self.lacks.as_slice() {
            [] => self.restores.then(|| UNDO.to_owned()),
            names => Some(preview::one_line(
                &format!("{UNDO} lacks {}", names.join("; ")),
                LACKS,
            )),
        }
    }
}

/// A run of a call, as observed by the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRun {
    /// True if the tool or its command failed.
    pub failed: bool,
    /// Its duration.
    pub took: Duration,
    /// Numbers of lines that it added to files and removed from them, if it changed files.
    pub changed: Option<Counts>,
    /// How far its changes can be undone.
    pub undo: UndoCoverage,
}

/// Summary of a finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// True if the result is an error or the exit code is not zero.
    pub failed: bool,
    /// Tool name, then changed lines, exit code, and duration if known.
    pub summary: String,
    /// Tool name and exit code only.
    pub brief: String,
}

impl Outcome {
    /// Sign shown on screen.
    pub fn sign(&self) -> &'static str {
        if self.failed { "✗" } else { "✓" }
    }

    /// Highlight group of sign and summary.
    pub fn group(&self) -> &'static str {
        if self.failed {
            "FlemmaToolError"
        } else {
            "FlemmaToolSuccess"
        }
    }
}

/// Returns the summary of a call whose result is in the document. `run` is the observed
/// run, if any; `counts` are the changed lines that its arguments show.
pub fn outcome(
    document: &Document<'_>,
    call: &ToolUseBlock,
    result: &ToolResultBlock,
    run: Option<&CallRun>,
    counts: Option<Counts>,
) -> Outcome {
    let exit = match run {
        // The command itself may have printed such a line.
        Some(run) if !run.failed => None,
        // For other tools, such a line is content.
        _ => exit(document, result).filter(|_| runs_commands(&call.name)),
    };
    let is_error = result.kind == ResultKind::Final { is_error: true };
    let failed = is_error || exit.is_some() || run.is_some_and(|run| run.failed);
    let name = preview::one_line(&call.name, NAME);
    let took = run.map(|run| duration(run.took));
    let changed = run.and_then(|run| run.changed).or(counts);
    // A failed call may have changed less than its arguments show.
    let changed = changed.filter(|_| !failed).map(|it| it.to_string());
    let undo = run.and_then(|run| run.undo.summary());
    let join = |parts: &[Option<String>]| {
        let parts = parts.iter().flatten().cloned();
        parts.collect::<Vec<String>>().join(" · ")
    };
    let name = Some(name);
    Outcome {
        failed,
        brief: join(&[name.clone(), exit.clone()]),
        summary: join(&[name, changed, exit, took, undo]),
    }
}

/// Returns the exit code or signal at the end of a failed command's result.
pub fn exit(document: &Document<'_>, result: &ToolResultBlock) -> Option<String> {
    // The tool writes the exit status into the last line of the result.
    let last = result.body.clone().next_back()?;
    let line = std::str::from_utf8(document.text().line(last))
        .ok()?
        .trim_end();
    EXITS.into_iter().find_map(|(start, name)| {
        let value = line.strip_prefix(start)?;
        (value.len() <= LONGEST_EXIT).then(|| format!("{name}{value}"))
    })
}

/// Returns true if this tool's results end with an exit status.
fn runs_commands(name: &str) -> bool {
    matches!(name, "bash" | "shell")
}

/// Formats a duration: `4ms`, `2.3s`, `12s`, `2m05s`.
pub fn duration(took: Duration) -> String {
    let (millis, seconds) = (took.as_millis(), took.as_secs());
    match seconds {
        0 => format!("{millis}ms"),
        1..10 => format!("{}.{}s", seconds, millis % 1000 / 100),
        10..60 => format!("{seconds}s"),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::Text;

    /// Returns the outcome of the only call in a chat whose result has these lines.
    fn of(tool: &str, suffix: &str, lines: &str, run: Option<&CallRun>) -> (String, bool) {
        let text = Text::from(&*format!(
            "@Assistant:\n**Tool Use:** `{tool}` (`t`)\n\n```json\n{{}}\n```\n\n\
             @You:\n**Tool Result:** `t`{suffix}\n\n```\n{lines}\n```\n"
        ));
        let document = Document::parse(&text);
        let turn = document.turns().next().unwrap();
        let call = turn.calls[0];
        let counts = (tool == "edit").then_some(COUNTS);
        let outcome = outcome(&document, call.tool_use, call.result.unwrap(), run, counts);
        (
            format!("{} {}", outcome.sign(), outcome.summary),
            outcome.failed,
        )
    }

    fn ran(failed: bool, millis: u64) -> Option<CallRun> {
        let took = Duration::from_millis(millis);
        Some(CallRun {
            failed,
            took,
            changed: None,
            undo: UndoCoverage::default(),
        })
    }

    #[test]
    fn an_outcome_names_the_command_that_restores_files_and_what_it_lacks() {
        let wrote = |restores, lacks: &[&str]| {
            let lacks = lacks.iter().map(|it| (*it).to_owned()).collect();
            let undo = UndoCoverage { restores, lacks };
            let run = ran(false, 4).map(|run| CallRun { undo, ..run });
            of("write", "", "done", run.as_ref()).0
        };
        assert_eq!(wrote(false, &[]), "✓ write · 4ms");
        assert_eq!(wrote(true, &[]), "✓ write · 4ms · :Flemma undo");
        let lacks = "✓ write · 4ms · :Flemma undo lacks .env; 12 files in build/";
        assert_eq!(wrote(true, &[".env", "12 files in build/"]), lacks);
        assert_eq!(wrote(false, &[".env", "12 files in build/"]), lacks);
    }

    /// The counts that the arguments of an edit show.
    const COUNTS: Counts = Counts {
        added: 2,
        removed: 1,
    };

    #[test]
    fn an_outcome_has_the_tool_its_exit_and_its_duration() {
        let failed = "out\n\nCommand exited with code 3";
        for (tool, suffix, lines, run, expected) in [
            ("read", "", "text", ran(false, 4), "✓ read · 4ms"),
            (
                "read",
                " (error)",
                "no such file",
                ran(true, 4),
                "✗ read · 4ms",
            ),
            (
                "bash",
                "",
                failed,
                ran(true, 2340),
                "✗ bash · exit 3 · 2.3s",
            ),
            (
                "bash",
                "",
                "Command was killed by SIGKILL",
                ran(true, 61_000),
                "✗ bash · SIGKILL · 1m01s",
            ),
            // In a reopened chat, only the text is known.
            ("bash", "", failed, None, "✗ bash · exit 3"),
            ("bash", "", "fine", None, "✓ bash"),
            ("read", " (error)", "no such file", None, "✗ read"),
            ("edit", "", "Edited f.", None, "✓ edit · +2 −1"),
            (
                "edit",
                "",
                "Edited f.",
                ran(false, 4),
                "✓ edit · +2 −1 · 4ms",
            ),
            ("edit", " (error)", "It is not there.", None, "✗ edit"),
        ] {
            assert_eq!(of(tool, suffix, lines, run.as_ref()).0, expected);
        }
    }

    #[test]
    fn other_output_is_no_exit_code() {
        let line = "Command exited with code 3";
        assert_eq!(
            of("bash", "", line, ran(false, 5).as_ref()).0,
            "✓ bash · 5ms"
        );
        assert_eq!(of("read", "", line, None).0, "✓ read");
        let long = |digits| format!("Command exited with code {}", "9".repeat(digits));
        assert_eq!(of("bash", "", &long(17), None).0, "✓ bash");
        assert!(of("bash", "", &long(16), None).0.starts_with("✗ bash"));
    }

    #[test]
    fn what_a_run_changed_counts_more_than_what_its_arguments_tell() {
        let changed = Some(Counts {
            added: 12,
            removed: 3,
        });
        let run = ran(false, 4).map(|run| CallRun { changed, ..run });
        assert_eq!(
            of("edit", "", "Edited f.", run.as_ref()).0,
            "✓ edit · +12 −3 · 4ms"
        );
        assert_eq!(
            of("write", "", "Wrote f.", run.as_ref()).0,
            "✓ write · +12 −3 · 4ms"
        );
    }

    #[test]
    fn a_duration_has_two_digits_or_whole_seconds() {
        for (millis, expected) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1.0s"),
            (9_999, "9.9s"),
            (10_000, "10s"),
            (59_999, "59s"),
            (125_000, "2m05s"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), expected);
        }
    }
}
