//! Which forms of `curl`, `wget` and `ping` only fetch, and only from elsewhere.
//!
//! Pure: an address is judged as it is written. What a name leads to is found out
//! only by `http_get`, which looks before it connects.

use url::{Host, Url};

use super::programs::{Refusal, WRITE, closed, refuse_first};
use super::words::Word;
use crate::address::is_public;

const MORE: &str = "do more than fetch a page";
const LOCAL: &str = "reach what only this machine can; http_get asks first";
const LEADS: &str = "be led to what only this machine can reach; http_get follows redirects";

/// Options without a value, by letter and by name.
const CURL_FLAGS: (&str, [&str; 7]) = (
    "sSfIiG46v",
    [
        "silent",
        "show-error",
        "fail",
        "head",
        "include",
        "compressed",
        "version",
    ],
);
/// Options with one.
const CURL_VALUES: [&str; 9] = [
    "-m",
    "--max-time",
    "--connect-timeout",
    "-H",
    "--header",
    "-A",
    "--user-agent",
    "-X",
    "--request",
];

pub(super) fn curl(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, MORE)?;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        if CURL_VALUES.contains(&value) {
            let given = words.next().map_or("", |it| it.value.as_str());
            let reads = given.starts_with('@');
            let sends = matches!(value, "-X" | "--request") && !matches!(given, "GET" | "HEAD");
            if reads || sends {
                return Err((format!("{value} {given}"), MORE));
            }
        } else if let Some(long) = value.strip_prefix("--") {
            if long == "location" {
                return Err((value.to_owned(), LEADS));
            }
            if !CURL_FLAGS.1.contains(&long) {
                return Err((value.to_owned(), MORE));
            }
        } else if let Some(short) = value.strip_prefix('-') {
            if short.contains('L') {
                return Err((value.to_owned(), LEADS));
            }
            if short.is_empty() || !short.chars().all(|it| CURL_FLAGS.0.contains(it)) {
                return Err((value.to_owned(), MORE));
            }
        } else {
            address(value)?;
        }
    }
    Ok(())
}

pub(super) fn wget(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, MORE)?;
    if let [only] = arguments
        && only.value == "--version"
    {
        return Ok(());
    }
    let (mut prints, mut stays) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.value.as_str() {
            "-q" | "-nv" | "-S" | "-4" | "-6" => {}
            "-qO-" | "-O-" | "--spider" => prints = true,
            "-O" | "-qO" if words.next().is_some_and(|it| it.value == "-") => prints = true,
            "--max-redirect=0" => stays = true,
            "-T" => drop(words.next()),
            option if option.starts_with('-') => return Err((option.to_owned(), MORE)),
            given => address(given)?,
        }
    }
    let url = || {
        arguments
            .last()
            .map(|it| it.value.clone())
            .unwrap_or_default()
    };
    match (prints, stays) {
        (false, _) => Err((url(), WRITE)),
        (true, false) => Err((url(), LEADS)),
        (true, true) => Ok(()),
    }
}

/// Only an address of another machine, and only by HTTP.
fn address(given: &str) -> Result<(), Refusal> {
    let refused = |could| Err((given.to_owned(), could));
    // It would be expanded into several.
    if given.contains(['{', '}', '[', ']', '\\']) {
        return refused(MORE);
    }
    let Ok(url) = Url::parse(given) else {
        return refused(MORE);
    };
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() {
        return refused(MORE);
    }
    match url.host() {
        Some(Host::Domain(name)) if is_local_name(name) => refused(LOCAL),
        Some(Host::Domain(_)) => Ok(()),
        Some(Host::Ipv4(ip)) if is_public(ip.into()) => Ok(()),
        Some(Host::Ipv6(ip)) if is_public(ip.into()) => Ok(()),
        _ => refused(LOCAL),
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_lowercase();
    let ends = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
    !name.contains('.') || ends.iter().any(|it| name.ends_with(it))
}

pub(super) fn ping(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, MORE)?;
    let is_other = |word: &&Word| {
        let short = word.value.strip_prefix('-');
        short.is_some_and(|it| {
            !it.chars()
                .all(|it| "cwWinq46".contains(it) || it.is_numeric())
        })
    };
    refuse_first(arguments.iter().find(is_other), MORE)
}
