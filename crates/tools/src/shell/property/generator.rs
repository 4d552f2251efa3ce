//! Generates command lines from the table of programs.

use super::pieces::{AWK, GIT, HOSTILE, JOIN, OTHER, REDIRECT, SED, VALUES};
use super::world::NAMES;
use crate::shell::options::{Options, Value, is_in};
use crate::shell::rule::Rule;
use crate::shell::table::PROGRAMS;
use crate::shell::{find, git};

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
        let (name, rule) = PROGRAMS[self.below(PROGRAMS.len())];
        // These take long, or need a network.
        if is_in("sleep npm node pip pip3 seq numfmt curl wget ping", name) {
            return self.command();
        }
        let mut words = vec![name.to_owned()];
        self.arguments(name, rule, &mut words);
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

    fn arguments(&mut self, name: &str, rule: Rule, words: &mut Vec<String>) {
        match (name, rule) {
            ("find", _) => self.find(words),
            ("git", _) => self.git(words),
            ("sed", _) => self.script(SED, words),
            ("awk" | "gawk" | "mawk", _) => self.script(AWK, words),
            (_, Rule::Plain(options, _) | Rule::First(options, _) | Rule::Search(options, _)) => {
                self.options(&options.all(), words);
                self.operands(words);
            }
            (_, Rule::Version(versions)) => words.push(self.one(versions).to_owned()),
            ("[", _) => {
                self.operands(words);
                words.push("]".to_owned());
            }
            _ => {
                for _ in 0..self.below(3) {
                    words.push(self.one_of("-u -f -d -e -v -n -r -o -c pid").to_owned());
                }
                self.operands(words);
            }
        }
    }

    fn options(&mut self, all: &[(String, Value)], words: &mut Vec<String>) {
        for _ in 0..self.below(4) {
            if all.is_empty() {
                return;
            }
            let (name, value) = &all[self.below(all.len())];
            // Sometimes abbreviated, which is refused.
            let name = match self.below(12) {
                0 if name.len() > 4 => &name[..name.len() - 2],
                _ => name,
            };
            let given = self.one(VALUES);
            words.push(match value {
                Value::No => name.to_owned(),
                Value::Maybe if self.rarely(2) => name.to_owned(),
                Value::Yes | Value::Maybe if name.starts_with("--") => format!("{name}={given}"),
                Value::Yes | Value::Maybe if self.rarely(2) => format!("{name}{given}"),
                Value::Yes | Value::Maybe => format!("{name} {given}"),
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
            match self.below(4) {
                0 => words.push(format!("'{}'", self.one_of(find::ALONE))),
                1 | 2 => words.push(format!(
                    "{} {}",
                    self.one_of(find::WITH_VALUE),
                    self.one(VALUES)
                )),
                _ => words.push(
                    self.one(&[
                        "-exec ./canary \\;",
                        "-exe? ./canary \\;",
                        "-delet?",
                        "-delete",
                        "-name a*",
                        "-print",
                    ])
                    .to_owned(),
                ),
            }
        }
    }

    fn git(&mut self, words: &mut Vec<String>) {
        if self.rarely(4) {
            words.push(self.one(GIT).to_owned());
            for _ in 0..self.below(2) {
                let word = self.one_of("list show -v --list -a get-url --get -l");
                words.push(word.to_owned());
            }
        } else {
            let (name, options) = git::SHOWS[self.below(git::SHOWS.len())];
            words.push(name.to_owned());
            self.options(&Options::of(options).all(), words);
        }
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
