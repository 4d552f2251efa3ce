//! Where Vertex AI is: a project and a location are part of its address.
//!
//! Knows no token and no body of a request.

use chat::Problem;

use super::Variables;

/// Where models are that belong to no region.
const GLOBAL: &str = "global";
/// The API's version that takes tools' schemas as they are.
const VERSION: &str = "v1beta1";

/// The address up to the models. `origin` is set by those who go through a proxy of
/// their own, and replaces the host.
///
/// # Errors
///
/// No project is named, or a name holds what no address can.
pub(super) fn base_url(
    origin: Option<String>,
    project: Option<&str>,
    location: Option<&str>,
    variables: Variables<'_>,
) -> Result<String, Problem> {
    let set = |name: &str| variables(name).filter(|value| !value.is_empty());
    let project = project
        .map(str::to_owned)
        .or_else(|| set("GOOGLE_CLOUD_PROJECT"))
        .ok_or_else(|| {
            Problem::new(
                "Vertex AI needs a project and none is named, so nothing was sent.",
                "Set parameters.vertex.project_id or $GOOGLE_CLOUD_PROJECT.",
            )
        })?;
    let location = location
        .map(str::to_owned)
        .or_else(|| set("GOOGLE_CLOUD_LOCATION"))
        .unwrap_or_else(|| GLOBAL.to_owned());
    for (name, value) in [("project_id", &project), ("location", &location)] {
        if !is_plain(value) {
            return Err(Problem::new(
                format!(
                    "The {name} of Vertex AI is \"{value}\", which no address can hold, so nothing was sent."
                ),
                format!(
                    "Correct parameters.vertex.{name}: letters, digits, \"-\", \".\" and \":\"."
                ),
            ));
        }
    }
    let origin = origin.unwrap_or_else(|| match location.as_str() {
        GLOBAL => "https://aiplatform.googleapis.com".to_owned(),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    });
    let origin = origin.trim_end_matches('/');
    Ok(format!(
        "{origin}/{VERSION}/projects/{project}/locations/{location}/publishers/google"
    ))
}

/// Whether a name can stand in an address. Old projects have a domain and a colon.
fn is_plain(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    !name.is_empty() && name.chars().all(allowed) && !name.contains("..")
}
