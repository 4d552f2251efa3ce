//! Asks the user the questions of a running call, one value after another.
//!
//! The text may come from another program, so it is shown without control characters, on
//! separate lines, after the name of that program. [`Prompts`] is Neovim or the terminal.

mod shown;

use async_trait::async_trait;
use chat::preview::one_line;
use serde_json::{Map, Value, json};
use tools::{Choice, Field, FieldKind, Form, FormContent, FormReply, enough};

pub use self::shown::lines;
use self::shown::{described, plain, shown};

/// Maximum columns of a line of a question.
const COLUMNS: usize = 400;
/// The list item for no value.
const NOTHING: &str = "(leave it out)";

/// Asks the user one thing at a time; `None` if they leave the prompt.
#[async_trait]
pub trait Prompts: Sync {
    /// Returns the index of the chosen item.
    async fn choose(&self, title: &str, items: &[String]) -> Option<usize>;
    /// Returns a line, which is `initial` at first.
    async fn enter(&self, title: &str, initial: &str) -> Option<String>;
}

/// Asks for all values of a form. `None` if the user left; the question is then still open.
pub async fn fill(prompts: &impl Prompts, form: &Form) -> Option<FormReply> {
    let title = one_line(&format!("{} asks: {}", form.by, form.message), COLUMNS);
    let begin = match &form.wanted {
        FormContent::Visit(address) => format!("Accept, then open it yourself: {address}"),
        FormContent::Fields(fields) if fields.is_empty() => "Yes".to_owned(),
        FormContent::Fields(_) => "Answer".to_owned(),
    };
    let items = [begin, "Decline".to_owned(), "Dismiss".to_owned()];
    match prompts.choose(&title, &items).await? {
        0 => {}
        1 => return Some(FormReply::Declined),
        // MCP distinguishes a refusal from a question that was closed.
        _ => return Some(FormReply::Cancelled),
    }
    match &form.wanted {
        FormContent::Fields(fields) if !fields.is_empty() => fill_all(prompts, form, fields).await,
        _ => Some(FormReply::Accepted(Map::new())),
    }
}

async fn fill_all(prompts: &impl Prompts, form: &Form, fields: &[Field]) -> Option<FormReply> {
    let known = fields
        .iter()
        .filter_map(|it| Some((it.name.clone(), it.default.clone()?)));
    let mut values: Map<String, Value> = known.collect();
    loop {
        for field in fields {
            let value = one(prompts, field, values.get(&field.name)).await?;
            match value {
                Some(value) => drop(values.insert(field.name.clone(), value)),
                None => drop(values.shift_remove(&field.name)),
            }
        }
        let title = format!("{} gets: {}", form.by, shown(fields, &values));
        let items = ["Send", "Change", "Decline"].map(str::to_owned);
        match prompts.choose(&one_line(&title, COLUMNS), &items).await? {
            0 => {
                // In the order of the form, and without values of other fields.
                let given = fields.iter().filter_map(|it| values.remove_entry(&it.name));
                return Some(FormReply::Accepted(given.collect()));
            }
            // Starts from the first field again, with the values so far.
            1 => {}
            _ => return Some(FormReply::Declined),
        }
    }
}

/// Asks for one value until it fits; the inner `None` if the user leaves it out.
async fn one(
    prompts: &impl Prompts,
    field: &Field,
    known: Option<&Value>,
) -> Option<Option<Value>> {
    let title = one_line(&described(field), COLUMNS);
    match &field.kind {
        FieldKind::YesNo => {
            let values = [json!(true), json!(false)];
            let titles = ["Yes", "No"].map(str::to_owned);
            among(prompts, field, &title, &titles, &values, known).await
        }
        FieldKind::One(choices) => {
            let values: Vec<Value> = choices.iter().map(|it| json!(it.value)).collect();
            let titles: Vec<String> = choices.iter().map(|it| it.title.clone()).collect();
            among(prompts, field, &title, &titles, &values, known).await
        }
        FieldKind::Some {
            choices,
            least,
            most,
        } => {
            let fits = |count| match count {
                // Nothing chosen means that the field is left out.
                0 if !field.required => Ok(()),
                count => enough(count, *least, *most),
            };
            several(prompts, &title, choices, fits, known).await
        }
        FieldKind::Text { .. } | FieldKind::Number { .. } => {
            typed(prompts, field, &title, known).await
        }
    }
}

async fn typed(
    prompts: &impl Prompts,
    field: &Field,
    title: &str,
    known: Option<&Value>,
) -> Option<Option<Value>> {
    let mut initial = known.map(plain).unwrap_or_default();
    let mut asked = title.to_owned();
    loop {
        let text = prompts.enter(&asked, &initial).await?;
        match field.read(&text) {
            Ok(value) => return Some(value),
            Err(why) => {
                asked = one_line(&format!("{why} {title}"), COLUMNS);
                // The user corrects what was typed instead of typing it again.
                initial = text;
            }
        }
    }
}

async fn among(
    prompts: &impl Prompts,
    field: &Field,
    title: &str,
    titles: &[String],
    values: &[Value],
    known: Option<&Value>,
) -> Option<Option<Value>> {
    let is_known = |at: usize| known == Some(&values[at]);
    let mark = |(at, title): (usize, &String)| {
        if is_known(at) {
            format!("{title} (as it is)")
        } else {
            title.clone()
        }
    };
    let mut items: Vec<String> = titles.iter().enumerate().map(mark).collect();
    if !field.required {
        // It has no entry in `values`, so choosing it leaves the field out.
        items.push(NOTHING.to_owned());
    }
    let chosen = prompts.choose(title, &items).await?;
    Some(values.get(chosen).cloned())
}

/// Shows a list in which each choice turns one item on or off.
async fn several(
    prompts: &impl Prompts,
    title: &str,
    choices: &[Choice],
    fits: impl Fn(usize) -> Result<(), String>,
    known: Option<&Value>,
) -> Option<Option<Value>> {
    let known = known.and_then(Value::as_array).cloned().unwrap_or_default();
    let is_on = |it: &Choice| known.contains(&json!(it.value));
    let mut on: Vec<bool> = choices.iter().map(is_on).collect();
    let mut asked = title.to_owned();
    loop {
        let mark = |(choice, on): (&Choice, &bool)| {
            let mark = if *on { "[x]" } else { "[ ]" };
            format!("{mark} {}", choice.title)
        };
        let mut items = vec!["Done".to_owned()];
        items.extend(choices.iter().zip(&on).map(mark));
        let chosen = prompts.choose(&asked, &items).await?;
        if let Some(it) = chosen.checked_sub(1).and_then(|at| on.get_mut(at)) {
            *it = !*it;
            continue;
        }
        let all = choices.iter().zip(&on).filter(|(_, on)| **on);
        let all: Vec<Value> = all.map(|(it, _)| json!(it.value)).collect();
        match fits(all.len()) {
            Ok(()) => return Some((!all.is_empty()).then_some(Value::Array(all))),
            Err(why) => asked = one_line(&format!("{why} {title}"), COLUMNS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A user who gives these answers, and what they were asked.
    struct Script {
        answers: Mutex<Vec<&'static str>>,
        asked: Mutex<Vec<String>>,
    }

    impl Script {
        fn next(&self, title: &str, items: &[String]) -> Option<&'static str> {
            let mut asked = self.asked.lock().ok()?;
            asked.push(format!("{title} [{}]", items.join("|")));
            let answer = self.answers.lock().ok()?.remove(0);
            (answer != "<Esc>").then_some(answer)
        }
    }

    #[async_trait]
    impl Prompts for Script {
        async fn choose(&self, title: &str, items: &[String]) -> Option<usize> {
            let answer = self.next(title, items)?;
            items.iter().position(|it| it.starts_with(answer))
        }

        async fn enter(&self, title: &str, initial: &str) -> Option<String> {
            let answer = self.next(title, &[initial.to_owned()])?;
            Some(if answer == "<CR>" { initial } else { answer }.to_owned())
        }
    }

    fn field(name: &str, kind: FieldKind, required: bool, default: Option<Value>) -> Field {
        Field {
            name: name.to_owned(),
            title: String::new(),
            about: String::new(),
            kind,
            required,
            default,
        }
    }

    fn form(fields: Vec<Field>) -> Form {
        Form {
            by: "The MCP server \"docs\"".to_owned(),
            message: "Who are\nyou?".to_owned(),
            wanted: FormContent::Fields(fields),
        }
    }

    fn all_kinds() -> Form {
        let text = FieldKind::Text {
            least: 0,
            most: None,
            format: None,
        };
        let age = FieldKind::Number {
            whole: true,
            least: Some(0.0),
            most: None,
        };
        let choice = |value: &str| Choice {
            value: value.to_owned(),
            title: value.to_uppercase(),
        };
        let choices = vec![choice("r"), choice("g")];
        let some = FieldKind::Some {
            choices: choices.clone(),
            least: 2,
            most: None,
        };
        form(vec![
            field("name", text, true, None),
            field("age", age, false, Some(json!(30))),
            field("sure", FieldKind::YesNo, false, None),
            field("colour", FieldKind::One(choices), true, Some(json!("g"))),
            field("several", some, true, None),
        ])
    }

    async fn answer(form: &Form, answers: &[&'static str]) -> (Option<FormReply>, Vec<String>) {
        let script = Script {
            answers: Mutex::new(answers.to_vec()),
            asked: Mutex::default(),
        };
        let reply = fill(&script, form).await;
        (reply, script.asked.into_inner().unwrap_or_default())
    }

    #[tokio::test]
    async fn each_value_is_asked_for_until_it_fits_and_all_are_shown_before_sending() {
        let answers = [
            "Answer",
            "",
            "Ann",
            "x",
            "<CR>",
            "41",
            "(leave",
            "G (as it is)",
            "[ ] R",
            "Done",
            "[ ] G",
            "Done",
            "Send",
        ];
        let (reply, asked) = answer(&all_kinds(), &answers).await;
        let given = json!({"name": "Ann", "age": 41, "colour": "g", "several": ["r", "g"]});
        assert_eq!(
            reply.map(|it| match it {
                FormReply::Accepted(values) => Value::Object(values),
                other => panic!("{other:?}"),
            }),
            Some(given)
        );
        assert_eq!(
            asked[0],
            "The MCP server \"docs\" asks: Who are⤶you? [Answer|Decline|Dismiss]"
        );
        assert_eq!(asked[2], "name is needed. name (text) []");
        assert_eq!(asked[3], "age (a whole number at least 0, or nothing) [30]");
        assert!(
            asked[10].starts_with("1 chosen is not at least 2. several"),
            "{asked:?}"
        );
        assert_eq!(
            asked[12],
            "The MCP server \"docs\" gets: name = Ann, age = 41, colour = g, several = r and g [Send|Change|Decline]"
        );
    }

    #[tokio::test]
    async fn leaving_a_prompt_answers_nothing() {
        for answers in [
            &["<Esc>"][..],
            &["Answer", "<Esc>"],
            &["Answer", "Ann", "<Esc>"],
        ] {
            assert_eq!(answer(&all_kinds(), answers).await.0, None, "{answers:?}");
        }
        assert_eq!(
            answer(&all_kinds(), &["Decline"]).await.0,
            Some(FormReply::Declined)
        );
        assert_eq!(
            answer(&all_kinds(), &["Dismiss"]).await.0,
            Some(FormReply::Cancelled)
        );
    }

    #[tokio::test]
    async fn an_address_is_shown_in_full_and_not_opened() {
        let mut form = form(Vec::new());
        form.wanted = FormContent::Visit("https://docs.example/login?state=1".to_owned());
        let (reply, asked) = answer(&form, &["Accept"]).await;
        assert_eq!(reply, Some(FormReply::Accepted(Map::new())));
        assert!(
            asked[0].contains("yourself: https://docs.example/login?state=1|"),
            "{asked:?}"
        );
    }
}
