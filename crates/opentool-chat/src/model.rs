//! A provider's model that calls tools: [`ChatModel`].

mod asking;
mod builder;
mod chat_model;
mod content;
mod eligibility;
mod ending;
mod ids;
mod memory;
mod parts;
mod recorder;
mod recording;
mod run;
mod span;
mod turn_request;
mod turn_state;
mod typed;
mod typed_turn;

pub use self::builder::ChatModelBuilder;
pub use self::chat_model::ChatModel;
pub use self::eligibility::Eligibility;
pub(crate) use self::memory::SavePoint;
pub(crate) use self::turn_request::{Subject, TurnRequest};
