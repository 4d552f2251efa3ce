//! The plain commands that a command line consists of, for rules that the user remembers.
//!
//! Pure. A line is refused as a whole if any of it could mean something else when it runs: then
//! no rule applies to it.

use super::words::{KnownVariables, Word};
use super::{MAX_LENGTH, base, syntax};

/// The words of each command of a line, in order.
///
/// # Errors
///
/// The syntax in it whose meaning is not certain, as a noun with its article: expansions,
/// patterns, assignments, redirections of files, groups, and everything that
/// [`review`](super::review) does not analyze.
pub fn parts(line: &str) -> Result<Vec<Vec<String>>, &'static str> {
    if line.len() > MAX_LENGTH {
        return Err("more than 16 KB");
    }
    // Even where a shell would take them literally: a rule need not know all of its quoting.
    if line.contains(['$', '`']) {
        return Err("an expansion");
    }
    let commands = syntax::read(line, &KnownVariables::new([]))?;
    if commands.is_empty() {
        return Err("no command");
    }
    let mut all = Vec::with_capacity(commands.len());
    for command in commands {
        if !command.inputs.is_empty() {
            return Err("a redirection from a file");
        }
        all.push(words(command.words)?);
    }
    Ok(all)
}

fn words(words: Vec<Word>) -> Result<Vec<String>, &'static str> {
    let program = words.first().ok_or("a redirection without a command")?;
    // In quotes, an alias or a keyword would be another command than it looks like.
    if !program.is_plain || program.value.contains('=') {
        return Err("a program's name in quotes, or an assignment");
    }
    if words.iter().any(Word::is_pattern) {
        return Err("a pattern");
    }
    Ok(words.into_iter().map(|it| it.value).collect())
}

// Programs that run what their arguments name. A rule that allows any arguments for one of them
// would allow every command.
//
// Pure. The table is used for the rules that a call suggests and for rules written by hand. Sources
// are the programs' manuals, as of 26 November 2026. Programs that run the project's own code, as a
// test runner does, are not in it: what runs then is not in the arguments.

/// Programs, separated by spaces, with the arguments that run something.
const PROGRAMS: [(&str, &str); 17] = [
    (
        ". ash bash csh dash elvish eval fish ksh mksh nu oksh pwsh rbash sh source tcsh trap xonsh yash zsh",
        "its arguments are a script",
    ),
    (
        "builtin busybox chroot chrt command coproc doas env exec fakeroot firejail flock gdbserver hyperfine ionice \
         ltrace nice nohup numactl parallel perf pkexec prlimit proot runuser script setarch setpriv setsid sg \
         ssh-agent start-stop-daemon stdbuf strace su sudo systemd-run taskset time timeout toybox unshare valgrind \
         watch watchexec xargs xvfb-run bwrap catchsegv dbus-run-session entr expect faketime nsenter rlwrap unbuffer",
        "its arguments are a command",
    ),
    (
        "awk bb clojure deno elixir erl gawk ghc ghci groovy guile iex irb java jshell julia lua luajit mawk node \
         nodejs octave perl php python pypy R racket Rscript ruby runghc sbcl scala swipl tclsh ts-node tsx wish ocaml",
        "its arguments are a program",
    ),
    (
        "bunx npx nix nix-shell pipx pnpx uvx direnv mise asdf",
        "its arguments are a command",
    ),
    ("ed emacs ex gvim m4 nvim vi view vim", "-c and the like"),
    ("find fd fdfind", "-exec"),
    ("gdb lldb", "-ex"),
    ("rg", "--pre"),
    ("ag ack less man more most", "--pager"),
    ("ssh scp sftp rsync mosh slogin", "-o, -e, and -S"),
    (
        "bsdtar cpio gtar star tar zip unzip",
        "--to-command, -I, and -TT",
    ),
    ("sed gsed", "its command e"),
    (
        "sort gsort split install",
        "--compress-program, --filter, and --strip-program",
    ),
    (
        "cc clang clang++ g++ gcc ld rustc tcc",
        "-wrapper, -fplugin, and -C linker",
    ),
    ("cmake ctest ninja", "-P, -S, and -f"),
    (
        "psql mysql mariadb sqlite3 ftp lftp mail mutt",
        "shell escapes",
    ),
    (
        "curl wget screen tmux crontab at batch systemctl launchctl ssh-keygen",
        "-K, --use-askpass, and commands",
    ),
];

/// Programs whose first argument says what they do, with the subcommands that run what further
/// arguments name. Without a subcommand, any of them could follow.
const SUBCOMMANDS: [(&str, &str); 34] = [
    ("apt", ""),
    ("bun", "add build create install test"),
    ("bundle", "config console open"),
    ("cargo", "install rustc rustdoc"),
    ("composer", "global run-script"),
    ("docker", "build buildx compose"),
    ("dotnet", "build msbuild test"),
    ("gh", "extension"),
    (
        "git",
        "archive bisect clone config credential daemon diff difftool fast-import fetch fetch-pack filter-branch \
         for-each-repo grep hook instaweb log ls-remote maintenance merge mergetool pull push rebase receive-pack \
         remote send-email send-pack show submodule upload-pack web--browse",
    ),
    ("go", "build generate get install list test tool vet"),
    ("gradle", ""),
    ("helm", "plugin template"),
    ("hg", "archive bisect clone diff merge pull push"),
    ("just", ""),
    ("jj", "diff fix git log show util"),
    ("kubectl", "apply attach cp edit plugin"),
    ("make", ""),
    ("meson", "setup test"),
    ("mix", "cmd do eval"),
    ("mvn", ""),
    ("npm", "init install-test explore"),
    ("pip", "install"),
    ("pnpm", "create"),
    ("podman", "build"),
    ("poetry", ""),
    ("rake", ""),
    ("rustup", ""),
    ("stack", "build test"),
    ("svn", "diff merge"),
    ("swift", "build test"),
    ("terraform", "init"),
    ("uv", "pip"),
    ("yarn", "create node"),
    ("zig", "build cc c++ test"),
];

/// Subcommands of any of these programs whose arguments are a command.
const RUN: &str = "alias cmd config console dlx eval exec foreach run script shell ssh tool x";

/// Returns the arguments with which a command that begins with these words runs what they name, if
/// there are any: a phrase for a message.
pub fn run_arguments(words: &[String]) -> Option<&'static str> {
    let program = base(words.first()?);
    // `python3.12` and `gcc-14` are other names of the same program.
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let names = |list: &str| {
        list.split_whitespace()
            .any(|it| it == program || !plain.is_empty() && it == plain)
    };
    if let Some((_, how)) = PROGRAMS.iter().find(|(list, _)| names(list)) {
        return Some(how);
    }
    let (_, subcommands) = SUBCOMMANDS.iter().find(|(it, _)| names(it))?;
    let Some(second) = words.get(1) else {
        return Some("a subcommand");
    };
    let has = |list: &str| list.split_whitespace().any(|it| it == second);
    (second.starts_with(['-', '+']) || has(subcommands) || has(RUN)).then_some("its options")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<Vec<String>>> {
        parts(line).ok()
    }

    #[test]
    fn a_line_is_split_into_its_commands() {
        let rows: &[(&str, &[&[&str]])] = &[
            ("cargo test", &[&["cargo", "test"]]),
            ("cargo  test\t-q", &[&["cargo", "test", "-q"]]),
            (
                "cargo test 'a b' \"c d\"",
                &[&["cargo", "test", "a b", "c d"]],
            ),
            (
                "a && b || c; d | e",
                &[&["a"], &["b"], &["c"], &["d"], &["e"]],
            ),
            ("a\nb", &[&["a"], &["b"]]),
            ("a 2>&1 >/dev/null", &[&["a"]]),
            ("./run --all", &[&["./run", "--all"]]),
            ("echo '*' x=1", &[&["echo", "*", "x=1"]]),
        ];
        for (line, expected) in rows {
            assert_eq!(split(line).unwrap(), *expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_could_mean_something_else_has_no_parts() {
        for line in [
            "",
            "# only a comment",
            "cargo test $(id)",
            "cargo test `id`",
            "cargo test $HOME",
            "cargo test '$HOME'",
            "cargo test $?",
            "cargo test ~",
            "cargo test > f",
            "cargo test >> f",
            "cargo test < f",
            "cargo test <<E\nE",
            "cargo test <(id)",
            "cargo test *",
            "cargo test -[a-z]",
            "cargo test {a,b}",
            "cargo test &",
            "cargo test \\\n-q",
            "CARGO_X=1 cargo test",
            "'cargo' test",
            "c\\argo test",
            "(cargo test)",
            "{ cargo test; }",
            "! cargo test",
            "if true; then cargo test; fi",
            "f() { id; }",
            "export A=1",
            "cargo\u{a0}test",
            "cargo test \u{202e}x",
            "cargo test\r",
            "cargo test 'x",
            "> f",
        ] {
            assert_eq!(split(line), None, "{line:?}");
        }
        assert_eq!(split(&"a".repeat(MAX_LENGTH + 1)), None);
    }

    fn runs(line: &str) -> bool {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        run_arguments(&words).is_some()
    }

    #[test]
    fn programs_and_subcommands_that_run_their_arguments_are_known() {
        for line in [
            "env",
            "/usr/bin/env",
            "python3.12",
            "gcc-14",
            "find",
            "find src",
            "git",
            "git fetch",
            "git rebase",
            "git grep",
            "git bisect",
            "git submodule",
            "git -C",
            "go test",
            "go test ./...",
            "cargo run",
            "cargo",
            "npm exec",
            "tar",
            "rsync",
            "rg",
            "sed",
            "make",
            "sort",
            "vim",
        ] {
            assert!(runs(line), "{line}");
        }
        for line in [
            "git status",
            "git add",
            "git commit",
            "go fmt",
            "cargo fmt",
            "cargo test",
            "make check",
            "ls",
            "cat",
            "npm ls",
            "jq",
        ] {
            assert!(!runs(line), "{line}");
        }
    }

    #[test]
    fn each_name_is_in_one_row() {
        let programs = PROGRAMS
            .iter()
            .flat_map(|(list, _)| list.split_whitespace());
        let mut all: Vec<&str> = programs
            .chain(SUBCOMMANDS.iter().map(|(it, _)| *it))
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
