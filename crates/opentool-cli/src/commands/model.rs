//! Which model is asked: by options, by the environment, or by `[model]` of a configuration file.

mod name;
mod options;
mod table;

pub(super) use self::{
    name::{MODEL_VARIABLE, ModelName},
    options::ModelOptions,
    table::{MODEL, ModelTable},
};
