//! The programs that are approved: by the view that holds them, or because they can only read.
//!
//! Pure. Sources: the manuals of GNU coreutils and grep, of jq, and of bash.

use url::{Host, Url};

use super::words::Word;
use crate::address::is_public;

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

/// Returns true if a program is approved in the read-only view.
pub(super) fn is_listed(name: &str) -> bool {
    is_in(VIEWED, name)
}

/// Returns true if a program is a built-in command of the shell.
pub(super) fn is_builtin(name: &str) -> bool {
    is_in(BUILTINS, name)
}

/// Returns true if a program uses the network.
pub(super) fn is_network(name: &str) -> bool {
    is_in(NETWORK, name)
}

/// Returns true if a listed program only reads without a view that holds it: `None` if it could do more
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

/// Returns true if a word is an option of `sort` and `uniq` that names no file and no program.
fn is_filter_option(value: &str) -> bool {
    let letters = value.strip_prefix('-').unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_digit() || "bcdfghiknruVz,.".contains(it);
    !letters.is_empty() && letters.chars().all(is_plain)
}

/// Returns true if a word may be an option of `grep` with which it reads all files in folders, also if the
/// option is abbreviated.
fn searches_folders(value: &str) -> bool {
    match value.strip_prefix("--") {
        Some(long) => long.starts_with(['r', 'd']),
        None => value.starts_with('-') && value.contains(['r', 'R', 'd']),
    }
}

/// The argument that prevents approval, and what the program could do with it.
pub(super) type Refusal = (String, &'static str);

const OPEN: &str = "mean something else than it looks like";

/// Returns true if a word is in a list of words separated by blanks.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// Returns true if a text consists of digits only. The empty text does.
fn is_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

/// Refuses patterns, where the words they expand to could change the meaning.
fn no_patterns(arguments: &[Word]) -> Result<(), Refusal> {
    match arguments.iter().find(|it| it.is_pattern()) {
        Some(word) => refuse(&word.value, OPEN),
        None => Ok(()),
    }
}

fn refuse<T>(word: &str, could: &'static str) -> Result<T, Refusal> {
    Err((word.to_owned(), could))
}

// Approves forms of `curl`, `wget`, `ping`, `dig`, and `nslookup` that only fetch, and only from
// public addresses.
//
// Pure: an address is checked as it is spelled. Unlike `http_get`, this does not resolve names.

const MORE: &str = "do more than fetch a page";
const LOCAL: &str = "reach an address that only this machine can reach; http_get asks first";
const LEADS: &str =
    "be redirected to an address that only this machine can reach; http_get checks redirects";

/// The options that a network program is approved with, separated by blanks. They must match in full.
struct Options {
    /// Letters without a value, which may be joined.
    letters: &'static str,
    /// Other options without a value.
    words: &'static str,
    /// Options with a value, which is joined to a letter, behind `=`, or the next word.
    with_value: &'static str,
}

// Not `-o` and `-O`, which write files, `-d`, `-F`, and `-T`, which send them, `-K`, which
// reads options, and `-L`, which follows redirects.
const CURL: Options = Options {
    letters: "sSfIiG46v",
    words: "--silent --show-error --fail --head --include --compressed --version",
    with_value: "-m -H -A -X --max-time --connect-timeout --header --user-agent --request",
};
const WGET: Options = Options {
    letters: "qS46",
    words: "-nv --spider",
    with_value: "-O -T --max-redirect",
};
// Not `-f`, which floods the network.
const PING: Options = Options {
    letters: "nqO46",
    words: "",
    with_value: "-c -i -w -W -s -t",
};
const DIG: &str = "+short +noall +answer +noanswer +question +noquestion +comments +nocomments +stats \
    +nostats +cmd +nocmd +trace +tcp +dnssec +multiline +additional +authority +recurse +norecurse \
    +ttlid +nottlid -4 -6 -x -t -v";

impl Options {
    /// The options among arguments, with their values, and the other words, with an empty name.
    ///
    /// # Errors
    ///
    /// An option is not one of these, or a word is a pattern.
    fn parse(&self, arguments: &[Word]) -> Result<Vec<(String, String)>, Refusal> {
        no_patterns(arguments)?;
        let mut found = Vec::new();
        let mut words = arguments.iter().map(|it| it.value.as_str());
        while let Some(word) = words.next() {
            if word == "--" {
                found.extend(words.by_ref().map(|it| (String::new(), it.to_owned())));
            } else if !word.starts_with('-') || word == "-" {
                found.push((String::new(), word.to_owned()));
            } else if is_in(self.words, word) {
                found.push((word.to_owned(), String::new()));
            } else if let Some((name, joined)) = self.with_value(word) {
                let value = match joined {
                    Some(joined) => Some(joined),
                    // A version of the program in which the option takes no value would read an option.
                    None => words.next().filter(|it| *it == "-" || !it.starts_with('-')),
                };
                found.push((name, value.ok_or((word.to_owned(), MORE))?.to_owned()));
            } else if !word[1..].chars().all(|it| self.letters.contains(it)) {
                return refuse(word, MORE);
            }
        }
        Ok(found)
    }

    /// The option with a value that a word has, and the value if the word has that, too.
    fn with_value<'w>(&self, word: &'w str) -> Option<(String, Option<&'w str>)> {
        let (name, value) = if word.starts_with("--") {
            let given = word.split_once('=');
            given.map_or((word.to_owned(), None), |(name, value)| {
                (name.to_owned(), Some(value))
            })
        } else {
            let behind = word[1..].trim_start_matches(|it| self.letters.contains(it));
            let letter = behind.chars().next()?;
            let value = &behind[letter.len_utf8()..];
            (format!("-{letter}"), (!value.is_empty()).then_some(value))
        };
        is_in(self.with_value, &name).then_some((name, value))
    }
}

/// Checks the arguments of a program that uses the network.
pub(super) fn check_network(name: &str, arguments: &[Word]) -> Result<(), Refusal> {
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
    let follows = |it: &Word| {
        let value = it.value.as_str();
        let short = value.starts_with('-') && !value.starts_with("--") && value.contains('L');
        short || value.starts_with("--location")
    };
    // Following redirects is the likeliest reason for a refusal, so its message comes first.
    let parsed = CURL.parse(arguments).map_err(|(word, why)| match why {
        MORE if arguments.iter().any(follows) => (word, LEADS),
        why => (word, why),
    })?;
    for (name, value) in parsed {
        match name.as_str() {
            "" => address(&value)?,
            "-X" | "--request" if !matches!(value.as_str(), "GET" | "HEAD") => {
                return Err((format!("-X {value}"), MORE));
            }
            // `-H @file` would send the lines of a file.
            "-H" | "--header" if value.starts_with('@') => {
                return Err((format!("-H {value}"), MORE));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `wget` to its standard output, without redirects.
fn wget(arguments: &[Word]) -> Result<(), Refusal> {
    if let [only] = arguments
        && only.value == "--version"
    {
        return Ok(());
    }
    let (mut prints, mut stays) = (false, false);
    for (name, value) in WGET.parse(arguments)? {
        match (name.as_str(), value.as_str()) {
            ("", given) => address(given)?,
            ("-O", "-") | ("--spider", _) => prints = true,
            ("--max-redirect", "0") => stays = true,
            ("-T", seconds) if is_digits(seconds) => {}
            ("-nv", _) => {}
            (_, value) => return refuse(value, MORE),
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

/// Returns true if a word is a host name or an address, not an option or a path.
fn is_name(word: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_' | ':');
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_part)
}

/// `ping` of hosts.
fn ping(arguments: &[Word]) -> Result<(), Refusal> {
    let parsed = PING.parse(arguments)?;
    match parsed
        .iter()
        .find(|(name, it)| name.is_empty() && !is_name(it))
    {
        Some((_, word)) => refuse(word, MORE),
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
