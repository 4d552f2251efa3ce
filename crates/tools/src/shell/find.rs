//! Approves expressions of `find` that only read.
//!
//! Pure: accepts tests, operators, and actions that print. Source: find(1) of GNU findutils.

use super::options::{OPEN, RUN, Refusal, is_in, refuse};
use super::programs::Reads;
use super::words::Word;

/// Tests, operators, and actions without an argument.
pub(super) const ALONE: &str = "! ( ) , -a -and -daystart -depth -empty -executable -false -follow -ignore_readdir_race -ls \
    -mount -nogroup -noleaf -not -nouser -nowarn -o -or -print -print0 -prune -quit -readable \
    -true -warn -writable -xdev";

/// Tests and actions with one argument.
// Not `-exec` and `-ok`, which run programs, nor `-fprint`, `-fprintf`, and `-fls`, which write
// files.
pub(super) const WITH_VALUE: &str = "-amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath \
    -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -newerat \
    -newerct -newermt -path -perm -printf -regex -regextype -samefile -size -type -uid -used \
    -user -wholename -xtype";

/// `find`: options, folders, an expression.
pub(super) fn check(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    let begins = |word: &Word| word.value.starts_with('-') || is_in("! ( ) ,", &word.value);
    let mut words = arguments.iter().peekable();
    while words.next_if(|it| is_in("-H -L -P", &it.value)).is_some() {}
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
        if is_in(WITH_VALUE, value) {
            match words.next() {
                // It may expand to several words, which would be part of the expression.
                Some(given) if given.is_pattern() => return refuse(&given.value, OPEN),
                Some(given) if value == "-printf" && given.value.contains("\\c") => {
                    return refuse(&given.value, RUN);
                }
                Some(_) => {}
                None => return refuse(value, RUN),
            }
        } else if !is_in(ALONE, value) {
            return refuse(value, could(value));
        }
    }
    Ok(Reads::paths(folders))
}

/// What an action that is not listed could do.
fn could(word: &str) -> &'static str {
    match word {
        it if it.starts_with("-exec") || it.starts_with("-ok") => RUN,
        // Such as `-fprint`.
        it if it.starts_with("-delete") || it.starts_with("-f") => "delete or write files",
        _ => "do more than look for files",
    }
}
