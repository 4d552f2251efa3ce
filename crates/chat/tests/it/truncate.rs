//! The truncation cases shared with Lua: `tests/cases/truncate.json`.

use chat::truncate::{Limit, Limits, Truncated, truncate_head_within, truncate_tail_within};
use serde_json::{Value, json};

const CASES: &str = include_str!("../../../../tests/cases/truncate.json");

fn common(kept: &Truncated<'_>) -> Value {
    let by = kept.truncated_by.map(|by| match by {
        Limit::Lines => "lines",
        Limit::Bytes => "bytes",
    });
    json!({"content": kept.content, "truncated_by": by, "output_lines": kept.output_lines})
}

#[test]
fn head_and_tail_match_the_cases() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    for case in cases {
        let number = |name: &str| usize::try_from(case[name].as_u64().unwrap()).unwrap();
        let limits = Limits {
            lines: number("max_lines"),
            bytes: number("max_bytes"),
        };
        let text = case["text"].as_str().unwrap();
        let head = truncate_head_within(text, limits);
        let tail = truncate_tail_within(text, limits);
        let mut said = [common(&head), common(&tail)];
        said[0]["first_line_exceeds_limit"] = json!(head.first_line_exceeds_limit);
        said[1]["last_line_partial"] = json!(tail.last_line_partial);
        assert_eq!(said, [case["head"].clone(), case["tail"].clone()], "{case}");
        let totals = (number("total_lines"), number("total_bytes"));
        assert_eq!((head.total_lines, head.total_bytes), totals, "{case}");
    }
}
