//! The rules of SEMANTICS, one file a topic, by chapter: `rule_3_setup` has those of 3.1 to 3.4 that are about
//! setup, and so on.

mod rule_10_events;
mod rule_1_time;
mod rule_2_addresses;
mod rule_2_nodes;
mod rule_2_wanted;
mod rule_3_governor;
mod rule_3_hedge;
mod rule_3_session_share;
mod rule_3_setup;
mod rule_4_budget;
mod rule_4_replies;
mod rule_4_requests;
mod rule_4_retries;
mod rule_4_throttles;
mod rule_5_health;
mod rule_5_policies;
mod rule_5_selection;
mod rule_6_auth;
mod rule_7_connect_string;
mod rule_7_discovery;
mod rule_7_dynamic_config;
mod rule_7_fallback;
mod rule_7_lists;
mod rule_7_make_before_break;
mod rule_7_rebalance;
mod rule_7_refresh;
mod rule_7_sources;
mod rule_7_sticky;
mod rule_8_age;
mod rule_8_hints;
mod rule_8_idle;
mod rule_8_keepalive;
mod rule_8_session;
mod rule_8_stall;
mod rule_9_shutdown;
