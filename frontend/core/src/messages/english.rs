//! English, and the declaration of all messages.
//!
//! Words: buttons are verbs, labels are nouns, help is one short sentence, an empty state says what
//! would be here and how to get it, a state says state, cause and next step. Sentence case.

use super::{LocalTime, Noun, Rich, catalogue, code, strong};
use crate::severity::Severity;

/// `1 user`, `3 users`.
fn counted(count: usize, one: &str, other: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { other })
}

/// `user`.
const fn singular(noun: Noun) -> &'static str {
    match noun {
        Noun::Clusters => "cluster",
        Noun::IdentityProviders => "identity provider",
        Noun::Members => "member",
        Noun::Projects => "project",
        Noun::Roles => "role",
        Noun::Settings => "setting",
        Noun::Tokens => "token",
        Noun::Users => "user",
    }
}

/// `users`.
const fn plural(noun: Noun) -> &'static str {
    match noun {
        Noun::Clusters => "clusters",
        Noun::IdentityProviders => "identity providers",
        Noun::Members => "members",
        Noun::Projects => "projects",
        Noun::Roles => "roles",
        Noun::Settings => "settings",
        Noun::Tokens => "tokens",
        Noun::Users => "users",
    }
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
        save = "Save";
        download = "Download";
        delete_menu = "Delete…";
        delete = "Delete";
        remove = "Remove";
    }

    /// Labels of fields and columns that many screens have.
    labels: FieldLabels {
        never = "never";
        filter_by_state = "Filter by state";
        command = "Command";
        state = "State";
        name = "Name";
        version = "Version";
        nodes = "Nodes";
        cpu = "CPU";
        memory = "Memory";
        pods = "Pods";
        agent = "Agent";
        age = "Age";
        namespace = "Namespace";
        description = "Description";
        labels = "Labels";
        kubernetes = "Kubernetes";
        agent_image = "Agent image";
        last_seen = "Last seen";
        created = "Created";
        uid = "UID";
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
        heading(noun: Noun) -> &'static str = match noun {
            Noun::Clusters => "Clusters",
            Noun::IdentityProviders => "Identity providers",
            Noun::Members => "Members",
            Noun::Projects => "Projects",
            Noun::Roles => "Roles",
            Noun::Settings => "Settings",
            Noun::Tokens => "Tokens",
            Noun::Users => "Users",
        };
        filter_hint(noun: Noun) -> &'static str = match noun {
            Noun::Clusters => "name  env=prod  state:ready  version:1.36  -not",
            Noun::IdentityProviders => "name, protocol, enabled",
            Noun::Members => "name, role, group",
            Noun::Projects => "name, cluster, state",
            Noun::Roles => "name, description, scope",
            Noun::Settings => "name",
            Noun::Tokens => "description, cluster, ID",
            Noun::Users => "name, login, provider, disabled",
        };
        filter(noun: Noun) = format!("Filter {}", plural(noun));
        no_match_title = "No results";
        no_match(noun: Noun) = format!("No {} matches the filter. Remove words or filters.", singular(noun));
        show_all(noun: Noun) = format!("Show all {}", plural(noun));
        all(noun: Noun) = format!("All {}", plural(noun));
        all_listed(count: &str) = format!("{count} in total");
        some_listed(shown: &str, all: &str) = format!("{shown} of {all}");
        forbidden(noun: Noun) = format!("No permission to list {}", plural(noun));
        failed(noun: Noun) = format!("Cannot list {}", plural(noun));
        ask_administrator = "Ask an administrator to do this, or for the global role Administrator.";
        ask_for_role(right: &str) = format!("{right}. Ask an administrator for the role.");
        selected(count: usize) = format!("{count} selected");
        selected_hidden(count: usize, hidden: usize) = format!("{count} selected, {hidden} hidden by the filter");
        clear_selection = "Clear selection";
    }

    /// The list of clusters.
    home: Home {
        import = "Import cluster";
        empty = "No clusters yet";
        empty_advice = "Imported clusters are listed here. Import one here or with this command.";
        no_role = "No role in any cluster";
        no_role_advice = "Clusters in which you have a role are listed here. Ask an administrator for a role.";
        used(taken: &str, total: &str, unit: &str) = format!("{taken} of {total}{unit} used");
        requested(taken: &str, total: &str, unit: &str) = format!("{taken} of {total}{unit} requested");
        cores = " cores";
        used_pods(count: f64, limit: f64) = format!("{count} of {limit}");
    }

    /// The objects of a kind in a cluster.
    kinds: Kinds {
        no_screen(kind: &str) = format!("No screen for {kind}");
        no_screen_advice = "Choose a list above, or use kubectl for other resources.";
        notes = "Notes";
        cordoned = ", cordoned";
        all_namespaces = "All namespaces";
        filter(kind: &str) = format!("Filter {kind}");
        filter_hint = "name  app=web  state:failing  -not";
        wide = "Wide";
        cut = "The first 50,000 objects are shown. Select a namespace to see all of its objects.";
        empty(kind: &str, place: &str) = format!("No {kind} in {place}");
        empty_advice = "New objects appear here automatically.";
        empty_namespace_advice = "New objects appear here automatically. Check the name of the namespace.";
        no_match = "No object matches the filter. Remove words or filters.";
        show_all = "Show all";
        more_namespaces(cluster: &str) = format!("Your project roles in {cluster} apply to these namespaces and more. Type the name of another one above.");
        namespaces(cluster: &str) = format!("Your project roles in {cluster} apply to these namespaces.");
        choose_namespace = "Select a namespace";
        unreachable(cluster: &str, state: &str) = format!("Cannot reach {cluster}: {state}");
        forbidden(kind: &str, namespace: &str) = format!("No permission to list {kind} in {namespace}");
        forbidden_everywhere(kind: &str, cluster: &str) = format!("No permission to list {kind} in all namespaces of {cluster}");
        not_served(cluster: &str, kind: &str) = format!("{cluster} does not serve {kind}");
        not_served_advice(plural: &str, version: &str) = format!("The API of the cluster has no {plural} in {version}. Another Kubernetes version may serve them in another group.");
        agent_refused(cluster: &str) = format!("{cluster} does not accept the agent's credentials");
        agent_refused_advice(cause: &str) = format!("{cause} The API server rejects the agent's service account. Check the log of the agent.");
        failed(kind: &str) = format!("Cannot list {kind}");
        choose_namespace_or_ask = "Type a namespace in which you have a role, or ask an administrator for a role in this cluster.";
        ask_for_role = "Ask an administrator for a role in this cluster that allows it.";
        filter_events = "Filter events";
        filter_events_hint = "words  kind:pod  reason:backoff  -not";
        cut_events = "The newest 2,000 events are shown. Select a namespace to see older ones.";
        filter_by_type = "Filter by type";
        warnings = "warnings";
        normal = "normal";
        no_events = "No recent events";
        no_events_advice = "Kubernetes keeps events for one hour by default. New events appear here automatically.";
        no_match_events = "No event matches the filter. Remove words or filters.";
        show_all_events = "Show all events";
        show_older(count: &str) = format!("Show {count} older");
        older_events(count: usize) = counted(count, "older event", "older events");
        in_namespace(namespace: &str) = format!("in {namespace}");
        warning_prefix = "Warning: ";
        repeated(count: &str, duration: &str) = format!("×{count} in {duration}");
        first_and_last(first: &LocalTime, last: &LocalTime) = format!("First {first}, last {last}");
    }

    /// The page of a cluster.
    cluster: Cluster {
        show_import = "Show import command";
        overview = "Overview";
        resources = "Resources";
        conditions = "Conditions";
        hosts_hub = drover_api::cluster_state::HOSTS_HUB;
        edit_description = "Edit description…";
        description_saved(name: &str) = format!("Saved the description of {name}.");
        description_help = "Shown next to the name. Optional.";
        kubeconfig = "Kubeconfig";
        credential_exec = "The drover command (no secret in the file)";
        credential_token = "A token for this cluster in the file";
        cannot_download = "The browser cannot save files. Use the command.";
        credential = "Credential";
        delete_title = "Delete cluster?";
        deleting(name: &str) = format!("Deleting {name}.");
        delete_effect() -> Rich = Rich::from("Drover removes its agent and its roles from the cluster. Users lose access through Drover, and tokens limited to this cluster are revoked. ")
            + strong("Workloads in the cluster keep running.");
        connected = "connected";
        nodes_ready(ready: u32, total: u32) = format!("{ready} of {total} ready");
        pods(count: f64, capacity: f64) = format!("{count}, capacity {capacity}");
        pod_capacity(capacity: f64) = format!("capacity {capacity}");
        agent(version: &str, protocol: &str, tunnels: u32) = format!("{version}, protocol {protocol}, {}", counted(tunnels as usize, "tunnel", "tunnels"));
        usage_unknown(total: &str, unit: &str) = format!("{total}{unit}, usage unknown");
        requests_unknown(total: &str, unit: &str) = format!("{total}{unit}, requests unknown");
        unhealthy = "unhealthy";
        components = "Components";
        not_found(name: &str) = format!("Cluster {name} not found");
        not_found_advice = "The cluster does not exist, or you have no role in it.";
        navigation = "Cluster";
        workloads = "Workloads";
        check_access = "Check access to this cluster";
    }

    /// The labels of clusters.
    cluster_labels: ClusterLabels {
        labels = "Edit labels…";
        labels_title = "Labels";
        selected(count: usize) = format!("{} selected.", counted(count, "cluster", "clusters"));
        set = "Set";
        set_help = "Example: env=prod team=shop. Existing labels get the new value.";
        none_removable = "The selected clusters have no labels to remove.";
        empty_value = "empty";
        value_on(value: &str, count: usize) = format!("{value} on {count}");
        all_help = "Example: env=prod team=shop. Labels missing here are removed.";
        changed(count: usize) = format!("Changed the labels of {}.", counted(count, "cluster", "clusters"));
        no_changes = "No changes";
        change(count: usize) = format!("Change {}", counted(count, "cluster", "clusters"));
        plan = "Planned changes";
        kubectl_context() -> Rich = Rich::from("kubectl needs the context of the hub: ") + code("drover cluster kubeconfig local --merge");
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
        administrators_only = "Only administrators read the audit log";
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
        too_long(limit: usize, count: usize) = format!("At most {limit} characters. Now {count}.");
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
        offline_title = "The server cannot be reached";
        retrying(cause: &str) = format!("{cause} Retrying automatically.");
    }

    /// Durations and ages.
    durations: Durations {
        ago(age: &str) = format!("{age} ago");
        lasting(age: &str) = format!("for {age}");
    }

    /// States in words.
    states: States {
        unknown = "unknown";
        severity(severity: Severity) -> &'static str = match severity {
            Severity::Failing => "failing",
            Severity::Degraded => "degraded",
            Severity::Progressing => "progressing",
            Severity::Healthy => "healthy",
            Severity::Idle => "idle",
        };
        yes = "yes";
        no = "no";
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
