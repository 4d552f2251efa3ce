//! The address of Vertex AI, which contains a project and a location.

use chat::Problem;

use super::GetVariable;

/// The location of models that are in no particular region.
const GLOBAL: &str = "global";
/// The API version that accepts JSON schemas of tools unchanged.
const VERSION: &str = "v1beta1";

/// Returns the address up to the models. `origin` replaces the host, for users with a
/// proxy.
///
/// # Errors
///
/// No project is set, or a name contains what an address cannot.
pub(super) fn base_url(
    origin: Option<String>,
    project: Option<&str>,
    location: Option<&str>,
    variables: GetVariable<'_>,
) -> Result<String, Problem> {
    let set = |name: &str| variables(name).filter(|value| !value.is_empty());
    let project = project.map(str::to_owned);
    let project = project.or_else(|| set("GOOGLE_CLOUD_PROJECT"));
    let project = project.ok_or_else(|| {
        Problem::new(
            "Vertex AI needs a project and none is set, so nothing was sent.",
            "Set parameters.vertex.project_id or $GOOGLE_CLOUD_PROJECT.",
        )
    })?;
    let location = location.map(str::to_owned);
    let location = location.or_else(|| set("GOOGLE_CLOUD_LOCATION"));
    let location = location.unwrap_or_else(|| GLOBAL.to_owned());
    // The environment is not validated like an option, and its value goes into the address.
    check("project_id", &project)?;
    check("location", &location)?;
    let origin = origin.unwrap_or_else(|| match location.as_str() {
        GLOBAL => "https://aiplatform.googleapis.com".to_owned(),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    });
    let origin = origin.trim_end_matches('/');
    Ok(format!(
        "{origin}/{VERSION}/projects/{project}/locations/{location}/publishers/google"
    ))
}

/// Returns an error if the value of a parameter cannot be part of an address.
fn check(name: &str, value: &str) -> Result<(), Problem> {
    // Old project names have a domain and a colon.
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    if !value.is_empty() && value.chars().all(is_allowed) && !value.contains("..") {
        return Ok(());
    }
    Err(Problem::new(
        format!(
            "The {name} of Vertex AI is \"{value}\", which cannot be part of an address, so nothing was sent."
        ),
        format!("Correct parameters.vertex.{name}: letters, digits, \"-\", \".\" and \":\"."),
    ))
}
