//! The tools that `opentool serve` offers where no source is given: small, useful, and examples of how tools are written.

mod ask;
mod calculator;
mod clock;
mod notes;
mod text;
mod units;

use opentool::{DeclaredTools as _, Toolbox, ToolboxError};

/// The document of the C library that is a part of the demo.
pub(crate) const LIBM_DOCUMENT: &str = include_str!("demo/libm.opendyn.json");
/// Its file, which the system looks up.
pub(crate) const LIBM: &str = if cfg!(target_os = "macos") { "libSystem.B.dylib" } else { "libm.so.6" };

/// All demo tools, with a note store of its own.
pub(crate) fn toolbox() -> Result<Toolbox, ToolboxError> {
    let texts = Toolbox::from_tools([text::text_statistics::tool(), text::word_frequency::tool()])?;
    let units = Toolbox::new().with(units::convert_unit::tool())?;
    Ok(clock::Clock
        .into_toolbox()?
        .merge(calculator::Calculator.into_toolbox()?)?
        .merge(units)?
        .merge(texts)?
        .merge(notes::Notes::default().into_toolbox()?)?
        .with(ask::ask_user::tool())?
        .with_title("opentool demo tools")
        .with_version(env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_demo_tool_and_every_parameter_is_described() {
        let toolbox = toolbox().unwrap();
        assert!(toolbox.contains("current_date_time") && toolbox.contains("add"));
        for tool in toolbox.iter() {
            let definition = tool.definition();
            assert!(definition.description().ends_with('.'), "{}", definition.name());
            for (name, schema) in definition.input_schema()["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{}.{name}: {schema}", definition.name());
            }
        }
    }

    #[test]
    fn a_destructive_tool_says_so_and_one_that_only_reads_too() {
        let toolbox = toolbox().unwrap();
        let destructive: Vec<_> = toolbox
            .iter()
            .filter(|tool| tool.metadata().destructive() == Some(true))
            .map(|tool| tool.definition().name())
            .collect();
        assert_eq!(destructive, ["delete_note"]);
        assert!(toolbox.get("list_notes").unwrap().metadata().is_read_only());
    }

    #[test]
    fn the_demo_tools_make_a_document() {
        let made = toolbox().unwrap().to_document().unwrap();
        assert_eq!(made.document.info.title, "opentool demo tools");
    }
}
