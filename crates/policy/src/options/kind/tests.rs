//! What each kind of value takes, and how a message describes it.

use serde_json::json;

use super::*;

const FIELDS: &[&[OptionDef]] = &[];

#[test]
fn a_kind_takes_its_values_and_no_others() {
    let long = "x".repeat(64);
    for (kind, right, wrong) in [
        (OptionKind::Flag, json!([true, false]), json!([1, "true"])),
        (OptionKind::Off, json!([false]), json!([true, "false"])),
        (OptionKind::Text, json!(["", "x"]), json!([1, true, []])),
        (
            OptionKind::Module,
            json!(["my.module"]),
            json!(["module", 1]),
        ),
        (
            OptionKind::Share,
            json!(["1%", "50%", "100%"]),
            json!(["0%", "101%", "50", "+5%", "%", "1.5%", 50]),
        ),
        (
            OptionKind::AddressPart,
            json!(["a-1", "example.com:x", long]),
            json!(["", "a..b", "a/b", "a b", format!("{long}x"), 1]),
        ),
        (
            OptionKind::Choice(&["a", "b"]),
            json!(["a", "b"]),
            json!(["c", 1]),
        ),
        (
            OptionKind::Number(0.5, 2.0),
            json!([0.5, 1, 2]),
            json!([0.4, 2.1, "1"]),
        ),
        (
            OptionKind::Whole(1, 3),
            json!([1, 3]),
            json!([0, 4, 1.5, -1, "1"]),
        ),
        (
            OptionKind::Function,
            json!([{"function": 1}]),
            json!([{"function": "x"}, {"function": 1, "x": 1}, {"x": 1}, {}, 1]),
        ),
        (
            OptionKind::List(&OptionKind::Flag),
            json!([[], [true, false]]),
            json!([[1], {}, {"x": true}, true]),
        ),
        (
            OptionKind::Any(&[OptionKind::Off, OptionKind::Whole(1, 1)]),
            json!([false, 1]),
            json!([true, 0]),
        ),
        (
            OptionKind::Table(FIELDS),
            json!([{}, [], {"x": 1, "not_finite": 1}, {"x": 1}]),
            json!([1, [1], {"not_finite": "inf"}]),
        ),
        (OptionKind::Tools(FIELDS), json!([{}, []]), json!([1, "x"])),
        (
            OptionKind::Map(&OptionKind::Flag),
            json!([{}, [], {"x": 3}]),
            json!([1, [1]]),
        ),
        (
            OptionKind::Free,
            json!([{}, [], {"x": [1]}]),
            json!([1, [1]]),
        ),
    ] {
        let takes = |value: &&Value| kind.takes(value);
        let not_taken: Vec<_> = values(&right).filter(|it| !takes(it)).collect();
        assert!(not_taken.is_empty(), "{kind:?} takes {not_taken:?}");
        let taken: Vec<_> = values(&wrong).filter(takes).collect();
        assert!(taken.is_empty(), "{kind:?} does not take {taken:?}");
    }
}

fn values(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[test]
fn the_percents_of_a_share_are_read() {
    assert_eq!(
        [share("7%"), share("100%"), share("0%")],
        [Some(7), Some(100), None]
    );
}

#[test]
fn only_tables_have_names_and_only_tables_of_options_have_fields() {
    for (kind, is_table, has_fields) in [
        (OptionKind::Table(FIELDS), true, true),
        (OptionKind::Tools(FIELDS), true, true),
        (OptionKind::Map(&OptionKind::Text), true, false),
        (OptionKind::Free, true, false),
        (OptionKind::List(&OptionKind::Text), false, false),
        (OptionKind::Any(&[OptionKind::Free]), false, false),
        (OptionKind::Text, false, false),
    ] {
        assert_eq!(kind.is_table(), is_table, "{kind:?}");
        assert_eq!(kind.fields().is_some(), has_fields, "{kind:?}");
    }
}

#[test]
fn a_kind_with_few_values_lists_them() {
    for (kind, expected) in [
        (OptionKind::Flag, &["true", "false"][..]),
        (OptionKind::Off, &["false"]),
        (OptionKind::Choice(&["a", "b"]), &["a", "b"]),
        (
            OptionKind::Any(&[
                OptionKind::Choice(&["a"]),
                OptionKind::Text,
                OptionKind::Off,
            ]),
            &["a", "false"],
        ),
        (OptionKind::Text, &[]),
        (OptionKind::Whole(1, 2), &[]),
    ] {
        assert_eq!(kind.values(), expected, "{kind:?}");
    }
}

#[test]
fn a_message_says_what_a_value_must_be() {
    const CHOICE: OptionKind = OptionKind::Choice(&["a", "b", "c"]);
    for (kind, expected) in [
        (OptionKind::Flag, "true or false"),
        (OptionKind::Off, "false"),
        (OptionKind::Text, "a string"),
        (OptionKind::Module, "the path of a module"),
        (OptionKind::Share, "a share such as \"50%\""),
        (
            OptionKind::AddressPart,
            "made of letters, digits, \"-\", \".\" and \":\"",
        ),
        (CHOICE, "\"a\", \"b\" or \"c\""),
        (OptionKind::Choice(&["a"]), "\"a\""),
        (OptionKind::Number(0.5, 2.0), "a number from 0.5 to 2"),
        (OptionKind::Whole(1, 3), "a whole number from 1 to 3"),
        (OptionKind::Whole(1, MANY), "a whole number from 1"),
        (OptionKind::Function, "a function"),
        (OptionKind::List(&OptionKind::Text), "a list of strings"),
        (OptionKind::List(&OptionKind::Flag), "a list of such values"),
        (OptionKind::List(&CHOICE), "a list of \"a\", \"b\" or \"c\""),
        (OptionKind::Map(&OptionKind::Text), "a table"),
        (OptionKind::Free, "a table"),
        (OptionKind::Table(FIELDS), "a table"),
        (OptionKind::Tools(FIELDS), "a table"),
        (
            OptionKind::Any(&[OptionKind::Text, OptionKind::Off]),
            "a string or false",
        ),
    ] {
        assert_eq!(kind.words(), expected);
    }
}
