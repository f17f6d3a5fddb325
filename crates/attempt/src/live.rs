//! [`Live`]: a fact that changes while an attempt runs, asked when it is needed.

use std::fmt;
use std::sync::Arc;

/// A fact that changes while an attempt runs. Who needs it asks for it at that moment and keeps no answer.
#[derive(Clone)]
pub struct Live<T>(Arc<dyn Fn() -> T + Send + Sync>);

impl<T> Live<T> {
    /// The fact that this function finds.
    pub fn of(ask: impl Fn() -> T + Send + Sync + 'static) -> Live<T> {
        Live(Arc::new(ask))
    }

    /// What holds at this moment.
    pub fn now(&self) -> T {
        (self.0)()
    }
}

impl<T: Clone + Send + Sync + 'static> Live<T> {
    /// A fact that does not change.
    pub fn always(fact: T) -> Live<T> {
        Live::of(move || fact.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Live<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.now()).finish()
    }
}
