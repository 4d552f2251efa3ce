//! The files that a pattern of the shell may match.
//!
//! Finds at least what the shell would: a bracket matches anything. Reads folders.

use std::fs;
use std::path::{Path, PathBuf};

/// Most entries of folders that are looked at for one pattern.
const MOST: usize = 20_000;

/// The files below `folder` that fit a pattern in which a backslash precedes each
/// literal character; `None` when there are too many to look at.
pub(super) fn expand(pattern: &str, folder: &Path) -> Option<Vec<PathBuf>> {
    let mut looked = 0;
    let pieces = pieces(pattern);
    let start = match pieces.first() {
        Some(first) if first.is_empty() => PathBuf::from("/"),
        _ => folder.to_owned(),
    };
    let mut found = vec![start];
    for piece in pieces.iter().filter(|it| !it.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            if let Some(name) = literal(piece) {
                next.push(folder.join(name));
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                looked += 1;
                let name: Vec<char> = entry.file_name().to_string_lossy().chars().collect();
                if is_shown(piece, &name) && fits(piece, &name) {
                    next.push(entry.path());
                }
            }
            for dots in [".", ".."] {
                if is_shown(piece, &['.']) && fits(piece, &dots.chars().collect::<Vec<_>>()) {
                    next.push(folder.join(dots));
                }
            }
            if looked > MOST || next.len() > MOST {
                return None;
            }
        }
        found = next;
    }
    Some(found)
}

/// A character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    One(char),
    Any,
    Many,
}

/// The parts of a pattern between its slashes.
fn pieces(pattern: &str) -> Vec<Vec<Piece>> {
    let mut parts = vec![Vec::new()];
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let piece = match character {
            '\\' => match characters.next() {
                Some('/') => {
                    parts.push(Vec::new());
                    continue;
                }
                Some(literal) => Piece::One(literal),
                None => break,
            },
            '?' => Piece::Any,
            // What a bracket holds is read in several ways, up to where it ends.
            _ => Piece::Many,
        };
        if let Some(part) = parts.last_mut() {
            let in_bracket = part.last() == Some(&Piece::Many) && character == '*';
            if !in_bracket {
                part.push(piece);
            }
            if character == '[' {
                // All that follows in this part may belong to it.
                while let Some(rest) = characters.clone().next() {
                    let escaped = characters.clone().nth(1);
                    if rest == '\\' && escaped == Some('/') {
                        break;
                    }
                    characters.next();
                    if rest == '\\' {
                        characters.next();
                    }
                }
            }
        }
    }
    parts
}

/// Whether a name counts: hidden ones do where the pattern begins with a dot.
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

/// Whether a name fits, in time of the product of both lengths.
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
