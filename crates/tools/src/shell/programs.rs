//! The list: programs that only read, and which of their arguments would do more.
//!
//! Pure. The programs are those of "Command Whitelist" in the agent specification. Of
//! those that run code of the project, and so do what any file in it says, only the
//! forms that do not are here; a user who wants more adds them by name.

use super::words::Word;
use super::{git, network, scripts};

/// The argument that is not let through, and what it could do.
pub(super) type Refusal = (String, &'static str);

pub(super) const WRITE: &str = "write a file";
pub(super) const RUN: &str = "run other programs";
/// What `make`, `python` and their like do.
const PROJECT: &str = "run code of the project; the user can add it to tools.bash.allow";

/// How the arguments of a program are looked at.
#[derive(Clone, Copy)]
enum Rule {
    /// None does more than read.
    Any,
    /// None but these options: letters, and long names without their dashes.
    But(&'static str, &'static [&'static str], &'static str),
    /// Only the forms that begin with one of these words.
    Forms(&'static [&'static str], &'static str),
    /// As this function says.
    By(fn(&[Word]) -> Result<(), Refusal>),
}

const PROGRAMS: [(&str, Rule); 48] = [
    ("awk", Rule::By(scripts::awk)),
    ("cargo", Rule::Forms(&[], PROJECT)),
    ("cat", Rule::Any),
    ("curl", Rule::By(network::curl)),
    ("cut", Rule::Any),
    ("date", Rule::By(date)),
    ("df", Rule::Any),
    ("diff", Rule::But("l", &["paginate"], RUN)),
    ("dig", Rule::But("fk", &[], "send the text of a file")),
    ("docker", Rule::By(docker)),
    ("du", Rule::Any),
    ("echo", Rule::Any),
    ("env", Rule::By(env)),
    ("file", Rule::But("C", &["compile"], WRITE)),
    ("find", Rule::By(find)),
    ("git", Rule::By(git::check)),
    ("go", Rule::By(go)),
    (
        "grep",
        Rule::But("f", &["file"], "read patterns from any file"),
    ),
    ("head", Rule::Any),
    (
        "jq",
        Rule::But("fL", &["from-file"], "run a script that nobody has read"),
    ),
    ("kubectl", Rule::By(kubectl)),
    ("ls", Rule::Any),
    ("make", Rule::Forms(&["--version", "-v"], PROJECT)),
    ("node", Rule::Forms(&["--version", "-v"], PROJECT)),
    (
        "npm",
        Rule::Forms(&["--version", "-v", "ls", "list"], PROJECT),
    ),
    ("nslookup", Rule::Any),
    ("ping", Rule::By(network::ping)),
    // `-v` sets a variable, and that could be the path of programs.
    ("printf", Rule::But("v", &[], "set a variable")),
    ("pwd", Rule::Any),
    ("python", Rule::Forms(&["--version", "-V"], PROJECT)),
    ("python3", Rule::Forms(&["--version", "-V"], PROJECT)),
    ("sed", Rule::By(scripts::sed)),
    (
        "sort",
        Rule::But(
            "oT",
            &["output", "compress-program", "temporary-directory"],
            WRITE,
        ),
    ),
    ("stat", Rule::Any),
    ("tail", Rule::Any),
    ("tr", Rule::Any),
    ("uname", Rule::Any),
    ("uniq", Rule::By(uniq)),
    ("wc", Rule::Any),
    ("wget", Rule::By(network::wget)),
    ("which", Rule::Any),
    ("whoami", Rule::Any),
    // Names that these go by as well.
    (
        "egrep",
        Rule::But("f", &["file"], "read patterns from any file"),
    ),
    (
        "fgrep",
        Rule::But("f", &["file"], "read patterns from any file"),
    ),
    ("gawk", Rule::By(scripts::awk)),
    ("mawk", Rule::By(scripts::awk)),
    ("true", Rule::Any),
    ("false", Rule::Any),
];

/// Whether a program only reads with these arguments; nothing when it is not listed.
pub(super) fn check(name: &str, arguments: &[Word]) -> Option<Result<(), Refusal>> {
    let (_, rule) = PROGRAMS.iter().find(|(program, _)| *program == name)?;
    Some(match rule {
        Rule::Any => Ok(()),
        Rule::But(letters, names, could) => but(arguments, letters, names, could),
        Rule::Forms(forms, could) => match arguments.first() {
            Some(first) if forms.contains(&first.value.as_str()) => {
                // What stands behind an option like `--version` may be done as well.
                let more = arguments.get(1).filter(|_| is_option(first));
                refuse_first(more, could).and_then(|()| closed(arguments, could))
            }
            Some(first) => Err((first.value.clone(), could)),
            None => Err((name.to_owned(), could)),
        },
        Rule::By(check) => check(arguments),
    })
}

/// Refuses some options. A long one can be abbreviated, and a letter can stand among
/// others; what could be meant so is refused as well.
pub(super) fn but(
    arguments: &[Word],
    letters: &str,
    names: &[&str],
    could: &'static str,
) -> Result<(), Refusal> {
    closed(arguments, could)?;
    let is_meant = |word: &&Word| match word.value.strip_prefix("--") {
        Some(long) => {
            let given = long.split('=').next().unwrap_or_default();
            !given.is_empty() && names.iter().any(|name| name.starts_with(given))
        }
        None => {
            let short = word.value.strip_prefix('-');
            short.is_some_and(|short| short.contains(|it| letters.contains(it)))
        }
    };
    refuse_first(arguments.iter().find(is_meant), could)
}

/// Refuses words in whose place an option could come from a file's name.
pub(super) fn closed(arguments: &[Word], could: &'static str) -> Result<(), Refusal> {
    refuse_first(arguments.iter().find(|word| word.is_open), could)
}

pub(super) fn refuse_first(word: Option<&Word>, could: &'static str) -> Result<(), Refusal> {
    match word {
        Some(word) => Err((word.value.clone(), could)),
        None => Ok(()),
    }
}

fn is_option(word: &Word) -> bool {
    word.value.starts_with('-') && word.value.len() > 1
}

fn find(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, RUN)?;
    let begins = |word: &&Word, with: &[&str]| with.iter().any(|it| word.value.starts_with(it));
    let runs = |word: &&Word| begins(word, &["-exec", "-ok"]);
    let writes = |word: &&Word| begins(word, &["-delete", "-fprint", "-fls"]);
    refuse_first(arguments.iter().find(runs), RUN)?;
    refuse_first(arguments.iter().find(writes), "delete or write files")
}

/// `env` alone prints what there is; with a word behind it, it runs that.
fn env(arguments: &[Word]) -> Result<(), Refusal> {
    refuse_first(arguments.first(), RUN)
}

fn date(arguments: &[Word]) -> Result<(), Refusal> {
    const SET: &str = "set the clock";
    but(arguments, "s", &["set"], SET)?;
    // What is neither a form nor an option's value is the time to set.
    let takes_value = |word: &Word| matches!(word.value.as_str(), "-d" | "--date" | "-r" | "-f");
    let is_time = |at: &usize| {
        let behind = at.checked_sub(1).and_then(|before| arguments.get(before));
        let word = &arguments[*at];
        !is_option(word) && !word.value.starts_with('+') && !behind.is_some_and(takes_value)
    };
    let time = (0..arguments.len()).find(is_time);
    refuse_first(time.map(|at| &arguments[at]), SET)
}

/// Its second file is written.
fn uniq(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, WRITE)?;
    let files: Vec<&Word> = arguments.iter().filter(|it| !is_option(it)).collect();
    refuse_first(files.get(1).copied(), WRITE)
}

fn go(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, RUN)?;
    let (first, rest) = match arguments.split_first() {
        Some((first, rest)) => (first, rest),
        None => return Ok(()),
    };
    let options: &[&str] = match first.value.as_str() {
        "version" => &["-m", "-v"],
        "env" => &["-json", "-changed"],
        "list" => &["-m", "-json", "-deps", "-test", "-e"],
        "doc" => &["-all", "-short", "-src", "-u", "-c"],
        _ => return Err((first.value.clone(), PROJECT)),
    };
    let is_other = |word: &&Word| is_option(word) && !options.contains(&word.value.as_str());
    refuse_first(rest.iter().find(is_other), RUN)
}

fn docker(arguments: &[Word]) -> Result<(), Refusal> {
    const MORE: &str = "do more than show containers and images";
    closed(arguments, MORE)?;
    const SHOWS: [&str; 7] = [
        "--version",
        "version",
        "ps",
        "images",
        "info",
        "logs",
        "inspect",
    ];
    match arguments.first() {
        Some(first) if SHOWS.contains(&first.value.as_str()) => Ok(()),
        first => refuse_first(first, MORE),
    }
}

fn kubectl(arguments: &[Word]) -> Result<(), Refusal> {
    const MORE: &str = "do more than show a cluster, or show its secrets";
    const SHOWS: [&str; 8] = [
        "get",
        "describe",
        "version",
        "explain",
        "api-resources",
        "api-versions",
        "logs",
        "top",
    ];
    const OPTIONS: [&str; 16] = [
        "-n",
        "--namespace",
        "-A",
        "--all-namespaces",
        "-o",
        "--output",
        "-l",
        "--selector",
        "--tail",
        "--since",
        "-c",
        "--container",
        "--client",
        "--show-labels",
        "--sort-by",
        "-f",
    ];
    closed(arguments, MORE)?;
    let Some((first, rest)) = arguments.split_first() else {
        return Ok(());
    };
    if !SHOWS.contains(&first.value.as_str()) {
        return Err((first.value.clone(), MORE));
    }
    let is_more = |word: &&Word| {
        let name = word.value.split('=').next().unwrap_or_default();
        let is_other = is_option(word) && !OPTIONS.contains(&name);
        // `-f` follows a log; elsewhere it reads a file, which may name a program.
        let is_file = name == "-f" && first.value != "logs";
        is_other || is_file || word.value.to_lowercase().contains("secret")
    };
    refuse_first(rest.iter().find(is_more), MORE)
}
