//! What each kind of value takes, and how a message describes it.

use serde_json::json;

use super::*;

const FIELDS: &[&[OptionDef]] = &[];

#[test]
fn a_kind_takes_its_values_and_no_others() {
    let long = "x".repeat(64);
    for (kind, right, wrong) in [
        (Kind::Flag, json!([true, false]), json!([1, "true"])),
        (Kind::Off, json!([false]), json!([true, "false"])),
        (Kind::Text, json!(["", "x"]), json!([1, true, []])),
        (Kind::Module, json!(["my.module"]), json!(["module", 1])),
        (
            Kind::Share,
            json!(["1%", "50%", "100%"]),
            json!(["0%", "101%", "50", "+5%", "%", "1.5%", 50]),
        ),
        (
            Kind::AddressPart,
            json!(["a-1", "example.com:x", long]),
            json!(["", "a..b", "a/b", "a b", format!("{long}x"), 1]),
        ),
        (
            Kind::Choice(&["a", "b"]),
            json!(["a", "b"]),
            json!(["c", 1]),
        ),
        (
            Kind::Number(0.5, 2.0),
            json!([0.5, 1, 2]),
            json!([0.4, 2.1, "1"]),
        ),
        (
            Kind::Whole(1, 3),
            json!([1, 3]),
            json!([0, 4, 1.5, -1, "1"]),
        ),
        (
            Kind::Function,
            json!([{"function": 1}]),
            json!([{"function": "x"}, {"function": 1, "x": 1}, {"x": 1}, {}, 1]),
        ),
        (
            Kind::List(&Kind::Flag),
            json!([[], [true, false]]),
            json!([[1], {}, {"x": true}, true]),
        ),
        (
            Kind::Any(&[Kind::Off, Kind::Whole(1, 1)]),
            json!([false, 1]),
            json!([true, 0]),
        ),
        (
            Kind::Table(FIELDS),
            json!([{}, [], {"x": 1, "not_finite": 1}, {"x": 1}]),
            json!([1, [1], {"not_finite": "inf"}]),
        ),
        (Kind::Tools(FIELDS), json!([{}, []]), json!([1, "x"])),
        (
            Kind::Map(&Kind::Flag),
            json!([{}, [], {"x": 3}]),
            json!([1, [1]]),
        ),
        (Kind::Free, json!([{}, [], {"x": [1]}]), json!([1, [1]])),
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
        (Kind::Table(FIELDS), true, true),
        (Kind::Tools(FIELDS), true, true),
        (Kind::Map(&Kind::Text), true, false),
        (Kind::Free, true, false),
        (Kind::List(&Kind::Text), false, false),
        (Kind::Any(&[Kind::Free]), false, false),
        (Kind::Text, false, false),
    ] {
        assert_eq!(kind.is_table(), is_table, "{kind:?}");
        assert_eq!(kind.fields().is_some(), has_fields, "{kind:?}");
    }
}

#[test]
fn a_kind_with_few_values_lists_them() {
    for (kind, expected) in [
        (Kind::Flag, &["true", "false"][..]),
        (Kind::Off, &["false"]),
        (Kind::Choice(&["a", "b"]), &["a", "b"]),
        (
            Kind::Any(&[Kind::Choice(&["a"]), Kind::Text, Kind::Off]),
            &["a", "false"],
        ),
        (Kind::Text, &[]),
        (Kind::Whole(1, 2), &[]),
    ] {
        assert_eq!(kind.values(), expected, "{kind:?}");
    }
}

#[test]
fn a_message_says_what_a_value_must_be() {
    const CHOICE: Kind = Kind::Choice(&["a", "b", "c"]);
    for (kind, expected) in [
        (Kind::Flag, "true or false"),
        (Kind::Off, "false"),
        (Kind::Text, "a string"),
        (Kind::Module, "the path of a module"),
        (Kind::Share, "a share such as \"50%\""),
        (
            Kind::AddressPart,
            "made of letters, digits, \"-\", \".\" and \":\"",
        ),
        (CHOICE, "\"a\", \"b\" or \"c\""),
        (Kind::Choice(&["a"]), "\"a\""),
        (Kind::Number(0.5, 2.0), "a number from 0.5 to 2"),
        (Kind::Whole(1, 3), "a whole number from 1 to 3"),
        (Kind::Whole(1, MANY), "a whole number from 1"),
        (Kind::Function, "a function"),
        (Kind::List(&Kind::Text), "a list of strings"),
        (Kind::List(&Kind::Flag), "a list of such values"),
        (Kind::List(&CHOICE), "a list of \"a\", \"b\" or \"c\""),
        (Kind::Map(&Kind::Text), "a table"),
        (Kind::Free, "a table"),
        (Kind::Table(FIELDS), "a table"),
        (Kind::Tools(FIELDS), "a table"),
        (Kind::Any(&[Kind::Text, Kind::Off]), "a string or false"),
    ] {
        assert_eq!(kind.words(), expected);
    }
}
