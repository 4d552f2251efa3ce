//! Folding of file names to one spelling, as the most tolerant file systems compare them.

use std::path::Component;

/// Folds a path component: ignores case, full-width forms, invisible characters, and the
/// endings that Windows ignores.
pub fn folded(component: Component<'_>) -> String {
    fold(&component.as_os_str().to_string_lossy())
}

/// Folds a name that is not part of a path.
pub fn fold(name: &str) -> String {
    let lower = lower(name);
    // On NTFS, `.git::$INDEX_ALLOCATION` is the folder `.git` itself.
    let plain = lower.split(':').next().unwrap_or_default();
    let plain = plain.trim_end_matches(['.', ' ']);
    match plain {
        // `.`, `..`, and names that consist only of ignored characters.
        "" => lower,
        // The short name that Windows gives `.git`.
        "git~1" => ".git".to_owned(),
        _ => plain.to_owned(),
    }
}

fn lower(name: &str) -> String {
    // Fast path: every component of every path in a call is folded.
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let visible = name.chars().filter(|c| !has_no_width(*c)).map(narrow);
    // Converts to upper case first, so that `ſ` and `s` become the same letter.
    let upper = visible.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).collect()
}

/// Maps a full-width character to ASCII.
fn narrow(c: char) -> char {
    match c {
        // These are the printable characters of ASCII, in the same order.
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xff01 + u32::from('!')).unwrap_or(c)
        }
        _ => c,
    }
}

/// Returns true if HFS+ ignores the character in names.
fn has_no_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn variants_of_a_name_fold_to_one_spelling() {
        for name in [
            ".git",
            ".GIT",
            ".git.",
            ".git. .",
            ".git ",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            "GIT~1",
            ".g\u{200c}it",
            "\u{ff0e}git",
            ".\u{ff27}\u{ff29}\u{ff34}",
            "\u{feff}.git",
        ] {
            assert_eq!(fold(name), ".git", "{name:?}");
        }
        assert_eq!(fold(".\u{17f}sh"), ".ssh");
        assert_eq!(fold(".\u{212a}ube"), ".kube");
    }

    #[test]
    fn other_names_stay_apart() {
        for name in [".gitignore", "git", "..git", ".gi", "..", ".", "a.b"] {
            assert_eq!(fold(name), name);
        }
    }
}
