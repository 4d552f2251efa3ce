//! A program that lets a model use a tool of its own beside the default ones.
//!
//! ```sh
//! cargo run -- --offline                # a scripted model inside this program
//! ANTHROPIC_API_KEY=… cargo run -- "Do I need a coat in Oslo?"
//! ```

mod offline;

use std::process::ExitCode;

use agent::{
    Agent, Ended, Event, Problem, Provider, Tool, ToolContext, ToolError, ToolResult, ToolUseId,
    Value, async_trait, default_tools, json,
};

/// Knows the weather.
struct Weather;

#[async_trait]
impl Tool for Weather {
    fn name(&self) -> &str {
        "get_weather"
    }

    fn label(&self) -> &str {
        "Weather"
    }

    fn description(&self) -> &str {
        "Get current weather for a city."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City name"},
            },
            "required": ["city"],
        })
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        _ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let city = input["city"]
            .as_str()
            .ok_or(ToolError::InvalidInput("missing city".into()))?;

        // A real one would ask a weather service here.
        Ok(ToolResult {
            content: format!("Weather in {city}: 72°F, sunny"),
            details: Some(json!({"station": "none"})),
            ..ToolResult::default()
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match chat().await {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

async fn chat() -> Result<Ended, Problem> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let provider = if words.first().is_some_and(|it| it == "--offline") {
        words.remove(0);
        offline::provider()?
    } else {
        Provider::from_environment()?
    };
    let question = if words.is_empty() {
        "What is the weather in Oslo?".to_owned()
    } else {
        words.join(" ")
    };

    let mut tools = default_tools();
    tools.push(Box::new(Weather));
    // `read` is approved from the start; `bash`, `write` and `edit` are not.
    let mut agent = Agent::new(provider)
        .with_tools(tools)
        .approve(["get_weather", "calculator"]);

    let mut run = agent.prompt(&question);
    while let Some(event) = run.next().await {
        match event {
            Event::RequestStarted { number } => println!("[request {number}]"),
            Event::Text(text) => print!("{text}"),
            Event::ToolStarted { call, label } => println!("[{label}] {}", call.input),
            Event::ToolFinished {
                content, details, ..
            } => println!("  -> {content}  {}", details.unwrap_or_default()),
            Event::ToolNotRun { name, why, .. } => println!("  {name} was not run: {why}"),
            Event::Waiting(what) => println!("[{what}]"),
            Event::Finished(Ended::Failed(problem)) => return Err(problem),
            Event::Finished(ended) => {
                println!("\n[{ended:?}]");
                return Ok(ended);
            }
            _ => {}
        }
    }
    Ok(Ended::Done)
}
