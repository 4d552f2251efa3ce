//! Which forms of `curl`, `wget`, `ping`, `dig`, and `nslookup` only fetch, and only
//! from other machines.
//!
//! Pure: an address is judged by its spelling. Only `http_get` resolves a name before
//! it connects.

use url::{Host, Url};

use super::options::{OPEN, Options, Refusal, parse, refuse};
use super::programs::Reads;
use super::words::Word;
use crate::address::is_public;

const MORE: &str = "do more than fetch a page";
const LOCAL: &str = "reach what only this machine can; http_get asks first";
const LEADS: &str = "be led to what only this machine can reach; http_get follows redirects";

pub(super) const CURL: Options = Options::new(
    "-sSfIiG46v -m= -H= -A= -X= --silent --show-error --fail --head --include --compressed --version --max-time= \
     --connect-timeout= --header= --user-agent= --request=",
);
pub(super) const DIG: &[&str] = &[
    "+short",
    "+noall",
    "+answer",
    "+noanswer",
    "+question",
    "+noquestion",
    "+comments",
    "+nocomments",
    "+stats",
    "+nostats",
    "+cmd",
    "+nocmd",
    "+trace",
    "+tcp",
    "+dnssec",
    "+multiline",
    "+additional",
    "+authority",
    "+recurse",
    "+norecurse",
    "+ttlid",
    "+nottlid",
];

/// Refuses patterns, and arguments with these options.
fn closed(arguments: &[Word]) -> Result<(), Refusal> {
    match arguments.iter().find(|it| it.is_pattern()) {
        Some(word) => refuse(&word.value, OPEN),
        None => Ok(()),
    }
}

pub(super) fn curl(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    let leads = |it: &&Word| {
        let value = it.value.as_str();
        let short = value.starts_with('-') && !value.starts_with("--") && value.contains('L');
        short || value.starts_with("--location")
    };
    let parsed = match parse(arguments, CURL) {
        Ok(parsed) => parsed,
        Err((word, why)) => {
            let why = if why == OPEN { OPEN } else { MORE };
            let why = if arguments.iter().any(|it| leads(&it)) {
                LEADS
            } else {
                why
            };
            return Err((word, why));
        }
    };
    for value in parsed.values(&["-X", "--request"]) {
        if !matches!(value, "GET" | "HEAD") {
            return Err((format!("-X {value}"), MORE));
        }
    }
    for value in parsed.values(&["-H", "--header"]) {
        if value.starts_with('@') {
            return Err((format!("-H {value}"), MORE));
        }
    }
    parsed
        .operands
        .iter()
        .try_for_each(|it| address(&it.value))?;
    Ok(Reads::nothing())
}

pub(super) fn wget(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    if let [only] = arguments
        && only.value == "--version"
    {
        return Ok(Reads::nothing());
    }
    let (mut prints, mut stays) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.value.as_str() {
            "-q" | "-nv" | "-S" | "-4" | "-6" => {}
            "-qO-" | "-O-" | "--spider" => prints = true,
            "-O" | "-qO" if words.next().is_some_and(|it| it.value == "-") => prints = true,
            "--max-redirect=0" => stays = true,
            "-T" => {
                let seconds = words.next().map_or("", |it| it.value.as_str());
                if !seconds.bytes().all(|it| it.is_ascii_digit()) {
                    return refuse(seconds, MORE);
                }
            }
            option if option.starts_with('-') => return refuse(option, MORE),
            given => address(given)?,
        }
    }
    let url = arguments.last().map_or("wget", |it| it.value.as_str());
    match (prints, stays) {
        (false, _) => refuse(url, "write a file"),
        (true, false) => refuse(url, LEADS),
        (true, true) => Ok(Reads::nothing()),
    }
}

/// Accepts only an address of another machine, and only HTTP.
fn address(given: &str) -> Result<(), Refusal> {
    // Braces and brackets would be expanded into several.
    if given.contains(['{', '}', '[', ']', '\\']) {
        return refuse(given, MORE);
    }
    let Ok(url) = Url::parse(given) else {
        return refuse(given, MORE);
    };
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() {
        return refuse(given, MORE);
    }
    match url.host() {
        Some(Host::Domain(name)) if is_local_name(name) => refuse(given, LOCAL),
        Some(Host::Domain(_)) => Ok(()),
        Some(Host::Ipv4(ip)) if is_public(ip.into()) => Ok(()),
        Some(Host::Ipv6(ip)) if is_public(ip.into()) => Ok(()),
        _ => refuse(given, LOCAL),
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_lowercase();
    let ends = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
    !name.contains('.') || ends.iter().any(|it| name.ends_with(it))
}

/// Whether a word is a name or an address and nothing else.
fn is_name(word: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_' | ':');
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_part)
}

pub(super) fn ping(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    let options = Options::new("-nqO46 -c= -i= -w= -W= -s= -t=");
    closed(arguments)?;
    let parsed = parse(arguments, options).map_err(|(word, _)| (word, MORE))?;
    match parsed.operands.iter().find(|it| !is_name(&it.value)) {
        Some(word) => refuse(&word.value, MORE),
        None => Ok(Reads::nothing()),
    }
}

/// `dig`: names, types, and options that choose what is printed.
pub(super) fn dig(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    for word in arguments {
        let value = word.value.as_str();
        let is_known = DIG.contains(&value) || matches!(value, "-4" | "-6" | "-x" | "-t" | "-v");
        let server = value.strip_prefix('@').unwrap_or(value);
        if !is_known && !is_name(server) {
            return refuse(value, "send the text of a file");
        }
    }
    Ok(Reads::nothing())
}

/// `nslookup`: a name, a server, and the type of record.
pub(super) fn nslookup(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    for word in arguments {
        let value = word.value.as_str();
        let kind = ["-type=", "-query=", "-q="]
            .iter()
            .find_map(|it| value.strip_prefix(it));
        if !is_name(kind.unwrap_or(value)) {
            return refuse(value, MORE);
        }
    }
    Ok(Reads::nothing())
}
