//! Approves forms of `curl`, `wget`, `ping`, `dig`, and `nslookup` that only fetch, and only from
//! public addresses.
//!
//! Pure: an address is checked as it is spelled. Unlike `http_get`, this does not resolve names.

use url::{Host, Url};

use super::options::{OPEN, Options, Refusal, is_digits, is_in, no_patterns, parse, refuse};
use super::words::Word;
use crate::address::is_public;

const MORE: &str = "do more than fetch a page";
const LOCAL: &str = "reach an address that only this machine can reach; http_get asks first";
const LEADS: &str =
    "be redirected to an address that only this machine can reach; http_get checks redirects";

// Not `-o` and `-O`, which write files, `-d`, `-F`, and `-T`, which send them, `-K`, which
// reads options, and `-L`, which follows redirects.
const CURL: Options = Options(
    "-sSfIiG46v -m= -H= -A= -X= --silent --show-error --fail --head --include --compressed --version --max-time= \
     --connect-timeout= --header= --user-agent= --request=",
);
const DIG: &str = "+short +noall +answer +noanswer +question +noquestion +comments +nocomments +stats \
    +nostats +cmd +nocmd +trace +tcp +dnssec +multiline +additional +authority +recurse +norecurse \
    +ttlid +nottlid -4 -6 -x -t -v";

/// Checks the arguments of a program that uses the network.
pub(super) fn check(name: &str, arguments: &[Word]) -> Result<(), Refusal> {
    match name {
        "curl" => curl(arguments),
        "wget" => wget(arguments),
        "ping" => ping(arguments),
        "dig" => dig(arguments),
        _ => nslookup(arguments),
    }
}

/// `curl` without options that write, send, or follow redirects.
fn curl(arguments: &[Word]) -> Result<(), Refusal> {
    no_patterns(arguments)?;
    let follows = |it: &Word| {
        let value = it.value.as_str();
        let short = value.starts_with('-') && !value.starts_with("--") && value.contains('L');
        short || value.starts_with("--location")
    };
    // Following redirects is the likeliest reason for a refusal, so its message comes first.
    let parsed = parse(arguments, CURL).map_err(|(word, why)| match why {
        _ if arguments.iter().any(follows) => (word, LEADS),
        OPEN => (word, OPEN),
        _ => (word, MORE),
    })?;
    for value in parsed.values(&["-X", "--request"]) {
        if !matches!(value, "GET" | "HEAD") {
            return Err((format!("-X {value}"), MORE));
        }
    }
    for value in parsed.values(&["-H", "--header"]) {
        // `-H @file` would send the lines of a file.
        if value.starts_with('@') {
            return Err((format!("-H {value}"), MORE));
        }
    }
    parsed
        .operands
        .iter()
        .try_for_each(|it| address(&it.value))?;
    Ok(())
}

/// `wget` to its standard output, without redirects.
fn wget(arguments: &[Word]) -> Result<(), Refusal> {
    no_patterns(arguments)?;
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
            "-T" => {
                let seconds = words.next().map_or("", |it| it.value.as_str());
                if !is_digits(seconds) {
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
        // Unlike curl, wget follows redirects by default.
        (true, false) => refuse(url, LEADS),
        (true, true) => Ok(()),
    }
}

/// Accepts an HTTP address that is public.
fn address(given: &str) -> Result<(), Refusal> {
    // curl expands braces and brackets to several addresses.
    if given.contains(['{', '}', '[', ']', '\\']) {
        return refuse(given, MORE);
    }
    let Ok(url) = Url::parse(given) else {
        return refuse(given, MORE);
    };
    // A user name can disguise the host, as in `http://example.org@10.0.0.1/`.
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
    // Names that local resolvers and routers answer, by a standard or by custom.
    let ends = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
    // A name without a dot is completed by the search domains of the machine.
    !name.contains('.') || ends.iter().any(|it| name.ends_with(it))
}

/// Whether a word is a host name or an address, not an option or a path.
fn is_name(word: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_' | ':');
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_part)
}

/// `ping` of hosts.
fn ping(arguments: &[Word]) -> Result<(), Refusal> {
    // Not `-f`, which floods the network.
    let options = Options("-nqO46 -c= -i= -w= -W= -s= -t=");
    no_patterns(arguments)?;
    let parsed = parse(arguments, options).map_err(|(word, _)| (word, MORE))?;
    match parsed.operands.iter().find(|it| !is_name(&it.value)) {
        Some(word) => refuse(&word.value, MORE),
        None => Ok(()),
    }
}

/// `dig`: names, types, and options that choose what is printed.
fn dig(arguments: &[Word]) -> Result<(), Refusal> {
    no_patterns(arguments)?;
    for word in arguments {
        let value = word.value.as_str();
        let server = value.strip_prefix('@').unwrap_or(value);
        // `-f` and `-k` read files and send what is in them.
        if !is_in(DIG, value) && !is_name(server) {
            return refuse(value, "send the text of a file");
        }
    }
    Ok(())
}

/// `nslookup`: a name, a server, and the type of record.
fn nslookup(arguments: &[Word]) -> Result<(), Refusal> {
    no_patterns(arguments)?;
    for word in arguments {
        let value = word.value.as_str();
        let kind = ["-type=", "-query=", "-q="]
            .iter()
            .find_map(|it| value.strip_prefix(it));
        if !is_name(kind.unwrap_or(value)) {
            return refuse(value, MORE);
        }
    }
    Ok(())
}
