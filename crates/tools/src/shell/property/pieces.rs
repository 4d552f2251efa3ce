//! The words of generated command lines.

/// Options that write or run something in some program.
#[rustfmt::skip]
pub(super) const HOSTILE: &[&str] = &[
    "-exec", "-execdir", "-ok", "-delete", "-fprint", "-fls", "-o", "--output=out", "--output",
    "-i", "--in-place", "-f", "-r", "-R", "-w", "--pre=./canary", "--pre", "-z", "-T",
    "--to-command=./canary", "--compress-program=./canary", "--ext-diff", "--textconv",
    "--show-signature", "-O./canary", "--open-files-in-pager=./canary", "-c", "--exec-path=.", "-C",
    "--git-dir=.", "-v", "-s", "--set", "--files0-from=a", "--filter", "-F", "-E", "-P", "-e", "-L",
    "-H", "--", "-", "--paginate", "-l", "-p", "--no-index", "-u", "--help", "--batch", "--filters",
    "-t", "-x", "-n", "-d",
];
/// Values of options.
#[rustfmt::skip]
pub(super) const VALUES: &[&str] = &[
    "1", "2", "3", "0", "x", "a", "out", ",", ":", "%h", "%G?", "%s %an", "'%(trailers)'",
    "'a[$(id>pwned)]'", "./canary", "/dev/null", "name", "main", "HEAD", "1,2", "f", "d", "-1",
    "'*.rs'", "src", "auto", "always", "''", "short",
];
/// Scripts, and pieces of them.
#[rustfmt::skip]
pub(super) const SED: &[&str] = &[
    "p", "1p", "1,2p", "$p", "/a/p", "/a/,/b/d", "s/a/b/", "s/a/b/g", "s|a|b|p", "=", "1q", "w out",
    "1w out", "e", "1e id>pwned", "e ./canary", "s/a/b/e", "s/a/b/w out", "s/[]/A]/g", "r a", "R a",
    "W out", "y/a/b/", "{p}", "1{w out", "}", "!d", "$!d", "#A", "s/a\\/b/c/", "s,a\\,b,c,",
    "s/[/]e/x/", "/[/]/e", "i\\", "a\\", "c out", "b x", ": x", "s/a/b/\nw out", "\\,a,p",
];
#[rustfmt::skip]
pub(super) const AWK: &[&str] = &[
    "{print}", "{print $1}", "NR==1", "{s+=$1} END {print s}", "$1>1", "{print > \"out\"}",
    "{print $1 > 2}", "{print | \"./canary\"}", "BEGIN{system(\"./canary\")}",
    "{\"id\" | getline x}", "/a/", "/[/]/", "!x[$0]++", "{print \"a\", $2}", "{printf \"%s\", $1}",
    "{getline < \"a\"}", "{print(1)>\"out\"}", "{print \"x\" >> \"out\"}", "function f(){}",
    "@load \"x\"", "{close(\"x\")}", "{print -1}", "{x=\"a\" \"b\"; print x}",
    "BEGIN {FS=\",\"} {print $2}", "$1 ~ /a/ {print NR}", "{print $1,$2 ; next}",
    "{print /a/ > \"out\"}", "{ x[\"a\"] = 1 } END { print x[\"a\"] }", "{print (1 > 0)}",
    "{print 1 > 0}", "$0 ~ \"a>b\"",
];
#[rustfmt::skip]
pub(super) const OTHER: &[&str] = &[
    "'s/a/b/'", "'a b'", "\"a b\"", "\"$HOME\"", "$HOME", "~", "~/project", "$PWD", "$?",
    "../project/a", "./a", "src/*.rs", "./*", "*", "a*", "?", "[a]", "-*", "--out*", "'*'", "\\*",
    "src/", ".", "..", "/dev/null", "./-exec", "into", "into/id_ed25519", "~/.ssh/id_ed25519",
    "~/.s*/*", "conf/.env", "/proc/self/environ", "'%n'", "'%s\\n'", "+%F", "TODO", "main", "HEAD",
    "v1", "HEAD~1", "HEAD:a", "main..HEAD", "user.name", "a=b", "=", "!=", "]", "(", "!", "aux",
    "e", "1", "'1p'", "${HOME}", "{a,b}", "$(id>pwned)", "`id>pwned`", "<(id)", "$x", "\"a\\\"b\"",
    "'a'\"b\"c", "é", "'a\nb'", "\\\n", "'\\'", "\"\\\\\"",
];
#[rustfmt::skip]
pub(super) const GIT: &[&str] = &[
    "branch", "tag", "config", "remote", "stash", "reflog", "worktree", "push", "commit -m x", "add .",
    "--version", "-p log", "--no-pager log", "checkout", "gc", "status", "diff", "log -p", "show",
    "grep x", "blame a", "ls-files", "rev-parse HEAD", "-c core.pager=./canary -p log", "fetch", "clean -fd",
    "-c alias.x=!./canary x", "apply a", "archive -o out HEAD", "-C ../hostile status",
];
#[rustfmt::skip]
pub(super) const FIND: &[&str] = &[
    "-exec ./canary \\;", "-exec touch out +", "-exe? ./canary \\;", "-delet?", "-delete", "-name a*",
    "-print", "-type f", "-name '*.rs'", "-maxdepth 1", "-fprint out", "-newer a", "-o", "-ls",
];
/// Letters of options.
pub(super) const LETTERS: &str =
    "a b c d e f g h i k l m n o p q r s t u v w x z A B C E F H I L P R S T 1 5 -";
pub(super) const JOIN: &[&str] = &[" | ", " && ", " || ", "; ", "\n", " |& ", " & ", ";", "&&"];
#[rustfmt::skip]
pub(super) const REDIRECT: &[&str] = &[
    " < a", " 2>/dev/null", " >/dev/null 2>&1", " > out", " >> out", " < ./*", " <<< a", " &> out",
    " 2>&1", " >| out", " < into/x",
];
