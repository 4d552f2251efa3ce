//! Remembers the files that a command showed as a whole, as `read` does, so that a later `write` does
//! not overwrite what was changed since.
//!
//! Only where that is certain: the command is a plain `cat`, and its result is the files.

use std::io::Read;
use std::path::Path;

use crate::context::ToolContext;
use crate::files::RealPath;

/// Characters of a path that mean the same to a shell and to the file system.
const PLAIN: &str = "/._-+,:@%";

/// Returns the files that a command prints, if it is a `cat` without options, quotes, and anything
/// that a shell expands.
fn shown_by(command: &str) -> Option<Vec<&str>> {
    let mut words = command.split_ascii_whitespace();
    let is_plain = |word: &&str| {
        let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
        !word.starts_with('-') && word.chars().all(is_plain)
    };
    let is_one_line = !command.trim().contains('\n');
    let program = words.next().filter(|it| *it == "cat" && is_one_line);
    let files: Vec<&str> = program.map(|_| words)?.collect();
    (!files.is_empty() && files.iter().all(is_plain)).then_some(files)
}

/// Remembers the files that `command` showed in `cwd`, if `output` is all of their text. A result
/// lacks the last line end.
pub(super) async fn remember(command: &str, cwd: &Path, output: &str, ctx: &ToolContext) {
    let mut files = Vec::new();
    for file in shown_by(command).into_iter().flatten() {
        let path = cwd.join(file);
        let real = match path.to_str() {
            Some(path) => ctx.real_path(path).await,
            None => return,
        };
        let limit = output.len() as u64 + 1;
        let read = real.ok().map(|real| {
            tokio::task::spawn_blocking(move || text(&real, limit).map(|text| (real, text)))
        });
        match read {
            Some(read) => match read.await {
                Ok(Some(file)) => files.push(file),
                _ => return,
            },
            None => return,
        }
    }
    let whole: String = files.iter().map(|(_, text)| text.as_str()).collect();
    let is_whole = whole == output || whole.strip_suffix('\n') == Some(output);
    for (path, text) in files.into_iter().filter(|_| is_whole) {
        ctx.seen.add(path.as_path(), &text);
    }
}

/// Returns the text of a file on disk that has at most `limit` bytes.
fn text(path: &RealPath, limit: u64) -> Option<String> {
    let file = path.open_file().ok()??;
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= limit).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_cat_shows_whole_files() {
        assert_eq!(shown_by("cat a"), Some(vec!["a"]));
        assert_eq!(shown_by(" cat ./a/b.rs ü\n"), Some(vec!["./a/b.rs", "ü"]));
        for command in [
            "cat",
            "cat -n a",
            "cat a | head",
            "cat a > b",
            "cat a; rm a",
            "cat 'a'",
            "cat $A",
            "cat ~/a",
            "cat *",
            "cat a\nrm a",
            "cat a & rm a",
            "cat a\\ b",
            "bat a",
            "",
        ] {
            assert_eq!(shown_by(command), None, "{command}");
        }
    }
}
