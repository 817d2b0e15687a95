//! The attributes `#[tool]` and `#[toolbox]`: sugar over the builder of `opentool-core`.
//!
//! Both are re-exported, and documented for their users, by `opentool` and `opentool-core`; no other crate
//! depends on this one directly. An attribute reads a signature, refuses what no model could call with
//! a message that says what to write instead, and generates what one could have written by hand: a
//! struct for the arguments, with serde and schemars derived, and a declaration that names it.
//!
//! ```
#![doc = include_str!("../tests/example.rs")]
//! ```
//!
//! An attribute cannot find out under which name its crate was imported, so that each re-exporting
//! crate has its own pair of entry points, and `crate = path` covers the rest.

mod attributes;
mod conditions;
mod declaration;
mod docs;
mod errors;
mod free_function;
mod impl_block;
mod input;
mod list;
mod near;
mod options;
mod signature;
mod types;

use proc_macro::TokenStream;
use quote::quote;

/// Makes a tool of a function; see the documentation of `opentool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(options.into(), item.into(), &quote!(::opentool_core)).into()
}

/// Makes tools of the methods of an `impl` block; see the documentation of `opentool`.
#[proc_macro_attribute]
pub fn toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    impl_block::expand(options.into(), item.into(), &quote!(::opentool_core)).into()
}

// `#[tool]` as the facade exports it, which has the documentation.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn facade_tool(options: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(options.into(), item.into(), &quote!(::opentool)).into()
}

// `#[toolbox]`, likewise.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn facade_toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    impl_block::expand(options.into(), item.into(), &quote!(::opentool)).into()
}
