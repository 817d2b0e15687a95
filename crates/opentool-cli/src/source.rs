//! What stands for SOURCE on a command line: where tools come from.

mod attach;
mod opened;
mod word;

pub(crate) use self::{
    attach::{Attached, Listing, StepTools},
    opened::{Source, give_to_workflows, open_libraries},
    word::{local_port, shown_url},
};
