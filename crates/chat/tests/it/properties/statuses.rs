//! No typo in a status runs a call.

use chat::cycle::CycleEvent;
use chat::document::Status;
use chat::status::read_status;
use proptest::prelude::*;

use super::{LINES, config};
use crate::play::Play;

const WAITING: &str = "@You:\nq\n\n@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n@You:\n**Tool Result:** `t`\n\n```flemma:tool status=pending\n```";

proptest! {
    #![proptest_config(config())]

    #[test]
    fn only_the_exact_word_after_the_key_approves(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "status", "=", " ", "approved", "denied", "pending", "note", "\t", "\u{a0}", "Approved", "x", "\u{200b}", "\"",
            ]),
            0..9,
        )
    ) {
        let info = pieces.concat();
        if read_status(&info).status == Status::Approved {
            let tight = info.replace('\t', " ");
            let mut words = tight.clone();
            while words.contains(" =") || words.contains("= ") {
                words = words.replace(" =", "=").replace("= ", "=");
            }
            let mut statuses = words.split(' ').filter(|word| word.starts_with("status=") || *word == "status").peekable();
            prop_assert!(statuses.peek().is_some(), "{info:?}");
            prop_assert!(statuses.all(|word| word == "status=approved"), "{info:?}");
        }
    }

    #[test]
    fn only_an_edit_that_gives_approved_runs_a_call(
        line in 0usize..15,
        written in prop_oneof![
            prop::sample::select(&LINES[..]).prop_map(str::to_owned),
            prop::sample::select(vec![
                "```flemma:tool", "```flemma:tool status=approve", "```flemma:tool status=Approved", "```flemma:tool status=",
                "```approve", "**Tool Result:** `t` (approve)", "status=approve", "**Tool Use:** `bash` (`t2`)",
            ]).prop_map(str::to_owned),
            "[ -~]{0,12}",
        ],
    ) {
        prop_assume!(!written.contains("approved") && !written.contains("`slow`"));
        let mut play = Play::typed(WAITING);
        play.event(CycleEvent::Advance);
        let mut lines: Vec<&str> = WAITING.split('\n').collect();
        lines[line.min(13)] = &written;
        play.type_over(&lines.join("\n"));
        play.event(CycleEvent::Advance);
        play.event(CycleEvent::Advance);
        prop_assert!(!play.log().iter().any(|it| it.starts_with("run")), "{}", play.string());
    }
}
