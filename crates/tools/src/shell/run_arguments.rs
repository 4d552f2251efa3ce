//! Programs that run what their arguments name. A rule that allows any arguments for one of them
//! would allow every command.
//!
//! Pure. The table is used for the rules that a call suggests and for rules written by hand. Sources
//! are the programs' manuals, as of 26 November 2026. Programs that run the project's own code, as a
//! test runner does, are not in it: what runs then is not in the arguments.

use super::base;

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
mod tests {
    use super::*;

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
