//! The questions of a server to the user during one call: one after another, not
//! without end, and the time that they take is not the call's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tools::{Form, Person, Reply};

/// How long the questions of one call may wait for the user, all together.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Most questions of one call.
const MOST: usize = 20;

/// See the module.
pub(super) struct Questions {
    person: Arc<dyn Person>,
    asked: AtomicUsize,
    /// How long more may be waited; held while a question stands.
    left: Mutex<Duration>,
    /// How many stand.
    standing: watch::Sender<usize>,
    /// When nobody waits for the call any more.
    over: CancellationToken,
}

impl Questions {
    pub(super) fn new(person: Arc<dyn Person>) -> Self {
        Self {
            person,
            asked: AtomicUsize::new(0),
            left: Mutex::new(PATIENCE),
            standing: watch::Sender::new(0),
            over: CancellationToken::new(),
        }
    }

    /// The call is over, and with it what it asked.
    pub(super) fn end(&self) {
        self.over.cancel();
    }

    /// Asks the user. Nobody's answer in time is that the question was put aside.
    pub(super) async fn ask(&self, form: Form) -> Reply {
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MOST {
            return Reply::Declined;
        }
        let _stands = Stands::new(&self.standing);
        let mut left = self.left.lock().await;
        let began = Instant::now();
        let reply = tokio::select! {
            reply = timeout(*left, self.person.ask(form)) => reply.unwrap_or(Reply::Dismissed),
            () = self.over.cancelled() => Reply::Dismissed,
        };
        *left = left.saturating_sub(began.elapsed());
        reply
    }

    /// Waits for as long as a call may take, without the time in which a question stands.
    pub(super) async fn time_out(&self, limit: Duration) {
        let mut standing = self.standing.subscribe();
        let mut left = limit;
        loop {
            // Its sender lives as long as we do.
            drop(standing.wait_for(|count| *count == 0).await);
            let began = Instant::now();
            tokio::select! {
                () = sleep(left) => return,
                _ = standing.wait_for(|count| *count > 0) => {}
            }
            left = left.saturating_sub(began.elapsed());
        }
    }
}

/// Counts a question for as long as it stands.
struct Stands<'a>(&'a watch::Sender<usize>);

impl<'a> Stands<'a> {
    fn new(standing: &'a watch::Sender<usize>) -> Self {
        standing.send_modify(|count| *count += 1);
        Self(standing)
    }
}

impl Drop for Stands<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use tools::{NoPerson, Wanted};

    struct Slow(Duration);

    #[async_trait]
    impl Person for Slow {
        async fn ask(&self, _form: Form) -> Reply {
            sleep(self.0).await;
            Reply::Declined
        }
    }

    fn form() -> Form {
        Form {
            by: "It".to_owned(),
            message: "?".to_owned(),
            wanted: Wanted::Fields(Vec::new()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_question_is_not_the_calls() {
        let questions = Questions::new(Arc::new(Slow(Duration::from_secs(100))));
        let began = Instant::now();
        tokio::join!(
            questions.time_out(Duration::from_secs(30)),
            questions.ask(form())
        );
        assert_eq!(began.elapsed().as_secs(), 130);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_does_not_wait_for_ever() {
        let questions = Questions::new(Arc::new(Slow(PATIENCE * 2)));
        assert_eq!(questions.ask(form()).await, Reply::Dismissed);
        assert_eq!(questions.ask(form()).await, Reply::Dismissed);
    }

    #[tokio::test]
    async fn a_call_asks_only_so_often() {
        let questions = Questions::new(Arc::new(NoPerson));
        for _ in 0..MOST {
            assert_eq!(questions.ask(form()).await, Reply::Nobody);
        }
        assert_eq!(questions.ask(form()).await, Reply::Declined);
    }
}
