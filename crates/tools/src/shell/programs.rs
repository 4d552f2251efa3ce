//! The programs that are approved: by the view that holds them, or because they can only read.
//!
//! Pure. Sources: the manuals of GNU coreutils and grep, of jq, and of bash.

use super::options::{OPEN, Refusal, is_in, no_patterns, refuse};
use super::words::Word;

/// Programs that read. They also can write, run others, or use the network, which the read-only view
/// prevents.
pub(super) const VIEWED: &str = "[ awk cat cd cut date df diff du echo env false file find git grep head jq ls printf \
    pwd rg sed sort stat tail test tr true uname uniq wc which whoami";
/// Those of them that neither write nor run anything, whatever their options; see [`only_reads`].
const READERS: &str =
    "[ cat cd cut echo false grep head jq ls pwd stat tail test tr true uname wc whoami";
/// Built-in commands of the shell, which take precedence over programs in `PATH`.
const BUILTINS: &str = "[ cd echo false pwd test true";
/// Programs that use the network.
const NETWORK: &str = "curl dig nslookup ping wget";

/// Whether a program is approved in the read-only view.
pub(super) fn is_listed(name: &str) -> bool {
    is_in(VIEWED, name)
}

/// Whether a program is a built-in command of the shell.
pub(super) fn is_builtin(name: &str) -> bool {
    is_in(BUILTINS, name)
}

/// Whether a program uses the network.
pub(super) fn is_network(name: &str) -> bool {
    is_in(NETWORK, name)
}

/// Whether a listed program only reads without a view that holds it: `None` if it could do more
/// with some options.
///
/// # Errors
///
/// The argument with which it may do more.
pub(super) fn only_reads(name: &str, arguments: &[Word]) -> Option<Result<(), Refusal>> {
    let is_filter = matches!(name, "sort" | "uniq");
    if !is_in(READERS, name) && !is_filter {
        return None;
    }
    Some(reads(name, arguments, is_filter))
}

fn reads(name: &str, arguments: &[Word], is_filter: bool) -> Result<(), Refusal> {
    const FOLDERS: &str = "search folders that contain secrets";
    no_patterns(arguments)?;
    for value in arguments.iter().map(|it| it.value.as_str()) {
        let could = match name {
            // `-o`, a second operand of `uniq`, and most long options name files.
            _ if is_filter => (!is_filter_option(value)).then_some("write a file"),
            "grep" => searches_folders(value).then_some(FOLDERS),
            // Bash evaluates the operand, which can run commands.
            "[" | "test" => matches!(value, "-v" | "-R").then_some("evaluate its argument"),
            // They read the file of a module.
            "jq" => ["import", "include"]
                .iter()
                .any(|it| value.contains(it))
                .then_some("read a script that is not part of the command"),
            // It leads to the previous folder, which is not known.
            "cd" => value.starts_with('-').then_some(OPEN),
            _ => None,
        };
        if let Some(could) = could {
            return refuse(value, could);
        }
    }
    Ok(())
}

/// Whether a word is an option of `sort` and `uniq` that names no file and no program.
fn is_filter_option(value: &str) -> bool {
    let letters = value.strip_prefix('-').unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_digit() || "bcdfghiknruVz,.".contains(it);
    !letters.is_empty() && letters.chars().all(is_plain)
}

/// Whether a word may be an option of `grep` with which it reads all files in folders, also if the
/// option is abbreviated.
fn searches_folders(value: &str) -> bool {
    match value.strip_prefix("--") {
        Some(long) => long.starts_with(['r', 'd']),
        None => value.starts_with('-') && value.contains(['r', 'R', 'd']),
    }
}
