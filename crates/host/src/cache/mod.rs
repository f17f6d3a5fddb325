//! Results of steps, stored by the content of what made them: the key, the stored result, and their files.
//!
//! Every entry and every file is named by a digest and verified when it is read, so an entry that was
//! damaged, removed or written by a killed process is a miss and never a wrong result. Nothing here
//! needs a lock: files are renamed into place, and two processes that store the same key store the same
//! thing. Start at [`ResultCache`]. The executor decides when a result is used and stored.

mod entry;
mod files;
mod key;
mod lookup;
mod store;
mod trim;

pub use entry::{CachedContent, CachedFile, CachedOrigin, CachedResult};
pub use key::{CacheKey, KeyBuilder, KeyPart};
pub use lookup::{Lookup, LookupResult};
pub use store::{ListedResult, ResultCache};
