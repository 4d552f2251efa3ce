//! The environment of commands that a model wrote: the user's, without secrets
//! and without ways back into the editor.
//!
//! Pure; the caller reads the real environment.

use std::ffi::OsString;

use super::Mark;

/// Set for every command: nothing may ask or page, nobody sees colours.
const QUIET: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("NO_COLOR", "1"),
];

/// Whose `…_TOKEN` and `…_KEY` variables pay for models.
const PROVIDERS: [&str; 15] = [
    "ANTHROPIC",
    "AZURE",
    "CLAUDE",
    "DEEPSEEK",
    "GEMINI",
    "GOOGLE",
    "GROQ",
    "HF",
    "HUGGINGFACE",
    "MISTRAL",
    "MOONSHOT",
    "OPENAI",
    "OPENROUTER",
    "TOGETHER",
    "VERTEX",
];

/// `inherited` without what a command must not have, then [`QUIET`] and the
/// call's mark, then the user's own `extra`, which wins.
pub(crate) fn child_environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    extra: &[(String, String)],
    mark: &Mark,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = inherited
        .filter(|(name, _)| !is_withheld(&name.to_string_lossy()))
        .collect();
    let own = QUIET.iter().copied().chain([(Mark::NAME, mark.value())]);
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    environment.extend(
        extra
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    environment
}

fn is_withheld(name: &str) -> bool {
    let of_provider = PROVIDERS.iter().any(|provider| {
        let rest = name.strip_prefix(provider);
        rest.is_some_and(|rest| rest.starts_with('_'))
    });
    name.starts_with("NVIM")
        || name == "SSH_AUTH_SOCK"
        || name.ends_with("_API_KEY")
        || (of_provider && (name.ends_with("_TOKEN") || name.ends_with("_KEY")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_agents_and_the_editors_socket_are_withheld() {
        let withheld = [
            "NVIM",
            "NVIM_LISTEN_ADDRESS",
            "SSH_AUTH_SOCK",
            "ANTHROPIC_API_KEY",
            "MY_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "HF_TOKEN",
        ];
        for name in withheld {
            assert!(is_withheld(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "GITHUB_TOKEN",
            "HFS_TOKEN",
            "ANTHROPIC_BASE_URL",
        ] {
            assert!(!is_withheld(name), "{name}");
        }
    }

    #[test]
    fn the_users_own_variables_come_last() {
        let extra = [("PAGER".to_owned(), "less".to_owned())];

        let environment = child_environment(std::iter::empty(), &extra, &Mark::new("t"));

        assert_eq!(environment.last(), Some(&("PAGER".into(), "less".into())));
    }
}
