//! The chats of this user: where they are, their titles and dates, and a search in them. A file in
//! the state folder names each chat that was saved, wherever it is.
//!
//! The functions block.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use chat::document::Document;
use chat::preview::one_line;
use chat::text::Text;
use chat::title::title;
use platform::paths::slashed;
use serde::{Deserialize, Serialize};
use tools::{chat_folder, state_dir};

use crate::new_chats::{chats_of, from_home};

/// Bytes of a chat in which its title is looked for.
const TITLE_BYTES: u64 = 8192;
/// Maximum columns of a title: with the date and a short path, an item fits into 80.
const TITLE_COLUMNS: usize = 44;
/// Maximum chats in a list; a search finds older ones.
const MOST_LISTED: usize = 1000;
/// Maximum lines that a search finds.
const MOST_FOUND: usize = 1000;
/// Maximum bytes of a chat that are searched.
const SEARCHED_BYTES: u64 = 4 * 1024 * 1024;

/// A list of chats, or a search in them.
#[derive(Debug, Clone, Deserialize)]
pub struct ChatQuery {
    /// The working directory.
    project: PathBuf,
    /// The folder that the user chose for chats, absolute.
    folder: Option<PathBuf>,
    /// True for the chats of all projects.
    #[serde(default)]
    all: bool,
    /// The words of a search.
    #[serde(default)]
    words: Vec<String>,
}

/// A chat in a list.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ListedChat {
    path: String,
    /// When its file changed, in seconds since 1970.
    time: u64,
    title: String,
    /// Its path as the user reads it.
    name: String,
}

/// A line that a search found, as an entry of the quickfix list.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FoundLine {
    filename: String,
    /// From one.
    lnum: usize,
    text: String,
}

/// Adds a chat that was saved to the list. Errors are ignored: without the list, a chat is still
/// found in the folder for chats.
pub fn add(path: &Path) {
    drop(add_to(&state_dir::path(), path));
}

fn add_to(state: &Path, path: &Path) -> io::Result<()> {
    let name = slashed(path);
    // A buffer may be unmodified although its file was never written.
    if name.contains('\n')
        || !path.is_absolute()
        || !path.exists()
        || read_list(state).contains(path)
    {
        return Ok(());
    }
    fs::create_dir_all(state)?;
    // Each program appends whole lines, so that none loses another's.
    let mut list = File::options()
        .create(true)
        .append(true)
        .open(state.join("chats"))?;
    list.write_all(format!("{name}\n").as_bytes())
}

fn read_list(state: &Path) -> BTreeSet<PathBuf> {
    let list = fs::read(state.join("chats")).unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    list.lines().map(PathBuf::from).collect()
}

impl ChatQuery {
    /// Returns the chats, the last changed first.
    pub fn list(&self) -> Vec<ListedChat> {
        let chats = self.chats().into_iter().take(MOST_LISTED);
        chats
            .map(|(time, path)| ListedChat {
                time,
                title: title_of(&path),
                name: self.name(&path),
                path: slashed(&path).into_owned(),
            })
            .collect()
    }

    /// Returns the lines of all chats that contain all words, in any order and case.
    pub fn search(&self) -> Vec<FoundLine> {
        let words: Vec<String> = self.words.iter().map(|it| it.to_lowercase()).collect();
        let all = Self {
            all: true,
            ..self.clone()
        };
        let lines = all.chats().into_iter().flat_map(|(_, path)| {
            let text = beginning(&path, SEARCHED_BYTES);
            let filename = slashed(&path).into_owned();
            let lines = matches(&text, &words).into_iter();
            lines.map(move |(lnum, text)| FoundLine {
                filename: filename.clone(),
                lnum,
                text,
            })
        });
        lines.take(MOST_FOUND).collect()
    }

    /// Returns the chats with the times of their last changes, in descending order.
    fn chats(&self) -> Vec<(u64, PathBuf)> {
        let own = self
            .folder
            .clone()
            .unwrap_or_else(|| chats_of(&self.project));
        let mut paths = read_list(&state_dir::path());
        for folder in [&own, &self.project] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let files = entries.map(|it| folder.join(it.file_name()));
            paths.extend(files.filter(|it| it.extension().is_some_and(|it| it == "chat")));
        }
        let paths = paths
            .into_iter()
            .filter(|it| self.all || self.is_of_project(it));
        let files = paths.filter_map(|path| {
            let metadata = fs::metadata(&path).ok().filter(|it| it.is_file())?;
            let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH);
            Some((time.map_or(0, |it| it.as_secs()), path))
        });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        files
    }

    /// Returns true if a chat is in the project, or in the state folder for it.
    fn is_of_project(&self, path: &Path) -> bool {
        let base = chat_folder(path);
        path.starts_with(&self.project) || base.is_some_and(|it| it.starts_with(&self.project))
    }

    fn name(&self, path: &Path) -> String {
        if let Ok(inner) = path.strip_prefix(&self.project) {
            return slashed(inner).into_owned();
        }
        // Only chats in the state folder have names that say more than their path.
        let is_ours = path.starts_with(tools::state_dir::path());
        let base = chat_folder(path).filter(|_| is_ours);
        let name = base
            .as_deref()
            .and_then(Path::file_name)
            .zip(path.file_name());
        name.map_or_else(
            || from_home(path),
            |(project, file)| format!("{}/{}", project.display(), file.display()),
        )
    }
}

/// Returns the beginning of a file; empty if it cannot be read.
fn beginning(path: &Path, most: u64) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|it| it.take(most).read_to_end(&mut bytes));
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn title_of(path: &Path) -> String {
    title_in(&beginning(path, TITLE_BYTES))
}

fn title_in(text: &str) -> String {
    let text = Text::from(text);
    let title = title(&Document::parse(&text));
    title.map_or_else(|| "(empty)".to_owned(), |it| one_line(&it, TITLE_COLUMNS))
}

/// Returns the lines with all words, which are in lower case, and their numbers from one.
fn matches(text: &str, words: &[String]) -> Vec<(usize, String)> {
    let has_all = |text: &str| words.iter().all(|it| text.contains(&**it));
    // Most files lack a word, and checking the whole text is faster than checking its lines.
    if !has_all(&text.to_lowercase()) {
        return Vec::new();
    }
    let lines = text.split('\n').zip(1..);
    let found = lines.filter(|(line, _)| has_all(&line.to_lowercase()));
    found
        .map(|(line, number)| (number, line.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_title_is_the_first_line_that_the_user_wrote() {
        for (text, expected) in [
            ("@You:\nHow are you?\nMore", "How are you?"),
            ("@System:\nBe brief.\n\n@You: Inline.\n", "Inline."),
            ("```lua\nx = 1\n```\n\n@You:\n\n\n  Below.\n", "Below."),
            ("@You:\n\n@Assistant:\nHm", "(empty)"),
            ("no chat", "(empty)"),
            ("", "(empty)"),
            // The plugin once had rules of its own, which took these for words of the user.
            ("@You:s\nNo.\n@You:\nYes.", "Yes."),
            ("```\n@You:\nNo.\n```\n@You:\nYes.", "Yes."),
            (
                "@You:\n**Tool Result:** `t`\n\n```\nNo.\n```\n\n@You:\nYes.",
                "Yes.",
            ),
        ] {
            assert_eq!(title_in(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_chat_is_listed_once_and_only_if_its_file_exists() {
        let state = tempfile::tempdir().unwrap();
        let chat = state.path().join("a.chat");
        fs::write(&chat, "@You:\nOne").unwrap();
        for path in [&chat, &chat, &state.path().join("missing.chat")] {
            add_to(state.path(), path).unwrap();
        }
        assert_eq!(read_list(state.path()), BTreeSet::from([chat]));
    }

    #[test]
    fn chats_of_the_project_are_listed_the_last_changed_first() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for (name, seconds) in [("old.chat", 1000), ("new.chat", 2000), ("no.txt", 3000)] {
            fs::write(root.join(name), format!("@You:\n{name}")).unwrap();
            let time = UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            let file = File::options().write(true).open(root.join(name)).unwrap();
            file.set_modified(time).unwrap();
        }
        let query = ChatQuery {
            project: root.to_owned(),
            folder: Some(root.to_owned()),
            all: false,
            words: vec!["NEW".to_owned(), "chat".to_owned()],
        };
        let listed = query.list();
        let shown: Vec<_> = listed
            .iter()
            .map(|it| (it.time, &*it.title, &*it.name))
            .collect();
        assert_eq!(
            shown,
            [
                (2000, "new.chat", "new.chat"),
                (1000, "old.chat", "old.chat")
            ]
        );
        let found = query.search();
        let found: Vec<_> = found.iter().map(|it| (it.lnum, &*it.text)).collect();
        assert_eq!(found, [(2, "new.chat")]);
    }

    #[test]
    fn a_search_finds_lines_that_contain_all_words_in_any_order_and_case() {
        let words = ["pie".to_owned(), "apple".to_owned()];
        let found = matches("An Apple\nPie and apple\n\napple pie", &words);
        assert_eq!(
            found,
            [(2, "Pie and apple".to_owned()), (4, "apple pie".to_owned())]
        );
        assert_eq!(matches("a.b", &["a%.b".to_owned()]), []);
    }
}
