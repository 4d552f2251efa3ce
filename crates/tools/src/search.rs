//! Ranks tools by a query, for `tool_search` and `flemma tools --search`.
//!
//! Pure. Compares names, keywords, and descriptions.
use std::cmp::Ordering;

use chat::tool::ToolDefinition;

/// The searchable text of a tool.
#[derive(Debug, Clone, Copy)]
pub struct SearchEntry<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    pub description: &'a str,
    /// Further search words, chosen by the tool's author.
    pub keywords: &'a [String],
}

impl<'a> From<&'a ToolDefinition> for SearchEntry<'a> {
    fn from(tool: &'a ToolDefinition) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            keywords: &tool.keywords,
        }
    }
}

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The index of the entry.
    pub at: usize,
    /// The name.
    pub name: String,
    /// The score: 1 for an exact name, otherwise between 0 and 1.
    pub score: f64,
}

/// The score of one query word, by where it occurs.
mod weight {
    pub(super) const NAME: f64 = 0.9;
    pub(super) const KEYWORD: f64 = 0.8;
    pub(super) const PART_OF_NAME: f64 = 0.7;
    pub(super) const PART_OF_KEYWORD: f64 = 0.6;
    pub(super) const DESCRIPTION: f64 = 0.4;
    pub(super) const PART_OF_DESCRIPTION: f64 = 0.3;
    pub(super) const SLIP: f64 = 0.2;
}

/// Minimum length of a prefix that matches.
const LEAST_PREFIX: usize = 3;

/// Words that don't distinguish tools.
const EMPTY_WORDS: [&str; 18] = [
    "a", "an", "and", "by", "can", "do", "find", "for", "how", "i", "in", "of", "on", "that",
    "the", "to", "tool", "with",
];

/// The entries that match `query`, by descending score and then by name. A query without words
/// matches every entry with score 0.
pub fn search<'a>(query: &str, entries: impl IntoIterator<Item = SearchEntry<'a>>) -> Vec<Hit> {
    let query = Query::read(query);
    let scored = entries.into_iter().enumerate().map(|(at, entry)| Hit {
        at,
        name: entry.name.to_owned(),
        score: query.score(&entry),
    });
    let everything = query.words.is_empty();
    let mut hits: Vec<Hit> = scored.filter(|hit| everything || hit.score > 0.0).collect();
    hits.sort_by(|a, b| {
        // Always comparable, because no score is NaN.
        let by_score = b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal);
        by_score.then_with(|| a.name.cmp(&b.name))
    });
    hits
}

struct Query {
    /// All words joined, for comparison with a whole name or keyword.
    whole: String,
    words: Vec<String>,
}

impl Query {
    fn read(query: &str) -> Self {
        let all: Vec<String> = words(query).collect();
        let telling = all.iter().filter(|it| !EMPTY_WORDS.contains(&it.as_str()));
        let telling: Vec<String> = telling.cloned().collect();
        Self {
            whole: all.join(" "),
            // A query like "how to find" would match nothing without its filler words.
            words: if telling.is_empty() { all } else { telling },
        }
    }

    /// The mean score of the words, or more if the whole query is a name or keyword.
    fn score(&self, entry: &SearchEntry<'_>) -> f64 {
        if self.words.is_empty() {
            return 0.0;
        }
        let target = FileTarget::read(entry);
        // Compared as words, so that "list issues" finds `list_issues` and `listIssues`.
        if target.name.join(" ") == self.whole {
            return 1.0;
        }
        let sum: f64 = self.words.iter().map(|word| target.weigh(word)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
        let mean = sum / self.words.len() as f64;
        if target.keywords.contains(&self.whole) {
            mean.max(weight::KEYWORD)
        } else {
            mean
        }
    }
}

/// The words of an entry.
struct FileTarget {
    name: Vec<String>,
    /// Each keyword as one string.
    keywords: Vec<String>,
    keyword_words: Vec<String>,
    description: Vec<String>,
}

impl FileTarget {
    fn read(entry: &SearchEntry<'_>) -> Self {
        let keywords = entry.keywords.iter();
        let keywords: Vec<Vec<String>> = keywords.map(|it| words(it).collect()).collect();
        Self {
            name: words(entry.name).collect(),
            keywords: keywords.iter().map(|it| it.join(" ")).collect(),
            keyword_words: keywords.into_iter().flatten().collect(),
            description: words(entry.description).collect(),
        }
    }

    fn weigh(&self, word: &str) -> f64 {
        let is = |it: &String| it == word;
        let begins = |it: &String| same_beginning(it, word);
        if self.name.iter().any(is) {
            weight::NAME
        } else if self.keywords.iter().any(is) {
            weight::KEYWORD
        } else if self.name.iter().any(begins) {
            weight::PART_OF_NAME
        } else if self.keyword_words.iter().any(begins) {
            weight::PART_OF_KEYWORD
        } else if self.description.iter().any(is) {
            weight::DESCRIPTION
        } else if self.description.iter().any(begins) {
            weight::PART_OF_DESCRIPTION
        } else if self.name.iter().any(|it| is_slip(it, word)) {
            weight::SLIP
        } else {
            0.0
        }
    }
}

/// Returns true if one word is a prefix of the other, such as "calc" and "calculate".
fn same_beginning(a: &str, b: &str) -> bool {
    let shorter = a.chars().count().min(b.chars().count());
    shorter >= LEAST_PREFIX && (a.starts_with(b) || b.starts_with(a))
}

/// Returns true if a longer word is misspelled by at most two letters.
fn is_slip(known: &str, word: &str) -> bool {
    let (longer, shorter) = (known.len().max(word.len()), known.len().min(word.len()));
    // In shorter words, two other letters make another word.
    shorter > 4 && longer - shorter <= 2 && strsim::levenshtein(known, word) <= 2
}

/// Splits a text into lower-case words, including parts of `snake_case` and `camelCase`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split(|c: char| !c.is_alphanumeric());
    pieces
        .flat_map(humps)
        .map(str::to_lowercase)
        .filter(|it| !it.is_empty())
}

/// Splits at each change from lower to upper case: `parseJSON` gives "parse" and "JSON".
fn humps(piece: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(piece);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut small = false;
        let cut = text.char_indices().find_map(|(at, c)| {
            let parts = small && c.is_uppercase();
            small = c.is_lowercase();
            parts.then_some(at)
        });
        let (hump, tail) = match cut {
            Some(at) => (&text[..at], Some(&text[at..])),
            None => (text, None),
        };
        rest = tail;
        Some(hump)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Name, description, keywords.
    type Row = (&'static str, &'static str, &'static [&'static str]);

    const ROWS: &[Row] = &[
        (
            "calculator",
            "Performs basic arithmetic operations on two numbers",
            &["calculator", "math", "arithmetic", "add", "subtract"],
        ),
        ("calculator_async", "Evaluate slowly", &[]),
        (
            "weather",
            "Current conditions of a place",
            &["unit conversion", "forecast"],
        ),
        ("parseJSON", "Reads a document", &[]),
        ("bash", "Run a shell command in the working directory", &[]),
    ];

    fn found(query: &str) -> Vec<(String, f64)> {
        let keywords = |row: &Row| row.2.iter().map(|it| (*it).to_owned()).collect();
        let keywords: Vec<Vec<String>> = ROWS.iter().map(keywords).collect();
        let entries = ROWS
            .iter()
            .zip(&keywords)
            .map(|(row, keywords)| SearchEntry {
                name: row.0,
                description: row.1,
                keywords,
            });
        let hits = search(query, entries);
        hits.into_iter().map(|hit| (hit.name, hit.score)).collect()
    }

    #[track_caller]
    fn check(query: &str, names: &[&str]) {
        let hits = found(query);
        let found: Vec<&str> = hits.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, names, "{query:?}: {hits:?}");
    }

    #[test]
    fn a_name_is_found_first_and_with_score_1() {
        let hits = found("calculator");
        assert_eq!(hits[0], ("calculator".to_owned(), 1.0));
        assert_eq!(hits[1].0, "calculator_async");
        assert!(hits[1].1 < 1.0);
        assert_eq!(found("Parse JSON")[0], ("parseJSON".to_owned(), 1.0));
        assert_eq!(found("calculator-async")[0].1, 1.0);
    }

    #[test]
    fn keywords_and_descriptions_find_a_tool_as_well() {
        check("math", &["calculator"]);
        check("unit conversion", &["weather"]);
        check("arithmetic on numbers", &["calculator"]);
        check("run a command", &["bash"]);
        check("calc", &["calculator", "calculator_async"]);
        check("wether", &["weather"]);
    }

    #[test]
    fn a_word_in_a_name_weighs_more_than_one_in_a_description() {
        let rank = |query: &str| found(query)[0].0.clone();
        assert_eq!(rank("weather conditions"), "weather");
        assert_eq!(rank("shell"), "bash");
        assert!(found("add").iter().all(|(name, _)| name == "calculator"));
    }

    #[test]
    fn words_that_say_nothing_count_only_where_there_are_no_others() {
        check("how do I find the weather", &["weather"]);
        check("zzz", &[]);
        assert_eq!(found("").len(), ROWS.len());
        assert_eq!(found(" ?! ").len(), ROWS.len());
        check("in the", &["bash"]);
    }

    #[test]
    fn odd_queries_are_only_words() {
        for query in ["*", "\0", "a".repeat(100_000).as_str(), "ÄÖ ß ﬃ", "📦"] {
            assert!(found(query).iter().all(|(_, score)| *score < 1.0));
        }
    }
}
