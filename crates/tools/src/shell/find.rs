//! Which expressions of `find` only look.
//!
//! Pure: tests, operators, and actions that print. Source: find(1) of GNU findutils.

use super::options::{OPEN, RUN, Refusal, refuse};
use super::programs::Reads;
use super::words::Word;

/// Words without an argument.
pub(super) const ALONE: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-ignore_readdir_race",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-nowarn",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-warn",
    "-writable",
    "-xdev",
];

/// Words with one argument.
pub(super) const WITH_VALUE: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-newerat",
    "-newerct",
    "-newermt",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// Options before the folders.
const FIRST: &[&str] = &["-H", "-L", "-P"];

pub(super) fn check(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    let begins = |word: &Word| {
        word.value.starts_with('-') || matches!(word.value.as_str(), "!" | "(" | ")" | ",")
    };
    let mut words = arguments.iter().peekable();
    while words
        .next_if(|it| FIRST.contains(&it.value.as_str()))
        .is_some()
    {}
    let mut folders = Vec::new();
    while let Some(folder) = words.next_if(|it| !begins(it)) {
        if folder.is_open() {
            return refuse(&folder.value, OPEN);
        }
        folders.push(folder);
    }
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        if word.is_pattern() {
            return refuse(value, OPEN);
        }
        if WITH_VALUE.contains(&value) {
            match words.next() {
                // The names that replace it would be further words of the expression.
                Some(given) if given.is_pattern() => return refuse(&given.value, OPEN),
                Some(given) if value == "-printf" && given.value.contains("\\c") => {
                    return refuse(&given.value, RUN);
                }
                Some(_) => {}
                None => return refuse(value, RUN),
            }
        } else if !ALONE.contains(&value) {
            return refuse(value, could(value));
        }
    }
    Ok(Reads::paths(folders))
}

fn could(word: &str) -> &'static str {
    match word {
        it if it.starts_with("-exec") || it.starts_with("-ok") => RUN,
        it if it.starts_with("-delete") || it.starts_with("-f") => "delete or write files",
        _ => "do more than look for files",
    }
}
