//! The file format of `tests/cases`: a title, then sections. See the README there.

use std::fmt::Write;

/// Sections with the input.
const GIVEN: [&str; 3] = ["input", "keys", "foreign"];
/// Sections with the expected output; they can be rewritten.
const EXPECTED: [&str; 6] = [
    "document",
    "diagnostics",
    "effects",
    "after",
    "request",
    "written",
];

/// One file of `tests/cases`.
pub struct Case {
    title: String,
    sections: Vec<Section>,
}

struct Section {
    name: String,
    /// True if the body uses the notation for special bytes.
    notation: bool,
    body: String,
}

impl Case {
    /// Parses a case, or returns what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        let title = lines.next().unwrap_or_default().to_owned();
        if title.is_empty() || title.starts_with("---") {
            return Err("the first line is a title".to_owned());
        }
        let mut bodies: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in lines {
            match (line.strip_prefix("--- "), bodies.last_mut()) {
                (Some(header), _) => bodies.push((header, Vec::new())),
                (None, Some((_, body))) => body.push(line),
                (None, None) => return Err(format!("{line:?} is before the first section")),
            }
        }
        let sections = bodies
            .into_iter()
            .map(|(header, body)| Section::new(header, &body.join("\n")))
            .collect::<Result<Vec<_>, _>>()?;
        if !sections
            .iter()
            .any(|it| EXPECTED.contains(&it.name.as_str()) || it.name == "foreign")
        {
            return Err("no section says what is expected".to_owned());
        }
        Ok(Self { title, sections })
    }

    /// Returns the bytes of an input section.
    pub fn given(&self, name: &str) -> Option<Vec<u8>> {
        let section = self.sections.iter().find(|it| it.name == name)?;
        Some(if section.notation {
            decode(&section.body)
        } else {
            section.body.clone().into_bytes()
        })
    }

    /// Returns the expectations: a section's name and its text.
    pub fn expected(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sections
            .iter()
            .filter(|it| EXPECTED.contains(&it.name.as_str()))
            .map(|it| (it.name.as_str(), it.body.as_str()))
    }

    /// Returns the file with the actual output as its expectations.
    pub fn rewritten(&self, actual: impl Fn(&str) -> String) -> String {
        let mut out = format!("{}\n", self.title);
        for section in &self.sections {
            let notation = if section.notation { " notation" } else { "" };
            let _ = writeln!(out, "--- {}{notation}", section.name);
            let body = if EXPECTED.contains(&section.name.as_str()) {
                actual(&section.name)
            } else {
                section.body.clone()
            };
            if !body.is_empty() || section.name == "input" {
                let _ = writeln!(out, "{body}");
            }
        }
        out
    }
}

impl Section {
    fn new(header: &str, body: &str) -> Result<Self, String> {
        let (name, notation) = match header.split_once(' ') {
            None => (header, false),
            Some((name, "notation")) => (name, true),
            Some(_) => return Err(format!("\"--- {header}\" is not a section")),
        };
        if !GIVEN.contains(&name) && !EXPECTED.contains(&name) {
            return Err(format!("there is no section \"{name}\""));
        }
        Ok(Self {
            name: name.to_owned(),
            notation,
            body: body.to_owned(),
        })
    }
}

/// Decodes `⏎ ␠ ⇥ \xNN \uNNNN ⟦text×count⟧`.
pub fn decode(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (bytes, length) = symbol(rest)
            .or_else(|| escape(rest))
            .or_else(|| repetition(rest))
            .unwrap_or_else(|| (first.to_string().into_bytes(), first.len_utf8()));
        out.extend(bytes);
        rest = &rest[length..];
    }
    out
}

fn symbol(text: &str) -> Option<(Vec<u8>, usize)> {
    [("⏎", b'\n'), ("␠", b' '), ("⇥", b'\t')]
        .into_iter()
        .find(|(sign, _)| text.starts_with(sign))
        .map(|(sign, byte)| (vec![byte], sign.len()))
}

fn escape(text: &str) -> Option<(Vec<u8>, usize)> {
    let digits = |from: &str, count: usize| {
        let digits = from.get(..count)?;
        u32::from_str_radix(digits, 16).ok()
    };
    if let Some(rest) = text.strip_prefix("\\x") {
        return Some((vec![u8::try_from(digits(rest, 2)?).ok()?], 4));
    }
    let code = digits(text.strip_prefix("\\u")?, 4)?;
    Some((char::from_u32(code)?.to_string().into_bytes(), 6))
}

fn repetition(text: &str) -> Option<(Vec<u8>, usize)> {
    let inner = text.strip_prefix('⟦')?;
    let (inner, _) = inner.split_once('⟧')?;
    let (unit, count) = inner.rsplit_once('×')?;
    let bytes = decode(unit).repeat(count.parse().ok()?);
    Some((bytes, '⟦'.len_utf8() + inner.len() + '⟧'.len_utf8()))
}
