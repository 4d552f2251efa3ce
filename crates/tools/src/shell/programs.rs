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

// Parses a program's arguments against the options it is approved with.
//
// Pure. Option names must match in full. An abbreviation or an unknown option is an error.

/// The argument that prevents approval, and what the program could do with it.
pub(super) type Refusal = (String, &'static str);

pub(super) const UNLISTED: &str =
    "do more than read: only options on the list are approved (:help flemma-shell-safe)";
pub(super) const OPEN: &str = "mean something else than it looks like";

/// Returns true if a word is in a list of words separated by blanks.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// Returns true if a text consists of digits only. The empty text does.
pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

/// Refuses patterns, where the words they expand to could change the meaning.
pub(super) fn no_patterns(arguments: &[Word]) -> Result<(), Refusal> {
    match arguments.iter().find(|it| it.is_pattern()) {
        Some(word) => refuse(&word.value, OPEN),
        None => Ok(()),
    }
}

pub(super) fn refuse<T>(word: &str, could: &'static str) -> Result<T, Refusal> {
    Err((word.to_owned(), could))
}

/// The options that a program is approved with, as a list of words.
///
/// `-abc` are letters without a value, and `-k=` is a letter with one. `--name` and `--name=` are
/// long names without and with a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options(pub &'static str);

impl Options {
    /// Returns true if an option letter takes a value; `None` if it is not listed.
    fn letter(self, letter: char) -> Option<bool> {
        // These have a meaning of their own in the list.
        if matches!(letter, '=' | '-') {
            return None;
        }
        self.0.split_whitespace().find_map(|word| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
            match letters.strip_suffix('=') {
                Some(one) => one.chars().eq([letter]).then_some(true),
                None => letters.contains(letter).then_some(false),
            }
        })
    }

    /// Returns true if a long option takes a value; `None` if it is not listed.
    fn name(self, name: &str) -> Option<bool> {
        self.0.split_whitespace().find_map(|word| {
            let listed = word.strip_prefix("--")?;
            let (listed, value) = match listed.strip_suffix('=') {
                Some(listed) => (listed, true),
                None => (listed, false),
            };
            (listed == name).then_some(value)
        })
    }
}

/// Parsed arguments.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// Options by letter (`-a`) or long name (`--all`), with their values.
    options: Vec<(String, Option<String>)>,
    /// The other words.
    pub operands: Vec<&'a Word>,
}

impl Parsed<'_> {
    /// The values of an option.
    pub(super) fn values<'b>(&'b self, names: &'b [&str]) -> impl Iterator<Item = &'b str> {
        let given = self.options.iter();
        let given = given.filter(|(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_deref())
    }
}

/// Parses arguments, none of which is a pattern.
///
/// # Errors
///
/// An option is not listed.
pub(super) fn parse(arguments: &[Word], options: Options) -> Result<Parsed<'_>, Refusal> {
    let mut parsed = Parsed::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        if value == "--" {
            parsed.operands.extend(words);
            break;
        }
        match value.strip_prefix('-').filter(|it| !it.is_empty()) {
            None => parsed.operands.push(word),
            Some(rest) => match rest.strip_prefix('-') {
                Some(long) => parsed.options.push(long_option(long, options, &mut words)?),
                None => letters(value, options, &mut words, &mut parsed)?,
            },
        }
    }
    Ok(parsed)
}

/// Parses a long option, given without its dashes, and its value if that is the next word.
fn long_option<'a>(
    long: &str,
    options: Options,
    words: &mut impl Iterator<Item = &'a Word>,
) -> Result<(String, Option<String>), Refusal> {
    let (name, given) = match long.split_once('=') {
        Some((name, given)) => (name, Some(given.to_owned())),
        None => (long, None),
    };
    let text = format!("--{long}");
    let value = match (options.name(name), given) {
        (Some(false), None) => None,
        (Some(true), Some(given)) => Some(given),
        (Some(true), None) => Some(next_value(&text, words)?),
        _ => return refuse(&text, UNLISTED),
    };
    Ok((format!("--{name}"), value))
}

/// Parses a word of option letters, and the value of the last if that is the next word.
fn letters<'a>(
    text: &str,
    options: Options,
    words: &mut impl Iterator<Item = &'a Word>,
    parsed: &mut Parsed<'a>,
) -> Result<(), Refusal> {
    let mut letters = text[1..].chars();
    while let Some(letter) = letters.next() {
        let rest = letters.as_str();
        let value = match options.letter(letter) {
            None => return refuse(text, UNLISTED),
            Some(false) => None,
            Some(true) if rest.is_empty() => Some(next_value(text, words)?),
            Some(true) => Some(rest.to_owned()),
        };
        let is_last = value.is_some();
        parsed.options.push((format!("-{letter}"), value));
        // The rest of the word was the value.
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}

/// Takes the next word as the value of the option `given`.
fn next_value<'a>(
    given: &str,
    words: &mut impl Iterator<Item = &'a Word>,
) -> Result<String, Refusal> {
    match words.next() {
        // A version of the program in which the option takes no value would read an option.
        Some(it) if it.value.len() > 1 && it.value.starts_with('-') => refuse(&it.value, UNLISTED),
        Some(it) => Ok(it.value.clone()),
        None => refuse(given, UNLISTED),
    }
}

// Approves forms of `curl`, `wget`, `ping`, `dig`, and `nslookup` that only fetch, and only from
// public addresses.
//
// Pure: an address is checked as it is spelled. Unlike `http_get`, this does not resolve names.

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

/// Returns true if a word is a host name or an address, not an option or a path.
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
