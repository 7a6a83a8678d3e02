"""The most telling tests of each part of the package, which `make quick` runs.

The contracts (``test_contract_*.py``) and the theorems (``test_theory.py``) mark theirs themselves, one for each kind.
"""

QUICK = {
    "similarity": """
        test_algebra::random_expressions_have_the_right_values_and_only_true_claims
        test_algebra::claims_follow_the_closure_rules
        test_adapters::objects_of_every_kind
        test_adapters::fingerprints_are_the_same_in_every_process
        test_expressions::a_text_means_what_it_means_in_python
        test_expressions::what_is_printed_can_be_read
    """,
    "kernels": """
        test_vectors::gram_cross_diag_and_calls_equal_the_loop
        test_strings::brute_force test_strings::edit_brute_force
        test_graphs::gram_is_pairs
        test_series::alignment_by_its_formula
        test_sets::against_python_sets
        test_tables::columns_are_combined test_gower::against_the_definition
        test_explicit::dense_products_are_the_kernel
    """,
    "compute": """
        test_loops::apply test_loops::of_sums test_loops::products_of_sparse_rows
        test_blocks::times test_blocks::into_a_file_beyond_the_budget
        test_torch_engine::matrices_and_products_are_those_of_the_local_engine
    """,
    "data": """
        test_files::tables_are_those_of_pandas test_files_formats::any_fasta_is_read_back
        test_files_writing::csv_is_what_pandas_and_polars_read
        test_sources::the_same_rows_in_batches_of_the_same_size
        test_datasets::the_table_of_the_module_is_complete
    """,
    "validity": """
        test_validity::what_is_no_kernel_is_refuted_by_the_smallest_witness test_validity::no_false_alarm
        test_validity::repair_changes_the_spectrum_as_it_says
    """,
    "landmarks": """
        test_landmark_rules::positions_are_distinct_and_as_many_as_asked
        test_landmark_rules::the_factor_is_exact_on_the_pivots
    """,
    "maps": """
        test_maps::landmark_features_are_similarities test_maps::projection_reproduces_the_kernel_on_landmarks
        test_maps::compact_map_is_the_projection_times_a_random_matrix
        test_fourier::features_are_cosines_and_sines_of_the_frequencies
        test_sketches::features_are_count_sketches_of_all_products
    """,
    "linear": """
        test_linear_ridge::leaving_one_out_is_refitting test_linear::logistic_by_scikit_learn
        test_linear::squared_hinge_by_a_general_solver test_linear::sparse_squares_by_scikit_learn
    """,
    "learners": """
        test_svm::it_is_the_solution_of_libsvm test_svm::regression_is_that_of_libsvm
        test_perceptron::mistakes_are_those_of_the_perceptron_on_explicit_features
        test_ridge::every_lam_and_its_leave_one_out_error_are_those_of_refits
        test_representer::the_squared_error_is_ridge test_sgd::every_step_is_the_naive_one
        test_neighbors::neighbors_are_those_of_a_plain_sort
        test_clusters::inertia_labels_and_distances_follow_the_definition
        test_votes::a_vote_by_definition test_separator::no_training_error
    """,
    "estimators": """
        test_estimators::with_every_object_a_landmark_it_is_kernel_ridge_regression
        test_estimators::any_similarity_is_a_feature_of_each_object
        test_estimators::the_number_of_landmarks_grows_while_that_helps
        test_estimators::batches_give_the_model_of_all_examples
        test_estimators_sources::the_model_of_the_rows_in_memory
    """,
    "goodness and theory": """
        test_goodness::figure_3_1_gaps test_goodness::fitted_weights_are_optimal
        test_margins::three_points_on_a_line test_alignment::three_objects
        test_bounds::landmarks test_bounds::votes test_bounds::hinge_error test_bounds::perceptrons
    """,
    "selection": """
        test_selection::two_classes_equal_explicit_loops
        test_combine::alignment_weights_equal_brute_force_on_whole_gram_matrices
    """,
    "report": """
        test_report_findings::gram_and_spectrum_are_those_of_the_sample
        test_cli_report::a_page_is_one_file
    """,
    "persistence": """
        test_persistence::everything_comes_back_as_it_was
        test_persistence_files::every_cut_is_noticed
    """,
    "command line": """
        test_cli::check_refutes_with_3 test_cli::assess_tells_a_person test_cli::compare_ranks
        test_cli::kernels_lists_every_name_in_one_line test_cli_models::fit_tells_a_person
        test_cli_models::predict_is_what_the_model_says test_cli_models::explain_adds_up
        test_cli_models::info_tells_what_was_learned
        test_cli_report::a_report_as_text_says_on_the_screen_what_the_file_says
    """,
    "public surface": """
        test_public_api::every_public_name_is_there_and_sorted
        test_refusals::what_is_refused test_refusals::commands_that_are_refused
    """,
}
"""By part of the package: the file and the name of each test, without the ``test_`` of the function."""


def listed():
    """Return the file and the function of every test that is listed."""
    pairs = (one.split("::") for names in QUICK.values() for one in names.split())
    return {(f"{file}.py", f"test_{name}") for file, name in pairs}
