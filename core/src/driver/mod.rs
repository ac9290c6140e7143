//! The generic async driver.
