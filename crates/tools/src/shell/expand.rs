//! Finds the files that a shell pattern may match.
//!
//! Reads folders. Finds at least the files that the shell finds: a bracket matches anything.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of folder entries that are visited for one pattern.
const MOST: usize = 20_000;

/// The files below `folder` that match a pattern in which a backslash precedes each literal
/// character; `None` if there are too many entries to visit.
pub(super) fn expand(pattern: &str, folder: &Path) -> Option<Vec<PathBuf>> {
    let mut visited = 0;
    let pieces = pieces(pattern);
    let start = match pieces.first() {
        // An absolute pattern begins with an empty part.
        Some(first) if first.is_empty() => PathBuf::from("/"),
        _ => folder.to_owned(),
    };
    let mut found = vec![start];
    for piece in pieces.iter().filter(|it| !it.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            match literal(piece) {
                Some(name) => next.push(folder.join(name)),
                None => visited += matches(piece, &folder, &mut next),
            }
            if visited > MOST || next.len() > MOST {
                return None;
            }
        }
        found = next;
    }
    Some(found)
}

/// Adds the entries of a folder that match a part of a pattern, and returns the number visited.
fn matches(piece: &[Piece], folder: &Path, found: &mut Vec<PathBuf>) -> usize {
    let mut visited = 0;
    let fits = |name: &str| {
        let name: Vec<char> = name.chars().collect();
        is_shown(piece, &name) && fits(piece, &name)
    };
    // The shell cannot list a folder that is unreadable here either.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        visited += 1;
        if fits(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    // `read_dir` omits these.
    let dots = [".", ".."].into_iter().filter(|it| fits(it));
    found.extend(dots.map(|it| folder.join(it)));
    visited
}

/// An element of a pattern: a character, `?`, or `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    One(char),
    Any,
    Many,
}

/// The parts of a pattern between its slashes.
fn pieces(pattern: &str) -> Vec<Vec<Piece>> {
    let mut parts = vec![Vec::new()];
    let mut in_bracket = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let escaped = (character == '\\').then(|| characters.next());
        let piece = match (character, escaped) {
            (_, Some(Some('/'))) => {
                parts.push(Vec::new());
                in_bracket = false;
                continue;
            }
            // Shells disagree about where a bracket ends, so it matches the rest of the part.
            _ if in_bracket => continue,
            (_, Some(Some(literal))) => Piece::One(literal),
            // A backslash at the end escapes nothing.
            (_, Some(None)) => break,
            ('?', None) => Piece::Any,
            _ => Piece::Many,
        };
        in_bracket = character == '[';
        if let Some(part) = parts.last_mut() {
            // Adjacent stars match what one matches, but cost time.
            let is_repeated = character == '*' && part.last() == Some(&Piece::Many);
            part.extend((!is_repeated).then_some(piece));
        }
    }
    parts
}

/// Whether a pattern can match a name: a hidden one only if the pattern begins with a dot.
fn is_shown(pattern: &[Piece], name: &[char]) -> bool {
    name.first() != Some(&'.') || pattern.first() == Some(&Piece::One('.'))
}

fn literal(piece: &[Piece]) -> Option<String> {
    let character = |it: &Piece| match it {
        Piece::One(it) => Some(*it),
        _ => None,
    };
    piece.iter().map(character).collect()
}

/// Whether a name matches, in time proportional to the product of both lengths.
fn fits(pattern: &[Piece], name: &[char]) -> bool {
    let mut reach = vec![false; name.len() + 1];
    reach[0] = true;
    for piece in pattern {
        let mut next = vec![false; name.len() + 1];
        let mut any = false;
        for at in 0..=name.len() {
            any |= reach[at];
            next[at] = match piece {
                Piece::Many => any,
                _ if at == 0 || !reach[at - 1] => false,
                Piece::Any => true,
                Piece::One(it) => name[at - 1] == *it,
            };
        }
        reach = next;
    }
    reach[name.len()]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn it_finds_all_that_the_shell_finds() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join(".ssh")).unwrap();
        for name in [".ssh/id", "a.rs", "b.rs", "c[x", ".env"] {
            fs::write(top.join(name), "").unwrap();
        }
        let names = |pattern: &str| {
            let mut found: Vec<String> = expand(pattern, top)
                .unwrap()
                .iter()
                .filter(|it| it.exists())
                .map(|it| it.strip_prefix(top).unwrap().display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(names("*\\.\\r\\s"), ["a.rs", "b.rs"]);
        assert_eq!(names("\\.\\s?\\h\\/*\\i\\d"), [".ssh/id"]);
        assert_eq!(names("?\\s\\s\\h"), [""; 0]);
        assert_eq!(names("[ab]\\.\\r\\s"), ["a.rs", "b.rs", "c[x"]);
        assert_eq!(names("\\.*"), ["", "..", ".env", ".ssh"]);
        assert_eq!(names("\\n*"), [""; 0]);
    }
}
