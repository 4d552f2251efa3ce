//! Detects which grants a command needed, from its text and its output.

use serde_json::Value;

use crate::variables::withheld;

/// Minimum length of a variable name that is searched for in output. Shorter names are also
/// ordinary words.
const SHORTEST: usize = 5;

/// A permission that the sandbox withholds and the user can grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Texts that a program prints if it needs the permission. One of them is enough.
    pub signs: Vec<String>,
    /// One or two sentences: what is withheld, and which option grants it.
    pub note: String,
}

/// Returns the notes about permissions that a call with this `output` may have needed.
pub(crate) fn notes<'a>(
    missing: &'a [Missing],
    output: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let lacked = missing.iter().filter(move |missing| {
        let mut signs = missing.signs.iter();
        signs.any(|sign| output.contains(sign.as_str()))
    });
    lacked.map(|missing| format!("[{}]", missing.note))
}

/// Whether the arguments of a call contain a mode with a setuid or setgid bit, as in
/// `chmod u+s`, `chmod 2755`, or `install -m4755`.
pub(crate) fn sets_bits(input: &Value) -> bool {
    let texts = input.as_object().into_iter().flatten();
    let mut texts = texts.filter_map(|(_, value)| value.as_str());
    // A mode may stand in a shell command with quotes and separators around it.
    let ends = |c: char| c.is_whitespace() || "\"'`;&|(),".contains(c);
    texts.any(|text| text.split(ends).any(is_mode_with_bits))
}

fn is_mode_with_bits(word: &str) -> bool {
    let word = word.trim_start_matches("--mode=").trim_start_matches("-m");
    // Shorter numbers have no such bits.
    let is_octal = (4..=5).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit());
    if is_octal {
        return u32::from_str_radix(word, 8).is_ok_and(|mode| mode & 0o6000 != 0);
    }
    let Some((who, what)) = word.split_once(['+', '=']) else {
        return false;
    };
    // Letters that are no mode, as in a C++ option, are left alone.
    let all_in = |text: &str, letters: &str| text.chars().all(|it| letters.contains(it));
    all_in(who, "ugoa") && all_in(what, "rwxXst") && what.contains('s')
}

/// Part of the output of a call that failed to set such a bit.
pub(crate) const BITS_REFUSED: &str = "Operation not permitted";
/// The note for such a call.
pub(crate) const BITS_NOTE: &str = "[The sandbox lets no command set a setuid or setgid bit. The user can set it outside \
                                    of the sandbox.]";

/// Variables of the user that are not passed to commands.
pub(crate) struct HiddenVariables {
    /// Those that the command refers to.
    named: Vec<String>,
    others: Vec<String>,
}

impl HiddenVariables {
    /// The variables, divided by whether these arguments refer to them.
    pub(crate) fn of(input: &Value) -> Self {
        Self::among(withheld(), input)
    }

    fn among(withheld: Vec<String>, input: &Value) -> Self {
        let texts = input.as_object().into_iter().flatten();
        let texts: Vec<&str> = texts.filter_map(|(_, value)| value.as_str()).collect();
        let is_named = |name: &String| {
            // `${NAME` without a brace at the end, because an operator may follow.
            let spellings = [format!("${name}"), format!("${{{name}")];
            texts
                .iter()
                .any(|text| spellings.iter().any(|it| has_word(text, it)))
        };
        let (named, others) = withheld.into_iter().partition(is_named);
        Self { named, others }
    }

    /// A note about the variables that the call may have needed. `output` is the output of a
    /// call that failed.
    pub(crate) fn note(&self, output: Option<&str>) -> Option<String> {
        let output = output.unwrap_or_default();
        // Programs that read a variable themselves name it in their error.
        let complained = self
            .others
            .iter()
            .filter(|name| name.len() >= SHORTEST && has_word(output, name));
        let names: Vec<&str> = self
            .named
            .iter()
            .chain(complained)
            .map(String::as_str)
            .collect();
        let (first, rest) = names.split_first()?;
        let all = rest.iter().fold(format!("\"{first}\""), |all, name| {
            format!("{all}, \"{name}\"")
        });
        let verb = if rest.is_empty() { "is" } else { "are" };
        Some(format!(
            "[{} {verb} set in the user's environment and not passed to commands. The user can change that with \
             sandbox.env = {{ {all} }}.]",
            names.join(", "),
        ))
    }
}

/// Whether `text` contains `word`, and not only as a part of longer names.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let starts = !word.starts_with(is_part) || !before.is_some_and(is_part);
        starts && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_note_names_a_missing_variable_and_its_option() {
        let note = |command: &str, output: Option<&str>| {
            let withheld = ["GITHUB_TOKEN", "AWS_PROFILE"].map(str::to_owned).to_vec();
            HiddenVariables::among(withheld, &json!({"command": command})).note(output)
        };
        let one = note("curl -H \"Bearer ${GITHUB_TOKEN:-}\" x", None).unwrap_or_default();
        assert!(
            one.contains("GITHUB_TOKEN is set")
                && one.contains("sandbox.env = { \"GITHUB_TOKEN\" }"),
            "{one}"
        );
        let failed = note(
            "gh pr list",
            Some("set the GITHUB_TOKEN environment variable"),
        );
        assert!(failed.is_some());
        let two = note("echo $GITHUB_TOKEN $AWS_PROFILE", None).unwrap_or_default();
        assert!(
            two.contains("{ \"GITHUB_TOKEN\", \"AWS_PROFILE\" }"),
            "{two}"
        );
        assert_eq!(note("echo $GITHUB_TOKENS", Some("MY_GITHUB_TOKEN")), None);
        assert_eq!(note("gh pr list", None), None);
    }

    #[test]
    fn setuid_and_setgid_modes_are_detected() {
        for command in [
            "chmod u+s x",
            "chmod 'ug+rws' x",
            "chmod +s x; ls",
            "chmod o-x,g=s x",
            "chmod 4755 x",
            "chmod 02755 x",
            "install -m6711 a b",
            "install --mode=u+s a b",
        ] {
            assert!(sets_bits(&json!({"command": command})), "{command}");
        }
        for command in [
            "chmod 0755 x",
            "chmod 1777 x",
            "chmod +x s",
            "ls -s 4096x",
            "a=b+sum",
        ] {
            assert!(!sets_bits(&json!({"command": command})), "{command}");
        }
    }

    #[test]
    fn output_with_a_sign_gets_the_note() {
        let missing = [Missing {
            signs: vec!["no agent".to_owned()],
            note: "Grant it.".to_owned(),
        }];
        assert_eq!(
            notes(&missing, "x: no agent\n").next().as_deref(),
            Some("[Grant it.]")
        );
        assert_eq!(notes(&missing, "fine").count(), 0);
    }
}
