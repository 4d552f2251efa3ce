//! Problems in terms of the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::terminal::{self, Code};

/// Prints problems on standard error.
pub fn warn(problems: &[String]) {
    for problem in problems {
        terminal::report(&in_a_shell(problem));
    }
}

/// Prints problems and returns the code.
pub fn fail(code: Code, problems: &[String]) -> ExitCode {
    warn(problems);
    code.into()
}

/// Returns the current folder.
///
/// # Errors
///
/// It cannot be read; the message is for the user.
pub fn current_folder() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| format!("The current folder cannot be read: {error}."))
}

/// Replaces the keys and commands of Neovim in a message by commands of the shell.
pub fn in_a_shell(message: &str) -> String {
    [
        ("setup(): ", "flemma/config.toml: "),
        ("setup{}", "flemma/config.toml"),
        ("setup()", "flemma/config.toml"),
        ("ress Ctrl-] again", "ress Ctrl-]"),
        // Longer phrases come first, because a shorter one is a part of them.
        (
            " (in Neovim by :let), run :Flemma restart, and press Ctrl-]",
            " and run it again",
        ),
        (", or press Ctrl-]", ", or run it again"),
        ("press Ctrl-]", "run it again"),
        ("Press Ctrl-]", "Run it again"),
        (", then :w.", ", then write it."),
        (" and restart Neovim", " and run it again"),
        (", or try `:Flemma tutor`, which needs no key", ""),
        ("; :Flemma trust lets it", "; `flemma trust` lets it"),
        (
            "confirm with :Flemma trust project",
            "confirm with `flemma trust`",
        ),
        (
            ":Flemma trust! project revokes",
            "`flemma trust --revoke` revokes",
        ),
        ("confirm with :Flemma trust", "confirm with `flemma trust`"),
        (":Flemma undo", "`flemma undo`"),
        (":Flemma redo", "`flemma undo --redo`"),
    ]
    .iter()
    .fold(message.to_owned(), |message, (key, command)| {
        message.replace(key, command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_what_can_be_done_in_a_shell() {
        for (message, shown) in [
            (
                "Raise it, or press Ctrl-] to let the model continue.",
                "Raise it, or run it again to let the model continue.",
            ),
            (
                "Start it, then press Ctrl-] again.",
                "Start it, then run it again.",
            ),
            (
                "Press Ctrl-] to ask again; it is unchanged.",
                "Run it again to ask again; it is unchanged.",
            ),
            (
                "Set $X and restart Neovim, or try `:Flemma tutor`, which needs no key.",
                "Set $X and run it again.",
            ),
            (
                "setup(): unknown name \"x\". Set model in setup{}, as in setup().",
                "flemma/config.toml: unknown name \"x\". Set model in flemma/config.toml, as in flemma/config.toml.",
            ),
        ] {
            assert_eq!(in_a_shell(message), shown);
        }
    }
}
