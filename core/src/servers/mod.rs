mod endpoint;
pub use endpoint::{Endpoint, EndpointError, NodeSpec};
