//! The builders that the objects of both specs share.

/// Gives a document `function`, its functions `new`, `parameter` and `returning`, and its return values `new`.
macro_rules! function_builders {
    ($Document:ident, $Function:ident, $Parameter:ident, $Return:ident, $Schema:ident) => {
        impl $Document {
            /// Adds a function.
            #[must_use]
            pub fn function(mut self, function: $Function) -> Self {
                self.functions.push(function);
                self
            }
        }

        impl $Function {
            /// A function without parameters and without a return value.
            pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
                $Function {
                    name: name.into(),
                    description: description.into(),
                    parameters: Vec::new(),
                    returns: None,
                    extra: Default::default(),
                    layout: Default::default(),
                }
            }

            /// Adds a parameter.
            #[must_use]
            pub fn parameter(mut self, parameter: $Parameter) -> Self {
                self.parameters.push(parameter);
                self
            }

            /// Sets what the function returns.
            #[must_use]
            pub fn returning(mut self, returns: $Return) -> Self {
                self.returns = Some(returns);
                self
            }
        }

        impl $Return {
            /// A named return value.
            pub fn new(name: impl Into<String>, schema: $Schema) -> Self {
                $Return {
                    name: name.into(),
                    description: None,
                    schema,
                    extra: Default::default(),
                    layout: Default::default(),
                }
            }
        }
    };
}
pub(crate) use function_builders;

/// Gives objects with an optional description the method `described`.
macro_rules! described {
    ($($Name:ident),*) => {
        $(
            impl $Name {
                /// Sets the description.
                #[must_use]
                pub fn described(mut self, description: impl Into<String>) -> Self {
                    self.description = Some(description.into());
                    self
                }
            }
        )*
    };
}
pub(crate) use described;
