//! Each case, once, by topic, with what it needs.

/// Calls `$suite!` with all cases:
///
/// | | is given |
/// |---|---|
/// | `everywhere` | a site |
/// | `hosts` | the host of one, whose runtime it ends |
/// | `sockets` | a site with sockets |
/// | `socket_hosts` | the host of one |
macro_rules! with_all_cases {
    ($suite:ident! $head:tt) => {
        $suite! { $head
            requests {
                everywhere {
                    a_request_is_answered
                    a_thousand_requests_at_once_get_their_own_replies
                    a_payload_larger_than_any_buffer_comes_back_whole
                    an_empty_payload_comes_back
                    a_request_without_reply_is_complete_when_it_is_sent
                    requests_are_written_in_the_order_of_their_submission
                    a_request_can_be_for_one_node
                    requests_for_any_node_are_spread_over_those_that_are_ready
                    no_more_requests_than_allowed_are_in_flight
                    a_server_may_allow_fewer_requests_in_flight
                    a_request_for_a_node_that_has_left_is_refused
                    a_full_queue_refuses_and_is_worth_another_try
                    a_queue_is_full_of_bytes_too
                    a_request_that_cannot_be_encoded_fails_alone
                    a_request_that_is_never_polled_is_never_sent
                    nothing_is_dialled_before_it_is_wanted
                    ready_waits_for_the_first_usable_node
                    ready_gives_up_at_its_timeout
                }
            }
            deadlines {
                everywhere {
                    without_a_usable_node_a_request_times_out_unwritten
                    without_a_reply_a_request_times_out_possibly_written
                    a_request_without_time_is_never_written
                    with_an_empty_list_a_request_waits_until_its_deadline
                    with_an_empty_list_a_request_waits_for_a_list
                    a_request_that_waits_too_long_in_the_queue_expires
                    a_late_reply_is_dropped_and_the_next_request_gets_its_own
                    an_attempt_timeout_moves_an_idempotent_request_to_another_node
                    an_attempt_timeout_ends_a_request_that_may_not_be_repeated
                    an_attempt_timeout_closes_the_connection_where_it_is_told_to
                    a_shorter_attempt_timeout_of_a_request_gives_up_that_request_alone
                }
            }
            setup {
                everywhere {
                    a_node_that_refuses_fails_at_once_and_another_answers
                    a_black_holed_node_fails_at_its_deadline_and_another_answers
                    a_mute_node_fails_at_its_deadline_and_another_answers
                    a_node_that_accepts_and_closes_fails_and_another_answers
                    a_node_that_greets_with_garbage_fails_and_another_answers
                    a_node_that_rejects_credentials_fails_and_another_answers
                    credentials_that_all_reject_fail_a_request
                    a_handshake_can_have_a_deadline_of_its_own
                    a_dead_node_is_backed_off
                    dead_nodes_do_not_hold_up_the_first_reply
                    a_request_can_fail_as_soon_as_no_node_is_left
                    warm_nodes_are_connected_without_a_request
                    no_more_attempts_than_allowed_are_made_at_a_time
                    no_more_attempts_than_allowed_are_made_in_a_second
                }
            }
            established {
                everywhere {
                    after_a_close_an_idempotent_request_is_answered_elsewhere
                    after_garbage_an_idempotent_request_is_answered_elsewhere
                    a_request_that_may_have_been_carried_out_is_not_repeated
                    a_request_is_tried_no_more_often_than_allowed
                    retries_end_with_their_budget
                    retries_end_with_the_request
                    the_loss_of_a_node_leaves_requests_on_another_alone
                    a_slow_node_is_waited_for_on_one_connection
                }
            }
            verdicts {
                everywhere {
                    a_request_that_is_sent_elsewhere_is_answered_there
                    a_request_for_a_node_that_sends_it_elsewhere_ends_with_that_answer
                    a_node_that_asks_for_no_more_requests_gets_none_until_then
                    after_a_goodbye_requests_go_on_a_new_connection
                    what_servers_say_unasked_is_received
                    the_latest_receiver_of_pushes_takes_over
                    a_session_that_is_over_ends_the_client
                }
            }
            cancelling {
                everywhere {
                    dropped_while_queued_it_is_never_written
                    dropped_during_the_handshake_it_is_never_written
                    dropped_while_no_node_can_be_reached_it_leaves_nothing
                    dropped_while_it_waits_for_a_retry_it_is_not_tried_again
                    dropped_after_it_was_written_it_leaves_the_next_its_own_reply
                    dropped_at_any_moment_a_thousand_leave_nothing
                    dropped_in_many_tasks_two_thousand_leave_nothing
                    dropped_without_a_reply_it_frees_its_slot_at_its_attempt_deadline
                }
                sockets {
                    dropped_while_partly_written_it_is_written_to_its_end
                    dropped_while_its_reply_is_partly_read_it_leaves_the_next_its_own
                }
            }
            handles {
                everywhere {
                    a_client_that_was_said_wrongly_is_not_built
                    building_never_fails_for_a_reason_of_the_network
                    the_last_handle_closes_every_connection
                    the_last_handle_ends_what_is_being_dialled
                    a_request_that_is_waited_for_keeps_the_client_alive
                    handles_can_be_used_and_dropped_by_any_thread
                }
                socket_hosts {
                    requests_of_many_threads_get_their_own_replies
                }
            }
            shutdown {
                everywhere {
                    what_was_written_may_finish_and_the_rest_is_refused
                    what_was_not_written_fails_as_closed
                    what_is_not_answered_fails_when_the_drain_ends
                    nodes_in_setup_hold_up_nothing
                    a_second_call_can_shorten_the_drain
                    it_begins_without_being_awaited
                    a_drain_without_end_is_refused_and_nothing_ends
                    afterwards_nothing_is_dialled_and_nothing_is_retried
                    afterwards_events_pushes_and_lists_end
                }
                sockets {
                    with_a_peer_that_never_reads_it_ends_with_the_drain
                    without_a_drain_a_peer_that_never_reads_holds_up_nothing
                }
            }
            runtime_ends {
                hosts {
                    whoever_waits_is_told
                    who_waits_for_the_end_of_a_shutdown_is_told
                    requests_that_wait_for_a_dial_are_told
                    new_requests_are_refused
                    a_request_can_be_dropped_afterwards
                }
                socket_hosts {
                    its_connections_are_closed
                }
            }
            keeping {
                everywhere {
                    an_idle_connection_is_closed_and_the_next_request_dials
                    a_connection_that_is_waited_on_is_not_idle
                    a_connection_that_is_kept_warm_may_be_idle
                    an_old_connection_is_replaced
                    a_silent_peer_is_asked_whether_it_is_alive
                    a_peer_that_does_not_say_that_it_is_alive_is_hung_up_on
                    on_another_network_connections_are_probed
                    a_node_that_is_said_to_be_down_is_probed_alone
                    a_node_that_does_not_answer_is_chosen_last
                }
            }
            lists {
                everywhere {
                    a_node_that_stays_keeps_its_connection
                    what_is_in_flight_on_a_node_that_leaves_may_finish
                    a_request_bound_to_a_node_that_leaves_fails
                    a_request_for_any_node_waits_for_a_better_list
                    a_list_that_is_wrong_changes_nothing
                    a_source_says_where_the_servers_are
                    a_source_that_fails_changes_nothing_and_says_why
                    fallback_servers_serve_when_all_others_have_failed
                    under_sticky_all_requests_go_to_one_node
                    under_round_robin_all_nodes_take_turns
                }
            }
            events {
                everywhere {
                    events_tell_what_happened_in_order
                    each_receiver_gets_every_event
                    each_connection_that_comes_up_ends_once
                    bytes_that_make_no_sense_are_told_with_what_is_wrong
                    a_snapshot_shows_counters_and_nodes
                    the_clock_goes_on
                }
            }
            transports {
                everywhere {
                    a_transport_that_takes_one_byte_a_call_serves
                    a_client_with_nothing_to_do_is_not_woken
                    a_client_that_waits_for_a_reply_is_not_woken
                    a_client_whose_node_does_not_answer_dials_is_not_busy
                }
            }
            load {
                everywhere {
                    ten_thousand_requests_over_a_flapping_node_are_all_answered
                    what_may_not_be_repeated_reaches_a_flapping_node_at_most_once
                    large_and_small_requests_share_a_connection
                }
                sockets {
                    fifty_nodes_are_served_at_once
                    a_flood_starves_neither_others_nor_deadlines
                }
            }
            blocked_writes {
                sockets {
                    pushes_are_read_while_writing_is_blocked
                    a_peer_that_never_reads_is_given_up_and_another_answers
                    a_blocked_connection_gets_no_more_requests
                }
            }
            comebacks {
                sockets {
                    after_a_reset_an_idempotent_request_is_answered_elsewhere
                    a_reply_that_is_cut_off_is_an_error_of_the_protocol
                    a_reply_that_comes_byte_by_byte_is_read_whole
                    the_loss_of_an_idle_connection_is_noticed_at_once
                    a_node_that_comes_back_is_used_again
                    a_node_that_is_said_to_be_up_is_dialled_soon
                    on_another_network_nodes_are_dialled_soon
                    after_a_sleep_nodes_are_dialled_soon
                }
            }
            processes {
                sockets {
                    a_stopped_process_is_found_out_by_a_timeout_and_another_answers
                    a_process_that_goes_on_answers_late_and_the_next_gets_its_own
                    a_stopped_process_that_accepts_fails_at_its_setup_deadline
                    a_killed_process_is_noticed_at_once_and_another_answers
                }
            }
            names {
                sockets {
                    a_name_is_resolved_by_the_system
                    a_name_that_cannot_be_resolved_fails_its_node
                    a_name_that_cannot_be_resolved_does_not_hold_up_others
                }
            }
        }
    };
}

pub(crate) use with_all_cases;
