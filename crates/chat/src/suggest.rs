//! Suggests the name that a misspelled word was probably meant to be.
//!
//! Every "Did you mean" uses this function, so that all of them tolerate the same mistakes.

/// Maximum length of a compared word in bytes; a longer one is no typo.
const MAX_LENGTH: usize = 128;
/// Maximum number of mistakes in a word of any length.
const MAX_MISTAKES: usize = 3;

/// Returns the name with the smallest edit distance to `word`, ignoring case.
///
/// Allows one mistake per three letters of the name, so a word of two letters has no
/// suggestion. An edit inserts, removes, or replaces a letter, or swaps two neighbors.
/// Among equal distances, the alphabetically first name wins.
pub fn suggest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_LENGTH {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&name.to_lowercase(), &word);
    let is_near = |distance: usize, name: &str| {
        distance <= MAX_MISTAKES && distance <= name.chars().count() / 3
    };
    let names = names.into_iter().map(|name| (distance(name), name));
    let best = names.filter(|&(distance, name)| is_near(distance, name));
    best.min().map(|(_, name)| name)
}

/// Returns a sentence with the suggestion for `word` and a space before it, or nothing.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match suggest(word, names) {
        Some(name) => format!(" Did you mean \"{name}\"?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mistake_per_three_letters_is_allowed() {
        let names = ["bash", "calculator", "edit", "ls", "read", "write"];
        for (word, expected) in [
            ("bsah", Some("bash")),
            ("BASH", Some("bash")),
            ("calculater", Some("calculator")),
            ("clacualtor", Some("calculator")),
            ("task", None),
            ("sl", None),
            ("web_search", None),
        ] {
            assert_eq!(suggest(word, names), expected, "{word}");
        }
        assert_eq!(suggest(&"x".repeat(200), names), None);
    }
}
