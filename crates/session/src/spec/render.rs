//! Renders templates in minijinja's language, which also accepts `{{.name}}`.
//!
//! An argument is data. If it would be an expression or a file reference in the chat, alone
//! or together with the text beside it, it becomes a variable of the chat whose value is
//! that text. That way it is sent unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chat::references::{Piece, pieces};
use minijinja::{Environment, UndefinedBehavior, escape_formatter};

/// Maximum steps of a template; the examples take a few hundred.
const FUEL: u64 = 1_000_000;

/// Delimiters around the output of a template's expressions: noncharacters, which text that
/// is exchanged between programs must not contain.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// Arguments that can be filled into templates.
pub struct Filled {
    values: BTreeMap<String, String>,
    /// Texts that are variables of the chat, in the order of their names.
    variables: Vec<String>,
}

impl Filled {
    /// Takes the arguments by name.
    pub fn new(values: BTreeMap<String, String>) -> Self {
        // An argument must not contain the marks that separate segments.
        let unmarked = |value: String| value.replace([OPEN, CLOSE], "\u{fffd}");
        let values = values.into_iter();
        Self {
            values: values.map(|(name, it)| (name, unmarked(it))).collect(),
            variables: Vec::new(),
        }
    }

    /// Returns the lines of a Lua frontmatter that define the variables.
    pub fn variables(&self) -> Vec<String> {
        let numbered = self.variables.iter().zip(1..);
        let line = |(value, number): (&String, usize)| {
            format!("{} = {}", variable(number), lua_string(value))
        };
        numbered.map(line).collect()
    }

    /// Renders a template; `what` names it in errors.
    ///
    /// # Errors
    ///
    /// The error in the template, with its line.
    pub fn render(&mut self, what: &str, template: &str) -> Result<String, String> {
        let mut environment = Environment::new();
        // A misspelled name is an error instead of an empty text.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // A template with huge loops must not block the host.
        environment.set_fuel(Some(FUEL));
        environment.set_formatter(|out, state, value| {
            out.write_str(&OPEN.to_string())?;
            escape_formatter(out, state, value)?;
            Ok(out.write_str(&CLOSE.to_string())?)
        });
        let rendered = environment.render_str(&without_dots(template), &self.values);
        let rendered = rendered.map_err(|error| {
            let line = error
                .line()
                .map_or(String::new(), |line| format!(", line {line}"));
            let detail = error.detail().map_or(String::new(), |it| format!(": {it}"));
            format!("{what}{line}: {}{detail}", error.kind())
        })?;
        Ok(self.inert(segments(&rendered)))
    }

    /// Joins the segments so that only the template's own references refer to anything.
    fn inert(&mut self, mut segments: Vec<Segment>) -> String {
        let own = own_references(&segments);
        // A reference that an argument hides, as a backtick does, is a reference again once
        // that argument is a variable.
        if !own.is_subset(&joined(&segments).references()) {
            self.hide_all(&mut segments);
        }
        loop {
            let text = joined(&segments);
            let foreign = text.foreign(&own);
            let Some(range) = foreign else {
                return text.text;
            };
            let replacement = self.hide(text.text[range.clone()].to_owned());
            segments = text.with_variable(range, replacement);
        }
    }

    /// Replaces every argument by a variable, except in code, where variables are not
    /// evaluated.
    fn hide_all(&mut self, segments: &mut [Segment]) {
        for at in 0..segments.len() {
            let Segment::Argument(value) = &segments[at] else {
                continue;
            };
            // An empty argument cannot form a reference, and a variable for it would only be
            // noise.
            if value.is_empty() {
                continue;
            }
            let value = value.clone();
            let shown = expression(self.variables.len() + 1);
            let before = joined(&segments[..at]).text.len();
            segments[at] = Segment::Variable(shown.clone());
            let range = before..before + shown.len();
            // In code, the expression would be sent as it is written.
            if live(&joined(segments).text).contains(&range) {
                self.variables.push(value)
            } else {
                segments[at] = Segment::Argument(value)
            }
        }
    }

    /// Stores a text as a variable and returns the expression for it.
    fn hide(&mut self, text: String) -> String {
        self.variables.push(text);
        expression(self.variables.len())
    }
}

fn variable(number: usize) -> String {
    format!("argument_{number}")
}

fn expression(number: usize) -> String {
    format!("{{{{ {} }}}}", variable(number))
}

/// A segment of a rendered template.
#[derive(Debug, Clone, PartialEq)]
enum Segment {
    /// The template's own text.
    Own(String),
    /// Output of one of its expressions.
    Argument(String),
    /// An expression that this module added for a variable.
    Variable(String),
}

/// Splits marked text into segments.
fn segments(marked: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let (mut depth, mut text) = (0_usize, String::new());
    for char in marked.chars() {
        let next = match char {
            OPEN => depth + 1,
            CLOSE => depth.saturating_sub(1),
            char => {
                text.push(char);
                continue;
            }
        };
        // Output inside other output belongs to it.
        if (depth == 0) != (next == 0) {
            let text = std::mem::take(&mut text);
            segments.push(match depth {
                0 => Segment::Own(text),
                _ => Segment::Argument(text),
            });
        }
        depth = next;
    }
    segments.push(Segment::Own(text));
    segments
}

/// Segments as one text that knows the source of each byte.
struct Joined {
    text: String,
    segments: Vec<(Range<usize>, Segment)>,
}

fn joined(segments: &[Segment]) -> Joined {
    let mut text = String::new();
    let placed = segments.iter().map(|segment| {
        let (Segment::Own(piece) | Segment::Argument(piece) | Segment::Variable(piece)) = segment;
        let start = text.len();
        text.push_str(piece);
        (start..text.len(), segment.clone())
    });
    let segments = placed.collect();
    Joined { text, segments }
}

/// A reference that consists of the template's own text: its position there, and the text.
type OwnReference = (usize, String);

impl Joined {
    /// Returns the references that consist of the template's own text.
    fn references(&self) -> BTreeSet<OwnReference> {
        let ranges = live(&self.text).into_iter();
        ranges.filter_map(|range| self.own(&range)).collect()
    }

    fn own(&self, range: &Range<usize>) -> Option<OwnReference> {
        let mut before = 0;
        for (place, segment) in &self.segments {
            let overlaps = place.start < range.end && range.start < place.end;
            match segment {
                Segment::Own(_) if place.end <= range.start => before += place.len(),
                Segment::Own(_) if place.start < range.start => before += range.start - place.start,
                Segment::Own(_) => {}
                Segment::Argument(_) | Segment::Variable(_) if overlaps => return None,
                Segment::Argument(_) | Segment::Variable(_) => {}
            }
        }
        Some((before, self.text[range.clone()].to_owned()))
    }

    /// Returns a reference that is neither the template's own nor one of our variables.
    fn foreign(&self, own: &BTreeSet<OwnReference>) -> Option<Range<usize>> {
        // Ranges are compared exactly: a longer reference that contains a variable is not ours.
        let is_ours = |range: &Range<usize>| {
            let mut all = self.segments.iter();
            all.any(|(place, it)| place == range && matches!(it, Segment::Variable(_)))
        };
        live(&self.text).into_iter().find(|range| {
            let is_own = self.own(range).is_some_and(|it| own.contains(&it));
            !is_own && !is_ours(range)
        })
    }

    /// Returns the segments with a variable in place of a range.
    fn with_variable(&self, range: Range<usize>, variable: String) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut variable = Some(variable);
        for (place, segment) in &self.segments {
            let part = |range: Range<usize>| match segment {
                Segment::Own(_) => Segment::Own(self.text[range].to_owned()),
                Segment::Argument(_) => Segment::Argument(self.text[range].to_owned()),
                Segment::Variable(_) => Segment::Variable(self.text[range].to_owned()),
            };
            if place.end <= range.start || place.start >= range.end {
                segments.push(segment.clone());
                continue;
            }
            if place.start < range.start {
                segments.push(part(place.start..range.start));
            }
            segments.extend(variable.take().map(Segment::Variable));
            if range.end < place.end {
                segments.push(part(range.end..place.end));
            }
        }
        segments
    }
}

/// Returns the template's own references, which exist with any arguments: those that it has
/// both with a word and with a blank in place of each argument.
fn own_references(segments: &[Segment]) -> BTreeSet<OwnReference> {
    let with = |filler: &str| {
        let filled = segments.iter().map(|segment| match segment {
            Segment::Argument(_) => Segment::Argument(filler.to_owned()),
            other => other.clone(),
        });
        joined(&filled.collect::<Vec<_>>()).references()
    };
    // With the blank alone, `@./a{{ name }}` would count as the reference `@./a`.
    let (word, blank) = (with("x"), with(" "));
    word.intersection(&blank).cloned().collect()
}

/// Returns where a text contains an expression or a file reference. Escaped ones count too,
/// because they are sent without their backslash.
fn live(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let placed = pieces(text, 0).into_iter().map(|piece| {
        let start = at;
        at += piece.written().len();
        (start..at, !matches!(piece, Piece::Text(_)))
    });
    let live = placed.filter(|(_, is_special)| *is_special);
    live.map(|(range, _)| range).collect()
}

/// Rewrites `{{.name}}` and `{{ .name }}` for minijinja.
fn without_dots(template: &str) -> String {
    let mut result = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        let (before, opened) = rest.split_at(at + 2);
        result.push_str(before);
        let trimmed = opened.trim_start_matches(['-', ' ']);
        rest = opened;
        // Go templates write names with a dot, minijinja without one.
        if let Some(name) = trimmed.strip_prefix('.') {
            result.push_str(&opened[..opened.len() - trimmed.len()]);
            rest = name;
        }
    }
    result + rest
}

fn lua_string(value: &str) -> String {
    let mut quoted = String::from("\"");
    for char in value.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            char if char.is_control() && char.is_ascii() => {
                // In Lua, `\ddd` is a character by its number.
                quoted.push_str(&format!("\\{:03}", char as u32));
            }
            char => quoted.push(char),
        }
    }
    quoted + "\""
}
