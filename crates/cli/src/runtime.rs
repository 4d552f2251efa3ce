//! The async runtime of the commands.

use std::time::Duration;

use tokio::runtime::Builder;

/// Maximum time for writes of the log at the end.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Runs a future to its end.
///
/// # Errors
///
/// The runtime cannot be started; the message is for the user.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("The program could not start its runtime: {error}."))?;
    let result = runtime.block_on(future);
    session::audit::finish(LAST_WRITES);
    // Does not wait for threads: one may be blocked reading standard input.
    runtime.shutdown_background();
    Ok(result)
}
