//! Helpers: an agent with a scripted provider, unusual tools, and events as lines.

use std::sync::Arc;
use std::time::Duration;

use agent::*;
use tokio::sync::Semaphore;

/// Returns an agent that uses this provider.
pub fn agent(provider: &harness::Provider) -> Agent {
    let named = Provider::named(provider.name()).unwrap();
    Agent::new(
        named
            .with_base_url(provider.url())
            .with_api_key("test-key")
            .with_model("test-model"),
    )
}

/// Reads the events of a run to its end.
pub async fn read(mut run: Run<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}

/// Reads events up to the first one that fits.
pub async fn read_until(run: &mut Run<'_>, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        let found = fits(&event);
        events.push(event);
        if found {
            return events;
        }
    }
    panic!("the event never arrived; these did: {}", shown(&events));
}

/// Reads a run to its end and compares its events line by line.
#[track_caller]
pub fn check(events: &[Event], expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(
        lines(&shown(events)),
        lines(expected),
        "\n{}",
        shown(events)
    );
}

/// Formats events on one line each; consecutive pieces of text are one event.
pub fn shown(events: &[Event]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut text = false;
    for event in events {
        match event {
            Event::Text(more) if text => lines.last_mut().unwrap().push_str(more),
            Event::Text(more) => lines.push(format!("text {more}")),
            Event::RequestFinished { .. } | Event::ToolOutput { .. } => continue,
            event => lines.push(line(event)),
        }
        text = matches!(event, Event::Text(_));
    }
    lines.join("\n")
}

fn line(event: &Event) -> String {
    match event {
        Event::Message(message) => {
            let parts: Vec<String> = message.parts.iter().map(part).collect();
            format!("{:?}: {}", message.role, parts.join(" | "))
        }
        Event::RequestStarted { number } => format!("request {number}"),
        Event::Thinking(text) => format!("thinking {text}"),
        Event::ToolUse(call) => format!("call {} {} {}", call.id, call.name, call.input),
        Event::ToolStarted { call, label } => format!("start {} {label}", call.id),
        Event::ToolFinished {
            id,
            content,
            is_error,
            ..
        } => {
            let error = if *is_error { " (error)" } else { "" };
            format!("end {id}{error} {content}")
        }
        Event::ToolNotRun { id, why, .. } => format!("not run {id} {why}"),
        Event::TurnLimit { requests } => format!("limit {requests}"),
        Event::Finished(Ended::Failed(problem)) => format!("failed {problem}"),
        Event::Finished(ended) => format!("{ended:?}"),
        other => format!("{other:?}"),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::ToolUse { id, .. } => format!("use {id}"),
        Part::ToolResult {
            tool_use_id,
            content,
            is_error,
            ..
        } => {
            let error = if *is_error { " (error)" } else { "" };
            format!("result {tool_use_id}{error} {content}")
        }
        other => format!("{other:?}"),
    }
}

/// The weather tool of the tool trait's specification.
pub struct Weather;

#[async_trait]
impl Tool for Weather {
    fn name(&self) -> &str {
        "get_weather"
    }
    fn label(&self) -> &str {
        "A look at the sky"
    }
    fn description(&self) -> &str {
        "Get current weather for a city."
    }
    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name"}},
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
        Ok(ToolResult {
            content: format!("Weather in {city}: 72°F, sunny"),
            details: Some(json!({"k": "SECRET"})),
            ..ToolResult::default()
        })
    }
}

type Act = dyn Fn(Value) -> Result<ToolResult, ToolError> + Send + Sync;

/// A tool with a behavior defined by the test, which takes any arguments.
pub struct Acts {
    name: &'static str,
    /// Each call acquires a permit of this first.
    gate: Option<Arc<Semaphore>>,
    act: Arc<Act>,
}

impl Acts {
    pub fn tool(
        name: &'static str,
        act: impl Fn(Value) -> Result<ToolResult, ToolError> + Send + Sync + 'static,
    ) -> Box<dyn Tool> {
        Box::new(Self {
            name,
            gate: None,
            act: Arc::new(act),
        })
    }

    /// Returns a tool whose calls wait until the test releases them and then return their
    /// arguments.
    pub fn waits(name: &'static str, gate: &Arc<Semaphore>) -> Box<dyn Tool> {
        Box::new(Self {
            name,
            gate: Some(gate.clone()),
            act: Arc::new(|input| Ok(ToolResult::text(input.to_string()))),
        })
    }
}

#[async_trait]
impl Tool for Acts {
    fn name(&self) -> &str {
        self.name
    }
    fn label(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "Does what a test says."
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn deadline(&self, _input: &Value, _default: Duration) -> Duration {
        harness::PATIENCE
    }
    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        _ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        (self.act)(input)
    }
}
