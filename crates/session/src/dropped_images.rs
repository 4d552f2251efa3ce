//! References to image files whose paths a terminal pastes, as it does when a file is dropped on it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chat::references::{decoded, encoded};
use platform::paths::slashed;
use serde::Deserialize;

use crate::project_rules::reference;

/// Maximum bytes of a pasted path.
const MOST_BYTES: usize = 4096;

/// A file that a chat refers to, or a text that may be the path of one.
#[derive(Debug, Deserialize)]
pub struct Dropped {
    /// The path or the text.
    text: String,
    /// The chat's path; empty for a chat without a name.
    chat: PathBuf,
    /// The working directory.
    project: PathBuf,
}

impl Dropped {
    /// Returns the reference to an image if the text is exactly its path: absolute, of an existing
    /// file.
    pub fn image(&self) -> Option<String> {
        let text = self.text.trim();
        if text.is_empty() || text.len() > MOST_BYTES || text.contains(char::is_control) {
            return None;
        }
        let paths = meanings(text).into_iter().map(PathBuf::from);
        let mut images = paths.filter(|it| it.is_absolute() && is_image(it));
        images.next().map(|it| self.reference_to(&it))
    }

    /// Returns the reference to the file at the path.
    pub fn reference(&self) -> String {
        self.reference_to(Path::new(&self.text))
    }

    /// Returns a reference from the chat's folder if the file is in the project, otherwise from the
    /// home folder or the root.
    fn reference_to(&self, path: &Path) -> String {
        let folder = tools::chat_folder(&self.chat).filter(|it| it.is_absolute());
        let folder = folder.as_ref().unwrap_or(&self.project);
        if path.starts_with(folder) || path.starts_with(&self.project) {
            return reference(path, folder);
        }
        let home = std::env::home_dir();
        match home.and_then(|it| path.strip_prefix(it).map(Path::to_owned).ok()) {
            Some(inner) => format!("@~/{}", encoded(&slashed(&inner))),
            // An absolute path begins with two slashes, also before the drive of Windows.
            None => format!("@//{}", encoded(slashed(path).trim_start_matches('/'))),
        }
    }
}

/// Returns the paths that a pasted text may mean, with the quotes of shells and terminals.
fn meanings(text: &str) -> Vec<String> {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = quoted('\'') {
        vec![inner.replace("'\\''", "'")]
    } else if let Some(inner) = quoted('"') {
        vec![without_backslashes(inner, |it| "\"\\$`".contains(it))]
    } else if let Some(address) = text.strip_prefix("file://") {
        // A host may precede the path.
        let path = address.find('/').map(|at| decoded(&address[at..]));
        let drive = path.iter().map(|it| it[1..].to_owned());
        path.iter().cloned().chain(drive).collect()
    } else {
        vec![text.to_owned(), without_backslashes(text, |_| true)]
    }
}

fn without_backslashes(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().filter(|it| is_escaped(*it));
        match next {
            Some(next) if letter == '\\' => {
                plain.push(next);
                letters.next();
            }
            _ => plain.push(letter),
        }
    }
    plain
}

fn is_image(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = File::open(path).ok().filter(|_| path.is_file());
    let read = file.and_then(|it| it.take(16).read_to_end(&mut head).ok());
    let begins = |start: &[u8]| head.starts_with(start);
    let is_webp = begins(b"RIFF") && head.get(8..12) == Some(b"WEBP");
    let is_gif = begins(b"GIF87") || begins(b"GIF89");
    read.is_some() && (begins(b"\x89PNG\r\n\x1a\n") || begins(b"\xff\xd8\xff") || is_gif || is_webp)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

    /// A folder with images and other files.
    fn folder() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let files: [(&str, &[u8]); 5] = [
            ("a b.png", PNG),
            ("it's.jpg", b"\xff\xd8\xffx"),
            ("a.png", PNG),
            ("fake.png", b"text"),
            ("x.chat", b""),
        ];
        for (name, bytes) in files {
            std::fs::write(root.path().join(name), bytes).unwrap();
        }
        root
    }

    fn image(root: &Path, text: &str) -> Option<String> {
        let dropped = Dropped {
            text: text.to_owned(),
            chat: root.join("x.chat"),
            project: PathBuf::from("/elsewhere"),
        };
        dropped.image()
    }

    #[test]
    fn the_path_of_an_image_is_read_as_terminals_paste_it() {
        let root = folder();
        let root = root.path();
        let shown = root.display();
        for text in [
            format!("{shown}/a b.png"),
            format!("{shown}/a b.png \n"),
            format!("{shown}/a\\ b.png"),
            format!("'{shown}/a b.png'"),
            format!("\"{shown}/a b.png\""),
            format!("file://{shown}/a%20b.png"),
            format!("file://localhost{shown}/a%20b.png"),
        ] {
            assert_eq!(
                image(root, &text).as_deref(),
                Some("@./a%20b.png"),
                "{text}"
            );
        }
        let quoted = format!("'{shown}/it'\\''s.jpg'");
        assert_eq!(image(root, &quoted).as_deref(), Some("@./it's.jpg"));
    }

    #[test]
    fn text_that_is_not_exactly_the_path_of_one_existing_image_stays_text() {
        let root = folder();
        let root = root.path();
        let shown = root.display();
        for text in [
            String::new(),
            "a.png".to_owned(),
            format!("see {shown}/a.png"),
            format!("{shown}/a.png {shown}/a.png"),
            format!("{shown}/a.png\n{shown}/a.png"),
            format!("{shown}/missing.png"),
            format!("{shown}/fake.png"),
            shown.to_string(),
            format!("https://example.org{shown}/a.png"),
        ] {
            assert_eq!(image(root, &text), None, "{text}");
        }
    }

    #[test]
    fn a_file_outside_the_project_is_referred_to_from_the_root() {
        let dropped = Dropped {
            text: "/a b/c.png".to_owned(),
            chat: PathBuf::new(),
            project: PathBuf::from("/p"),
        };
        assert_eq!(dropped.reference(), "@//a%20b/c.png");
    }
}
