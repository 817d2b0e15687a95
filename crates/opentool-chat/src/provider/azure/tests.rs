#![allow(clippy::unwrap_used)]

use super::AzureOpenAi;
use super::format::AzureFormat;
use crate::ChatError;
use crate::provider::Provider;
use crate::provider::wire::WireFormat;

fn from(variables: &[(&str, &str)]) -> Result<AzureOpenAi, ChatError> {
    AzureOpenAi::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_address_has_the_deployment_and_the_version_only_with_a_version() {
    for base in
        ["https://r.openai.azure.com", "https://r.openai.azure.com/openai/", "https://r.openai.azure.com/openai/v1/"]
    {
        let endpoint = AzureFormat::endpoint(base).unwrap();
        let plain = AzureFormat::default();
        assert_eq!(
            plain.request_url(&endpoint, "dep", true).as_str(),
            "https://r.openai.azure.com/openai/v1/chat/completions"
        );
        assert_eq!(plain.models_url(&endpoint).as_str(), "https://r.openai.azure.com/openai/v1/models");
        let versioned = AzureFormat::from_variables(|_| Some("2024-10-21".to_owned()));
        assert_eq!(
            versioned.request_url(&endpoint, "../a b", true).as_str(),
            "https://r.openai.azure.com/openai/deployments/..%2Fa%20b/chat/completions?api-version=2024-10-21"
        );
    }
}

#[test]
fn an_address_is_needed_and_nothing_else() {
    let missing = from(&[("AZURE_OPENAI_API_KEY", "s3cret")]).unwrap_err().to_string();
    assert!(missing.contains("set AZURE_OPENAI_ENDPOINT"), "{missing}");
    let azure = from(&[("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com"), ("AZURE_OPENAI_DEPLOYMENT", "dep")]);
    assert_eq!(azure.unwrap().model(), Some("dep"));
}
