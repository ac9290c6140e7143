//! Name servers of DNS, asked without the system's resolver.

mod name_servers;
mod srv;
mod srv_selection;

pub use {name_servers::NameServers, srv::SrvSource, srv_selection::SrvSelection};
