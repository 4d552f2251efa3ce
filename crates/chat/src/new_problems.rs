//! Problems that a change caused in files, as text for the model.
//!
//! The editor finds problems in the text before and after a change. Those that were there before
//! are not reported, even if the change moved them to other lines.

use std::fmt;

use crate::visible;

/// Maximum number of problems that are reported of a file.
const MOST: usize = 10;
/// Maximum columns of a message, and of the line that it is about.
const COLUMNS: usize = 200;

/// The source of a problem, and its severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A parser could not read the text.
    Syntax,
    /// An error of a language server.
    Error,
    /// A warning of a language server.
    Warning,
}

/// A problem that the editor found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProblem {
    /// Its source and severity.
    pub kind: ProblemKind,
    /// The line, zero-based.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// The problem, and the program that reports it.
    pub message: String,
}

/// The problems of a file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedFile {
    /// The file as the call names it.
    pub name: String,
    /// Those in the text before.
    pub before: Vec<FoundProblem>,
    /// Those in the text after.
    pub after: Vec<FoundProblem>,
}

impl ComparedFile {
    /// Returns the problems that were not there before, in the order of the lines.
    fn new_problems(&self) -> Vec<&FoundProblem> {
        let mut known: Vec<&FoundProblem> = self.before.iter().collect();
        let is_new = |found: &&FoundProblem| {
            let at = known.iter().position(|it| it.is_same(found));
            // Each counts once, so that a second one like it is new.
            at.map(|at| known.swap_remove(at)).is_none()
        };
        let mut new: Vec<&FoundProblem> = self.after.iter().filter(is_new).collect();
        new.sort_by_key(|it| it.line);
        new
    }

    /// Returns the report about the file. `None` if there is nothing new.
    fn report(&self) -> Option<String> {
        let new = self.new_problems();
        if new.is_empty() {
            return None;
        }
        let name = visible::fit(&self.name, COLUMNS);
        let mut lines = vec![format!("New problems in {name} after this change:")];
        lines.extend(new.iter().take(MOST).map(|it| it.to_string()));
        if new.len() > MOST {
            // The model can look for the rest; a long list would fill its context.
            lines.push(format!("… and {} more", new.len() - MOST));
        }
        Some(lines.join("\n"))
    }
}

impl FoundProblem {
    /// Returns true if two problems of different texts are the same. Lines move, so their numbers don't
    /// count.
    fn is_same(&self, other: &Self) -> bool {
        let words = |it: &Self| (it.kind, it.message.clone(), it.text.trim().to_owned());
        words(self) == words(other)
    }
}

impl fmt::Display for FoundProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ProblemKind::Syntax => "syntax error",
            ProblemKind::Error => "error",
            ProblemKind::Warning => "warning",
        };
        let message = visible::fit(&self.message, COLUMNS);
        write!(f, "line {}: {kind}: {message}", self.line + 1)?;
        match self.text.trim() {
            "" => Ok(()),
            text => write!(f, ": {}", visible::fit(text, COLUMNS)),
        }
    }
}

/// Returns what a result adds about its files. `None` if a change caused no problems.
pub fn new_problems(files: &[ComparedFile]) -> Option<String> {
    let reports: Vec<String> = files.iter().filter_map(ComparedFile::report).collect();
    (!reports.is_empty()).then(|| reports.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: ProblemKind, line: usize, message: &str, text: &str) -> FoundProblem {
        FoundProblem {
            kind,
            line,
            text: text.to_owned(),
            message: message.to_owned(),
        }
    }

    fn compared(before: &[FoundProblem], after: &[FoundProblem]) -> Option<String> {
        new_problems(&[ComparedFile {
            name: "f.lua".to_owned(),
            before: before.to_vec(),
            after: after.to_vec(),
        }])
    }

    #[test]
    fn new_problems_are_reported_with_their_lines() {
        let known = found(ProblemKind::Error, 1, "unknown name (ls)", "  print(y)");
        let moved = found(ProblemKind::Error, 4, "unknown name (ls)", "    print(y)");
        let syntax = found(ProblemKind::Syntax, 2, "unexpected text", "local x = = 1");
        let warning = found(ProblemKind::Warning, 0, "unused\nname (ls)", "");
        assert_eq!(
            compared(&[known], &[moved, syntax, warning]).as_deref(),
            Some(
                "New problems in f.lua after this change:\n\
                 line 1: warning: unused⤶name (ls)\n\
                 line 3: syntax error: unexpected text: local x = = 1"
            )
        );
    }

    #[test]
    fn what_was_there_before_is_not_reported_but_a_second_one_is() {
        let problem = |line| found(ProblemKind::Error, line, "no such name", "print(y)");
        assert_eq!(compared(&[problem(1)], &[problem(7)]), None);
        assert_eq!(compared(&[problem(1)], &[]), None);
        assert_eq!(
            compared(&[problem(1)], &[problem(1), problem(2)]).as_deref(),
            Some("New problems in f.lua after this change:\nline 3: error: no such name: print(y)")
        );
        // The same words of something else.
        let warning = found(ProblemKind::Warning, 1, "no such name", "print(y)");
        assert!(compared(&[problem(1)], &[warning]).is_some());
    }

    #[test]
    fn many_problems_are_counted() {
        let all: Vec<_> = (0..30)
            .map(|line| found(ProblemKind::Error, line, &format!("number {line}"), "x"))
            .collect();
        let report = compared(&[], &all).expect("a report");
        assert_eq!(report.lines().count(), MOST + 2, "{report}");
        assert!(report.ends_with("line 10: error: number 9: x\n… and 20 more"));
    }

    #[test]
    fn a_report_hides_nothing_and_is_bounded() {
        let message = format!("\u{202e}{}", "x".repeat(10_000));
        let report = compared(&[], &[found(ProblemKind::Error, 0, &message, &message)]);
        let report = report.expect("a report");
        assert!(
            !report.contains('\u{202e}') && report.len() < 1000,
            "{report}"
        );
    }
}
