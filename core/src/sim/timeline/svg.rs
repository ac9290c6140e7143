use std::string::String;
impl super::Timeline { #[must_use] 
/// TODO
pub fn svg(&self) -> String { String::new() } }
