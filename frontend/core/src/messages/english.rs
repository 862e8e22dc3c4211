//! English, and the declaration of all messages.
//!
//! Words: buttons are verbs, labels are nouns, help is one short sentence, an empty state says what
//! would be here and how to get it, a state says state, cause and next step. Sentence case.

use super::{LocalTime, Rich, catalogue, code};

/// `1 user`, `3 users`.
fn counted(count: usize, one: &str, other: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { other })
}

catalogue! {
    /// The language itself.
    language: Language {
        // BCP 47, for the attribute `lang` and the browser's date formats.
        tag = "en";
    }

    /// Buttons that many screens have.
    buttons: Buttons {
        cancel = "Cancel";
        close = "Close";
        find = "Find";
        dismiss = "Dismiss";
        copy_again = "Copy again";
        copy = "Copy";
        filter = "Filter";
        try_again = "Try again";
    }

    /// Labels of fields and columns that many screens have.
    labels: FieldLabels {
    }

    /// The components of frontend/kit.
    kit: Kit {
        type_to_confirm(text: &str) = format!("Type {text} to confirm");
        previous_match = "Previous match (Shift+Enter)";
        next_match = "Next match (Enter)";
        lines_found(count: usize) = match count {
            0 => "No results".to_owned(),
            count => counted(count, "line", "lines"),
        };
        match_of(place: usize, count: usize) = format!("{place} of {count}");
        loading = "Loading…";
        not_copied = "The browser does not allow copying here. Select the text and copy it.";
        copied = "Copied.";
        copy_named(what: &str) = format!("Copy: {what}");
        results = "Results";
        no_results = "No results. Use fewer letters.";
        filter_choices = "Filter the options";
        select_row(name: &str) = format!("Select {name}");
        select_all_rows(count: usize) = format!("Select all {count} listed rows");
        theme_system = "System theme";
        theme_light = "Light";
        theme_dark = "Dark";
        theme_contrast = "High contrast";
    }

    /// The frame around every screen.
    frame: Frame {
        skip = "Skip to content";
        brand = "Drover: all clusters";
        go_to = "Go to…";
        navigation = "Main";
        clusters = "Clusters";
        projects = "Projects";
        tokens = "Tokens";
        about = "About";
        users = "Users";
        providers = "Providers";
        roles = "Roles";
        audit = "Audit";
        settings = "Settings";
        change_password = "Change password";
        sign_out = "Sign out";
        sign_out_everywhere_menu = "Sign out everywhere…";
        user_menu = "Account and theme";
        sign_out_everywhere_title = "Sign out everywhere?";
        stay_signed_in = "Stay signed in";
        sign_out_everywhere = "Sign out everywhere";
        sign_out_everywhere_effect() -> Rich = Rich::from("This ends your sessions in all browsers and every ")
            + code("drover login") + ". API tokens and kubeconfig tokens stay valid; list them with "
            + code("drover token list") + ".";
        leave_title = "Discard unsaved changes?";
        leave = "Discard changes";
        stay = "Keep editing";
        leave_effect = "This screen has unsaved changes. Discarded changes cannot be restored.";
        same_command = "On the command line:";
        copy_command = "Copy the command";
    }

    /// The command palette.
    palette: Palette {
        title = "Go to a page or run a command";
        search = "Search for a cluster, a page or a command";
        hint = "Cluster, page or command";
        theme(name: &str) = format!("Theme: {name}");
        kind_command = "command";
        kind_page = "page";
        all_clusters = "All clusters";
        import = "Import cluster";
        create_project = "Create project";
        access = "Check access";
        create_token = "Create token";
        about = "About this server";
        device = "Approve a CLI login";
        create_user = "Create user";
        providers = "Identity providers";
        global_members = "Members of all clusters";
        create_provider = "Create identity provider";
        audit = "Audit log";
        of_cluster(cluster: &str, page: &str) = format!("{cluster}: {page}");
        members = "Members";
    }

    /// The session, and what ends it.
    session: Session {
        server_offline = "The server does not answer";
        sign_in_first = "Sign in first.";
        signed_out_everywhere = "You are signed out everywhere.";
        signed_out = "You are signed out.";
        ended = "Your session has ended. Unsaved changes are lost. Sign in to return to this page.";
        signed_in_at_provider(provider: &str) = format!("You are signed out of Drover, and still signed in at {provider}. Sign out there, too.");
    }

    /// How new the data on a screen is.
    freshness: Freshness {
        connecting = "connecting";
        live = "live";
        stale_since(time: &LocalTime) = format!("stale since {time}");
        stale(time: &LocalTime, cause: &str) = format!("This data is from {time}. {cause} Retrying automatically.");
        missing(what: &str, cause: &str) = format!("{what} {cause} Retrying automatically.");
    }

    /// Lists of every kind.
    lists: Lists {
    }

    /// The list of clusters.
    home: Home {
    }

    /// The objects of a kind in a cluster.
    kinds: Kinds {
    }

    /// The page of a cluster.
    cluster: Cluster {
    }

    /// The labels of clusters.
    cluster_labels: ClusterLabels {
    }

    /// The import of a cluster.
    import: Import {
    }

    /// The check of a user's access.
    access: Access {
    }

    /// Members of projects, clusters and all clusters.
    members: Members {
    }

    /// Roles and their rules.
    roles: Roles {
    }

    /// Projects.
    projects: Projects {
    }

    /// The sign-in page.
    sign_in: SignIn {
    }

    /// The change of the own password.
    password: Password {
    }

    /// The sign-in of a device.
    device: Device {
    }

    /// API tokens.
    tokens: Tokens {
    }

    /// Settings.
    settings: Settings {
    }

    /// The audit log.
    audit: Audit {
    }

    /// The page about this server.
    about: About {
    }

    /// Identity providers.
    providers: Providers {
    }

    /// Users.
    users: Users {
    }

    /// The page of an object.
    object: Object {
    }

    /// What forms share.
    forms: Forms {
    }

    /// Actions on several objects.
    batch: Batch {
    }

    /// The addresses of screens.
    address: Address {
    }

    /// The page for unknown addresses.
    not_found: NotFound {
    }

    /// Requests that failed.
    problems: Problems {
    }

    /// Durations and ages.
    durations: Durations {
    }

    /// States in words.
    states: States {
    }

    /// Pods and containers.
    pods: Pods {
    }

    /// Workloads, jobs and nodes.
    workloads: Workloads {
    }

    /// Conditions of objects.
    conditions: Conditions {
    }

    /// Logs.
    log: Log {
    }

    /// Rights that a user lacks.
    rights: Rights {
    }
}
