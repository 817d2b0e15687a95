//! What the rooms that call somebody over HTTP have in common: where a server is, the key that it gets, a client that sends
//! neither anywhere else, and the messages of a stream.
//!
//! An inner room: the others build on it, and their users see nothing of it.
//!
//! ```
//! use opentool_http::{ApiKey, Setup, base_url};
//!
//! let url = base_url("https://tools.example/v1/").unwrap();
//! let key = ApiKey::new("s3cret").unwrap();
//! let client = Setup::new("my-room/1.0", &url).builder().unwrap().build().unwrap();
//! let request = client.post(url).header("authorization", key.header("Bearer ").unwrap());
//! assert!(!format!("{key:?} {request:?}").contains("s3cret"));
//! ```

mod client;
mod frames;
mod key;
#[cfg(feature = "testing")]
pub mod testing;
mod url;
mod wait;

pub use self::client::{Setup, SetupError};
pub use self::frames::{Frame, Frames, Framing};
pub use self::key::{ApiKey, UnsendableKey};
pub use self::url::{InvalidUrl, base_url};
pub use self::wait::jittered;
