//! File names as the most forgiving file systems compare them.

use std::path::Component;

/// A component of a path in the one spelling that all its variants share: letters of
/// either case and of full width are one, characters without width are dropped, and so
/// is what Windows ignores at the end of a name.
pub fn folded(component: Component<'_>) -> String {
    fold(&component.as_os_str().to_string_lossy())
}

/// The same for a name that is not part of a path.
pub fn fold(name: &str) -> String {
    let lower = lower(name);
    // NTFS: `.git::$INDEX_ALLOCATION` is the folder `.git` itself.
    let plain = lower.split(':').next().unwrap_or_default();
    let plain = plain.trim_end_matches(['.', ' ']);
    match plain {
        // `.` and `..`, and names of nothing else.
        "" => lower,
        // The short name that Windows gives to `.git`.
        "git~1" => ".git".to_owned(),
        _ => plain.to_owned(),
    }
}

fn lower(name: &str) -> String {
    // Nearly all names; every component of every path that a call names comes here.
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let visible = name.chars().filter(|c| !has_no_width(*c)).map(narrow);
    // Through capitals, so that `ſ` and `s` become one letter.
    let upper = visible.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).collect()
}

/// The ASCII character that a full-width one looks like.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xff01 + u32::from('!')).unwrap_or(c)
        }
        _ => c,
    }
}

/// The characters that HFS+ ignores in a name.
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
