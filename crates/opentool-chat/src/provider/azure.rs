//! Azure OpenAI: [`AzureOpenAi`].

mod format;
#[cfg(test)]
mod tests;

pub use self::format::AzureOpenAi;
