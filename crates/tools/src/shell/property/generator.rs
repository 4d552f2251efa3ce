//! Generates command lines from the list of programs.

use super::world::NAMES;
use crate::shell::programs::VIEWED;

pub(super) struct Generator(u64);

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (SplitMix64).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// One word of a list.
    fn one_of<'a>(&mut self, words: &'a str) -> &'a str {
        self.one(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// True once in so many calls.
    fn rarely(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// A line of one to three commands.
    pub(super) fn line(&mut self) -> String {
        let mut line = self.command();
        while self.rarely(3) {
            let join = if self.rarely(6) {
                self.one(JOIN)
            } else {
                self.one(&JOIN[..4])
            };
            line += join;
            line += &self.command();
        }
        line
    }

    fn command(&mut self) -> String {
        let name = self.one_of(VIEWED);
        let mut words = vec![name.to_owned()];
        match name {
            "find" => self.find(&mut words),
            "git" => self.git(&mut words),
            "sed" => self.script(SED, &mut words),
            "awk" => self.script(AWK, &mut words),
            _ => {
                self.options(&mut words);
                self.operands(&mut words);
                words.extend((name == "[").then(|| "]".to_owned()));
            }
        }
        if self.rarely(12) {
            let at = 1 + self.below(words.len());
            words.insert(at, self.one(HOSTILE).to_owned());
        }
        let mut command = words.join(" ");
        if self.rarely(12) {
            command += self.one(REDIRECT);
        }
        command
    }

    fn options(&mut self, words: &mut Vec<String>) {
        for _ in 0..self.below(4) {
            let option = if self.rarely(3) {
                self.one(HOSTILE).to_owned()
            } else {
                format!("-{}", self.one_of(LETTERS))
            };
            let given = self.one(VALUES);
            words.push(match self.below(4) {
                0 if option.starts_with("--") => format!("{option}={given}"),
                0 => format!("{option}{given}"),
                1 => format!("{option} {given}"),
                _ => option,
            });
        }
    }

    fn operands(&mut self, words: &mut Vec<String>) {
        for _ in 0..self.below(4) {
            let word = match self.below(3) {
                0 => self.one(NAMES).to_owned(),
                1 => {
                    let name = self.one(NAMES).replace('\'', "");
                    if self.rarely(3) {
                        format!("./'{name}'")
                    } else {
                        format!("'{name}'")
                    }
                }
                _ => self.one(OTHER).to_owned(),
            };
            words.push(word);
        }
    }

    fn find(&mut self, words: &mut Vec<String>) {
        words.push(
            self.one(&[".", "src", "./*", "*", "clean", "-H ."])
                .to_owned(),
        );
        for _ in 0..self.below(4) {
            words.push(if self.rarely(3) {
                format!("{} {}", self.one(HOSTILE), self.one(VALUES))
            } else {
                self.one(FIND).to_owned()
            });
        }
    }

    fn git(&mut self, words: &mut Vec<String>) {
        words.push(self.one(GIT).to_owned());
        self.options(words);
        self.operands(words);
    }

    fn script(&mut self, pieces: &[&str], words: &mut Vec<String>) {
        for _ in 0..self.below(2) {
            words.push(
                self.one(&["-n", "-E", "-F,", "-e", "-v x=1", "-s", "-i", "-f"])
                    .to_owned(),
            );
        }
        let mut script = self.one(pieces).to_owned();
        while self.rarely(3) {
            script += self.one(&[";", "\n", " ", ""]);
            script += self.one(pieces);
        }
        // A stray character makes most scripts unusual.
        if self.rarely(6) {
            let at = self.below(script.len() + 1);
            if script.is_char_boundary(at) {
                let odd = [
                    "/", "[", "]", "\\", ";", "w", "e", ">", "|", "\"", "{", "\n",
                ];
                script.insert_str(at, self.one(&odd));
            }
        }
        words.push(format!("'{script}'"));
        self.operands(words);
    }
}

// The words of generated command lines.

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
