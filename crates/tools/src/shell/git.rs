//! Approves forms of `git` that only read.
//!
//! Pure: it checks the command line. `repository` checks the programs that a repository's
//! configuration and attributes name.

use super::contents::contents;
use super::options::{OPEN, Options, Parsed, Refusal, is_in, no_patterns, parse, refuse};
use super::programs::Reads;
use super::words::Word;

const CHANGE: &str = "change the repository";
const OTHER: &str = "change settings, which may run programs";
const MORE: &str = "write a file or run other programs";

/// Options of commands that show changes.
// Not `--output`, which writes a file, and `--ext-diff` and `--textconv`, which run programs.
const DIFF: &str = "-#  -pubwWzRasD -B? -C? -M? -U= -G= -S= -l= \
    --patch --no-patch --raw --patch-with-raw --stat? --compact-summary --numstat --shortstat --dirstat? --cumulative \
    --summary --patch-with-stat --name-only --name-status --color? --no-color --color-moved? --no-color-moved \
    --word-diff? --word-diff-regex= --color-words? --no-renames --rename-empty --no-rename-empty --check --full-index \
    --binary --abbrev? --break-rewrites? --find-renames? --find-copies? --find-copies-harder --irreversible-delete \
    --diff-filter= --find-object= --pickaxe-all --pickaxe-regex --skip-to= --rotate-to= --relative? --no-relative \
    --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines \
    --ignore-matching-lines= --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv \
    --ignore-submodules? --src-prefix= --dst-prefix= --no-prefix --default-prefix --unified= --minimal --patience \
    --histogram --anchored= --diff-algorithm= --indent-heuristic --no-indent-heuristic --ita-invisible-in-index \
    --cached --staged --merge-base";
/// Options of commands that list commits.
const LOG: &str = "-n= -L= -i -F -P -g -c -m -t --max-count= --skip= --since= --after= --until= --before= --author= --committer= \
    --grep= --grep-reflog= --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp \
    --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents= --max-parents= --first-parent \
    --not --all --branches? --tags? --remotes? --glob= --exclude= --reflog --boundary --simplify-by-decoration \
    --full-history --dense --sparse --simplify-merges --ancestry-path --date-order --author-date-order --topo-order \
    --reverse --oneline --pretty? --format= --abbrev-commit --no-abbrev-commit --graph --decorate? --no-decorate \
    --decorate-refs= --decorate-refs-exclude= --clear-decorations --source --follow --full-diff --log-size --date= \
    --relative-date --parents --children --left-right --cherry-pick --cherry-mark --cherry --left-only --right-only \
    --count --walk-reflogs --notes? --no-notes --show-notes --expand-tabs? --encoding= --no-mailmap --use-mailmap --cc \
    --combined-all-paths --diff-merges= --no-diff-merges --show-linear-break? --quiet --bisect --no-walk? --do-walk";
const STATUS: &str = "-sbvzu --short --branch --long --verbose --show-stash --porcelain? --untracked-files? --ignored? \
    --ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?";
const REFS: &str = "--count= --sort= --format= --points-at= --merged? --no-merged? --contains? --no-contains? \
    --ignore-case --exclude= --color?";
// Not `--contents` and `--ignore-revs-file`, which read other files.
const BLAME: &str = "-bcfkelnpstw -L= -C? -M? --root --show-stats --show-name --show-number --show-email --porcelain \
    --line-porcelain --incremental --since= --date= --abbrev= --color-lines --color-by-age --first-parent \
    --ignore-rev= --score-debug";
// Not `-O`, which runs a pager, and `-f`, which reads another file.
const GREP: &str = "-#  -aIinwvhHEFGPlLzoqcWp -e= -A= -B= -C= -m= --cached --text --ignore-case --word-regexp \
    --invert-match --full-name --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number \
    --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break \
    --heading --show-function --function-context --context= --after-context= --before-context= --max-count= \
    --max-depth= --and --or --not --all-match --quiet --threads= --recursive --column";
const LS_FILES: &str = "-cdmoistuvkz -x= --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory \
    --no-empty-directory --exclude= --exclude-standard --error-unmatch --full-name --abbrev? --eol --deduplicate";
const REV_PARSE: &str = "-q --quiet --verify --short? --abbrev-ref? --symbolic --symbolic-full-name --all --branches? --tags? \
    --remotes? --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir \
    --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree \
    --show-object-format? --path-format= --revs-only --no-revs --flags --no-flags --default= --not --git-path=";

/// Commands that only show something, with any operands, and their options.
pub(super) const SHOWS: &[(&str, &[&str])] = &[
    ("annotate", &[BLAME]),
    ("blame", &[BLAME]),
    (
        "check-ignore",
        &["-qvn --quiet --verbose --non-matching --no-index"],
    ),
    ("cherry", &["-v --abbrev?"]),
    ("count-objects", &["-vH --verbose --human-readable"]),
    (
        "describe",
        &[
            "--all --tags --contains --abbrev= --candidates= --exact-match --long --match= --exclude= --always --first-parent",
        ],
    ),
    ("diff", &[DIFF]),
    ("diff-files", &[DIFF]),
    ("diff-index", &[DIFF]),
    ("diff-tree", &[DIFF, LOG, "-r --root --no-commit-id"]),
    ("for-each-ref", &[REFS]),
    ("grep", &[GREP]),
    ("log", &[DIFF, LOG]),
    ("ls-files", &[LS_FILES]),
    (
        "ls-tree",
        &[
            "-drtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format=",
        ],
    ),
    (
        "merge-base",
        &["-a --all --octopus --is-ancestor --independent --fork-point"],
    ),
    (
        "name-rev",
        &["--tags --refs= --exclude= --all --name-only --no-undefined --always"],
    ),
    (
        "rev-list",
        &[
            LOG,
            "--objects --disk-usage? --timestamp --header --no-object-names --no-commit-header",
        ],
    ),
    ("rev-parse", &[REV_PARSE]),
    (
        "shortlog",
        // Its own first, because `-n` takes a value in `LOG`.
        &["-nsec -w? --numbered --summary --email --group=", LOG],
    ),
    ("show", &[DIFF, LOG]),
    (
        "show-ref",
        &[
            "-dqs --head --tags --heads --branches --dereference --hash? --verify --abbrev? --quiet --exists",
        ],
    ),
    ("status", &[STATUS]),
    ("whatchanged", &[DIFF, LOG]),
    ("cat-file", &["-pteS -s"]),
];

const BRANCH: &str = "-arvlqi --list --all --remotes --verbose --show-current --merged? --no-merged? --contains? --no-contains? \
    --points-at= --no-color --color? --column? --no-column --sort= --format= --abbrev= --no-abbrev --ignore-case --omit-empty";
const TAG: &str = "-#  -li -n? --list --contains? --no-contains? --merged? --no-merged? --points-at= --sort= --format= --column? \
    --no-column --color? --ignore-case --omit-empty";
/// Options of `branch` and `tag` with which names are patterns to list.
const LISTS: &str = "--list --merged --no-merged --contains --no-contains --points-at";
const CONFIG: &str = "-lz --get --get-all --get-regexp --list --global --local --system --worktree --show-origin --show-scope \
    --name-only --null --includes --no-includes --bool --int --all --regexp --show-names";

/// Checks a command line of git.
pub(super) fn check(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    let is_pager = |it: &Word| matches!(it.value.as_str(), "--no-pager" | "-P");
    let skipped = arguments.iter().take_while(|it| is_pager(it)).count();
    let Some((command, rest)) = arguments[skipped..].split_first() else {
        // `git` alone prints its help.
        return Ok(Reads::nothing());
    };
    if let Some(word) = arguments.iter().find(|it| it.is_open()) {
        return refuse(&word.value, OPEN);
    }
    let name = command.value.as_str();
    if let Some((_, options)) = SHOWS.iter().find(|(it, _)| *it == name) {
        return shows(name, rest, options);
    }
    match name {
        "--version" | "version" => Ok(Reads::nothing()),
        // Old versions of Git create a branch for `branch -l name`.
        "branch" => lists(rest, BRANCH, &[LISTS]),
        "tag" => lists(rest, TAG, &[LISTS, "-l"]),
        "config" => config(rest),
        "remote" => words(rest, &["-v", "--verbose"], &["get-url"]),
        "worktree" => words(rest, &[], &["list"]),
        "stash" | "reflog" => history(name, rest),
        // Such as `-c`, which sets any setting, and `-C`, whose folder would not be checked.
        option if option.starts_with('-') => refuse(option, OTHER),
        other => refuse(other, CHANGE),
    }
}

/// `stash list`, `stash show`, `reflog`, and `reflog show`.
fn history<'a>(name: &str, rest: &'a [Word]) -> Result<Reads<'a>, Refusal> {
    let Some((first, more)) = rest.split_first() else {
        // `git stash` alone stashes the changes; `git reflog` shows.
        return match name {
            "stash" => refuse(name, CHANGE),
            _ => shows("log", rest, &[DIFF, LOG]),
        };
    };
    match (name, first.value.as_str()) {
        ("stash", "list") | ("reflog", "show") => shows("log", more, &[DIFF, LOG]),
        ("stash", "show") => shows("show", more, &[DIFF]),
        // Without a subcommand, `reflog` shows.
        ("reflog", option) if option.starts_with('-') => shows("log", rest, &[DIFF, LOG]),
        (_, other) => refuse(other, CHANGE),
    }
}

/// Whether a format or a sort key runs a program: `%G?` and `signature` run gpg.
pub(super) fn runs_something(format: &str) -> bool {
    let checks = |it: &str| it.trim_start_matches(['-', '+', ' ']).starts_with('G');
    // `%(describe)` starts another Git.
    let names = ["signature", "describe"];
    format.split('%').skip(1).any(checks) || names.iter().any(|it| format.contains(it))
}

fn shows<'a>(name: &str, rest: &'a [Word], options: &[&'static str]) -> Result<Reads<'a>, Refusal> {
    let mut parsed = parsed(rest, options, MORE)?;
    // Without `-e`, the first operand of `git grep` is the regular expression.
    if name == "grep" && !parsed.has(&["-e"]) && !parsed.operands.is_empty() {
        let first = parsed.operands.remove(0);
        if first.is_pattern() {
            return refuse(&first.value, OPEN);
        }
        // If `--` precedes the expression, revisions may follow.
        parsed.before_dashes = parsed.before_dashes.and_then(|it| it.checked_sub(1));
    }
    Ok(Reads {
        contents: contents(name, &parsed),
        ..Reads::paths(parsed.operands)
    })
}

fn parsed<'a>(
    rest: &'a [Word],
    options: &[&'static str],
    could: &'static str,
) -> Result<Parsed<'a>, Refusal> {
    let parsed = parse(rest, Options::of(options)).map_err(|(word, why)| {
        let why = if why == OPEN { OPEN } else { could };
        (word, why)
    })?;
    let names = ["--format", "--pretty", "--sort"];
    let odd = parsed.values(&names).find(|it| runs_something(it));
    match odd.map(str::to_owned) {
        Some(format) => refuse(&format, MORE),
        None => Ok(parsed),
    }
}

/// `branch` and `tag`: without an option in `listing`, they create their operands.
fn lists<'a>(
    rest: &'a [Word],
    options: &'static str,
    listing: &[&str],
) -> Result<Reads<'a>, Refusal> {
    no_patterns(rest)?;
    let parsed = parsed(rest, &[options], CHANGE)?;
    let lists = |(option, _): &(String, _)| listing.iter().any(|it| is_in(it, option));
    match parsed.operands.first() {
        Some(name) if !parsed.options.iter().any(lists) => refuse(&name.value, CHANGE),
        _ => Ok(Reads::nothing()),
    }
}

/// `config` with a single name, or with an option or a subcommand that reads.
fn config(rest: &[Word]) -> Result<Reads<'_>, Refusal> {
    const READS: &[&str] = &["--get", "--get-all", "--get-regexp", "--list", "-l"];
    no_patterns(rest)?;
    let parsed = parsed(rest, &[CONFIG], CHANGE)?;
    // A subcommand comes first; after a name, the same word is a value to set.
    let first = rest.first().map(|it| it.value.as_str());
    // Both are subcommands since Git 2.46.
    let by_word = matches!(first, Some("get" | "list"));
    let is_read = by_word || parsed.has(READS) || parsed.operands.len() <= 1;
    match parsed.operands.last() {
        Some(value) if !is_read => refuse(&value.value, CHANGE),
        Some(name) if by_word && parsed.operands.len() > 2 => refuse(&name.value, CHANGE),
        // A name prints its value and contains a dot; `edit` and `unset` are subcommands.
        Some(name) if parsed.operands.len() == 1 && !parsed.has(READS) && !by_word => {
            match name.value.contains('.') {
                true => Ok(Reads::nothing()),
                false => refuse(&name.value, CHANGE),
            }
        }
        Some(_) => Ok(Reads::nothing()),
        None if parsed.has(READS) => Ok(Reads::nothing()),
        None => refuse("config", CHANGE),
    }
}

/// Accepts no arguments, one of the words in `alone` by itself, or one in `forms` with names.
fn words<'a>(rest: &'a [Word], alone: &[&str], forms: &[&str]) -> Result<Reads<'a>, Refusal> {
    no_patterns(rest)?;
    let Some((first, more)) = rest.split_first() else {
        return Ok(Reads::nothing());
    };
    let is_alone = alone.contains(&first.value.as_str());
    if !is_alone && !forms.contains(&first.value.as_str()) {
        return refuse(&first.value, CHANGE);
    }
    let is_plain = |word: &Word| {
        word.value == "--porcelain" || word.value == "--all" || !word.value.starts_with('-')
    };
    match more.iter().find(|it| is_alone || !is_plain(it)) {
        Some(word) => refuse(&word.value, CHANGE),
        None => Ok(Reads::nothing()),
    }
}
