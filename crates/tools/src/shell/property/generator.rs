//! Generates command lines from the list of programs.

use super::pieces::{AWK, FIND, GIT, HOSTILE, JOIN, LETTERS, OTHER, REDIRECT, SED, VALUES};
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
