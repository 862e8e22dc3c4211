//! English, and the declaration of all messages.
//!
//! Buttons are verbs, and labels are nouns. A help text is one short sentence. An empty state
//! explains what the list contains and how to add an item. The text of a state contains the state,
//! the cause and the next step. All texts use sentence case.

use super::{LocalTime, Noun, Rich, Unit, catalogue, code, counted, link, strong};
use drover_api::cluster_state::{Health, NodeProblem, Summary};
use drover_api::kinds::PodSecurity;
use drover_rows::Severity;

/// Returns the singular of a noun: `user`.
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

/// Returns the plural of a noun: `users`.
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
    /// Labels of buttons that several screens use.
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
        discard = "Discard changes";
        edit_menu = "Edit…";
        add = "Add";
        done = "Done";
        disable_menu = "Disable…";
        enable_menu = "Enable…";
        reload = "Reload";
    }

    /// Labels of fields and columns that several screens use.
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
        agent_key = "Agent key";
        agent_image = "Agent image";
        connection = "Connection";
        reports = "Reports";
        node_agents = "Node agents";
        last_seen = "Last seen";
        created = "Created";
        uid = "UID";
        resource = "Resource";
        user = "User";
        cluster = "Cluster";
        choose_cluster = "Select a cluster";
        subject = "Subject";
        role = "Role";
        in_new_tab = " (opens in a new tab)";
        choose_role = "Select a role";
        scope = "Scope";
        kind = "Kind";
        resources = "Resources";
        display_name = "Display name";
        project = "Project";
        namespaces = "Namespaces";
        not_set = "Not set";
        expires = "Expires";
        permissions = "Permissions";
        choose_user = "Select a user";
    }

    /// The components of the crate `drover-ui-kit`.
    kit: Kit {
        why = "Why?";
        type_to_confirm(text: &str) = format!("Type {text} to confirm");
        previous_match = "Previous match (Shift+Enter)";
        next_match = "Next match (Enter)";
        lines_found(count: usize) = match count {
            0 => "No results".to_owned(),
            count => counted(count, "line", "lines"),
        };
        match_of(position: usize, count: usize) = format!("{position} of {count}");
        loading = "Loading…";
        not_copied = "The browser does not allow copying here. Select the text and copy it.";
        copied = "Copied.";
        copy_named(label: &str) = format!("Copy: {label}");
        results = "Results";
        no_results = "No results. Use fewer letters.";
        filter_choices = "Filter the options";
        select_row(name: &str) = format!("Select {name}");
        select_all_rows(count: usize) = format!("Select all {count} listed rows");
        language_browser = "Browser language";
        theme_system = "System theme";
        theme_light = "Light";
        theme_dark = "Dark";
        theme_contrast = "High contrast";
        rows_compact = "Compact rows";
        rows_normal = "Normal rows";
        rows_spacious = "Spacious rows";
    }

    /// The frame around each screen.
    frame: Frame {
        skip = "Skip to content";
        brand = "Drover: all clusters";
        go_to = "Go to…";
        navigation = "Main menu";
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
        breadcrumbs = "Breadcrumbs";
        sign_out_everywhere_title = "Sign out everywhere?";
        stay_signed_in = "Stay signed in";
        sign_out_everywhere = "Sign out everywhere";
        sign_out_everywhere_effect() -> Rich = Rich::from("Signs you out of all browsers, and of all command lines that logged in with ")
            + code("drover login") + ". API tokens and kubeconfig tokens stay valid. List them with "
            + code("drover token list") + ".";
        leave_title = "Discard unsaved changes?";
        leave = "Discard changes";
        stay = "Keep editing";
        leave_effect = "This screen has unsaved changes. Discarded changes cannot be restored.";
        same_command = "Equivalent command:";
        show_command = "Show the equivalent command";
        copy_command = "Copy the command";
    }

    /// The command palette.
    palette: Palette {
        title = "Go to a page or run a command";
        search = "Search for a cluster, a page, a command or an object";
        hint = "Cluster, page, command, object, app=web or image:nginx";
        all_objects(count: usize, kind: &str) = format!("All {count} matches: {kind}");
        skipped(count: usize) = format!("{} not completely searched", counted(count, "cluster is", "clusters are"));
        not_connected = "The cluster is not connected.";
        above_limit(most: usize) = format!("The palette searches at most {most} clusters. Use the lists of all clusters, or drover search.");
        truncated = "The cluster has more objects than the server searches. Use the lists of the cluster.";
        theme(name: &str) = format!("Theme: {name}", name = name.to_lowercase());
        language(name: &str) = format!("Language: {name}");
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

    /// Saved views.
    views: Views {
        menu = "Views";
        menu_help = "save and open";
        save_menu = "Save this view…";
        save_title = "Save view";
        manage_menu = "Manage views…";
        manage_title = "Saved views";
        manage_help = "A view opens a page with its filters and its sort order.";
        empty = "No saved views. Open a list, set its filters, and choose “Save this view…”.";
        of_user(name: &str, owner: &str) = format!("{name} ({owner})");
        visible_to = "Visible to";
        private = "Only you";
        members_of(project: &str) = format!("Members of project {project}");
        everyone = "All users";
        copy_link_of(name: &str) = format!("Copy link of {name}");
        edit(name: &str) = format!("Edit {name}");
        edit_title = "Edit view";
        delete(name: &str) = format!("Delete {name}");
        delete_title(name: &str) = format!("Delete the view {name}?");
        delete_effect = "Users with whom you share the view can no longer open it from their menus. Links continue to work.";
        saved(name: &str) = format!("Saved the view {name}");
        deleted(name: &str) = format!("Deleted the view {name}");
        kind = "view";
    }

    /// Messages about the session and its end.
    session: Session {
        server_offline = "The server does not respond";
        sign_in_first = "Sign in first.";
        signed_out_everywhere = "You are signed out of all browsers and command lines.";
        signed_out = "You are signed out.";
        ended = "Your session has ended. Unsaved changes are lost. Sign in to return to this page.";
        signed_in_at_provider(provider: &str) = format!("You are signed out of Drover, but your session at {provider} continues. To end the session, sign out at {provider}.");
    }

    /// A part of the program that the browser could not load.
    chunk: Chunk {
        failed = "Cannot load this page";
        advice = "Check your network connection, and try again. If the server was upgraded, reload the page.";
    }

    /// The freshness of the data on a screen.
    freshness: Freshness {
        connecting = "connecting";
        live = "live";
        stale_since(time: &LocalTime) = format!("stale since {time}");
        stale(time: &LocalTime, cause: &str) = format!("The data was loaded at {time}. {cause} Retrying automatically.");
        missing(problem: &str, cause: &str) = format!("{problem} {cause} Retrying automatically.");
    }

    /// Texts that all lists use.
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
        filter(noun: Noun) = format!("Filter {objects}", objects = plural(noun));
        no_match_title = "No results";
        no_match(noun: Noun) = format!("No {object} matches the filter. Remove words or filters.", object = singular(noun));
        show_all(noun: Noun) = format!("Show all {objects}", objects = plural(noun));
        all(noun: Noun) = format!("All {objects}", objects = plural(noun));
        all_listed(count: &str) = format!("{count} in total");
        some_listed(shown: &str, all: &str) = format!("{shown} of {all}");
        forbidden(noun: Noun) = format!("No permission to list {objects}", objects = plural(noun));
        failed(noun: Noun) = format!("Cannot list {objects}", objects = plural(noun));
        ask_administrator = "Ask an administrator to do this action, or to grant you the global role Administrator.";
        ask_for_role(requirement: &str) = format!("{requirement}. Ask an administrator for the role.");
        selected(count: usize) = format!("{count} selected");
        selected_hidden(count: usize, hidden: usize) = format!("{count} selected, {hidden} hidden by the filter");
        clear_selection = "Clear selection";
    }

    /// The list of clusters.
    home: Home {
        import = "Import cluster";
        empty = "No clusters yet";
        empty_advice = "Imported clusters are listed here. To import a cluster, press “Import cluster” or run this command.";
        no_role = "No role in any cluster";
        no_role_advice = "Clusters in which you have a role are listed here. Ask an administrator for a role.";
        used(used: &str, total: &str) = format!("{used} of {total} used");
        requested(requested: &str, total: &str) = format!("{requested} of {total} requested");
        used_pods(pods: f64, limit: f64) = format!("{pods} of {limit}");
        summary = "All clusters";
        no_problems = "The clusters report no problems.";
        unhealthy(count: usize) = format!("{} not ready", counted(count, "cluster", "clusters"));
        not_ready_nodes(count: usize) = format!("{} not ready", counted(count, "node", "nodes"));
        failing_pods(count: usize) = format!("{} failing", counted(count, "pod", "pods"));
        unschedulable_pods(count: usize) = format!("{} unschedulable", counted(count, "pod", "pods"));
    }

    /// The page with the problems of all clusters.
    problems_page: ProblemsPage {
        title = "Problems";
        nodes = "Nodes and certificates";
        capacity = "Little capacity left";
        share(resource: &str, percent: &str) = format!("{} {percent} %", match resource {
            "cpu" => "CPU",
            "memory" => "memory",
            _ => "pods",
        });
        rollouts = "Rollouts of the last 24 hours";
        none = "No problems";
        none_advice = "Problems of clusters, nodes, certificates, workloads and pods appear here automatically.";
        incomplete = "The list of problems is incomplete.";
        part(read: usize, all: usize) = format!("This page reads the objects of {read} of {all} clusters: the clusters whose agents report problems.");
        more(count: usize) = format!("{count} more");
    }

    /// The navigation between the kinds of a cluster.
    navigation: Navigation {
        network = "Network";
        configuration = "Configuration";
        storage = "Storage";
        access = "Access";
        custom = "Custom resources";
        leave = "All clusters";
        everywhere = "In all clusters";
        loading = "Loading kinds…";
        failed = "Cannot load the kinds of this cluster.";
    }

    /// The lists of Kubernetes objects in a cluster.
    kinds: Kinds {
        no_screen(kind: &str) = format!("No page for {kind}");
        no_screen_advice = "Select a list above, or use kubectl for this resource.";
        notes = "Notes";
        and_others(names: &str, others: usize) = format!("{names} and {others} more");
        usage_range(lowest: &str, highest: &str, period: &str) = format!("Lowest {lowest}, highest {highest} in the last {period}");
        usage_not_installed(clusters: &str) = format!("No usage of CPU and memory in {clusters}. Install metrics-server there.");
        usage_forbidden(plural: &str, clusters: &str) = format!("No usage of CPU and memory in {clusters}. Requires the permission to list {plural}.metrics.k8s.io.");
        usage_failed(clusters: &str, reason: &str) = format!("No usage of CPU and memory in {clusters}: {reason}");
        cordoned = ", cordoned";
        all_namespaces = "All namespaces";
        filter(kind: &str) = format!("Filter {kind}");
        filter_hint = "name  app=web  state:failing  -not";
        wide = "All columns";
        cut(clusters: &str) = format!("The list of {clusters} is incomplete, because the server has reached a memory limit for lists. Select a namespace.");
        empty(kind: &str, scope: &str) = format!("No {kind} in {scope}");
        empty_advice = "New objects appear here automatically.";
        empty_everywhere(kind: &str) = format!("No {kind} in these clusters");
        in_clusters(count: usize) = counted(count, "cluster", "clusters");
        filter_clusters = "Filter clusters";
        filter_clusters_hint = "env=prod  name";
        no_clusters = "No cluster matches";
        no_clusters_advice = "Change the filter of clusters. Clusters that wait for their agent are not listed.";
        missing_clusters(count: usize) = format!("The list is incomplete: {} missing.", counted(count, "cluster is", "clusters are"));
        missing_cluster(cluster: &str, reason: &str) = format!("{cluster}: {reason}");
        empty_namespace_advice = "Check the name of the namespace. New objects appear here automatically.";
        no_match = "No object matches the filter. Remove words or filters.";
        show_all = "Show all";
        more_namespaces(cluster: &str) = format!("This list is incomplete: you have project roles in more namespaces of {cluster}. To select another namespace, type its name above.");
        namespaces(cluster: &str) = format!("Your project roles in {cluster} apply to these namespaces.");
        choose_namespace = "Select a namespace";
        unreachable(cluster: &str, state: &str) = format!("Cannot reach {cluster}: {state}");
        forbidden(kind: &str, namespace: &str) = format!("No permission to list {kind} in {namespace}");
        forbidden_everywhere(kind: &str, cluster: &str) = format!("No permission to list {kind} in all namespaces of {cluster}");
        not_served(cluster: &str, kind: &str) = format!("{cluster} does not serve {kind}");
        not_served_advice(plural: &str, version: &str) = format!("The API of the cluster does not serve {plural} in {version}. A different Kubernetes version may serve {plural} in a different API group.");
        agent_refused(cluster: &str) = format!("{cluster} does not accept the agent's credentials");
        agent_refused_advice(cause: &str) = format!("{cause} The API server rejects the agent's service account. Check the log of the agent.");
        failed(kind: &str) = format!("Cannot list {kind}");
        choose_namespace_or_ask = "Type a namespace in which you have a role, or ask an administrator for a role in this cluster.";
        ask_for_role = "Ask an administrator for a role in this cluster that allows this request.";
        filter_events = "Filter events";
        filter_events_hint = "words  kind:pod  reason:backoff  -not";
        filter_by_type = "Filter by type";
        warnings = "warnings";
        normal = "normal";
        no_events = "No recent events";
        no_events_advice = "Kubernetes keeps events for one hour by default. New events appear here automatically.";
        no_match_events = "No event matches the filter. Remove words or filters.";
        show_all_events = "Show all events";
        show_older(count: &str) = format!("Show older events ({count})");
        show_newer = "Show newer events";
        older_events(count: usize) = counted(count, "older event", "older events");
        in_namespace(namespace: &str) = format!("in {namespace}");
        warning_prefix = "Warning: ";
        repeated(count: &str, duration: &str) = format!("×{count} in {duration}");
        first_and_last(first: &LocalTime, last: &LocalTime) = format!("First: {first}, last: {last}");
        read_of(loaded: &str, total: &str) = format!("Loading: {loaded} of about {total}");
        read_so_far(loaded: &str) = format!("Loading: {loaded}");
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
        description_help = "Shown next to the cluster's name. Optional.";
        kubeconfig = "Kubeconfig";
        credential_exec = "Command “drover credential” (the file contains no secret)";
        credential_token = "Token for this cluster (the file contains the token)";
        credential_direct = "Token with direct access to the API servers (the file contains the token)";
        cannot_download = "The browser cannot save files. Run the command that the page shows.";
        credential = "Credential";
        delete_title = "Delete cluster?";
        deleting(name: &str) = format!("Deleting {name}.");
        delete_effect() -> Rich = Rich::from("Drover removes its agent and its roles from the cluster. Users lose access through Drover, and tokens limited to this cluster are revoked. ")
            + strong("Workloads in the cluster keep running.");
        connected = "connected";
        nodes_ready(ready: u32, total: u32) = format!("{ready} of {total} ready");
        pods(pods: f64, capacity: f64) = format!("{pods}, capacity {capacity}");
        pod_capacity(capacity: f64) = format!("capacity {capacity}");
        agent(version: &str, protocol: &str, tunnels: u32) = format!("{version}, protocol {protocol}, {tunnels}", tunnels = counted(tunnels as usize, "tunnel", "tunnels"));
        cluster_agent = "agent";
        node_agent(node: &str) = format!("node agent on {node}");
        connection(agent: &str, time: &str, reason: &str) = format!("{agent}, for {time} ({reason})");
        switch(agent: &str, time: &str, reason: &str) = format!("{time} ago: {agent} ({reason})");
        key_bound(time: &str) = format!("bound {time} ago");
        rotate_keys_menu = "Rotate keys…";
        rotate_keys_title = "Rotate keys of the agents?";
        rotate_keys_effect = "Replaces the keys of the agent and of the node agents. Open streams continue.";
        rotate_keys = "Rotate keys";
        keys_requested(name: &str) = format!("Requested new keys for the agents of {name}.");
        node_agent_not_registered(node: &str) = format!("{node} (not registered)");
        switches = "Switches between agents";
        usage_unknown(total: &str) = format!("{total}, usage unknown");
        requests_unknown(total: &str) = format!("{total}, requests unknown");
        unhealthy = "unhealthy";
        components = "Components";
        kubelet = "Kubelet";
        node_agent_version = "Node agent";
        problems = "Problems";
        some_nodes(shown: usize, total: u32) = format!("{shown} of {total} nodes are listed: control-plane nodes first, then nodes with problems.");
        not_found(name: &str) = format!("Cluster {name} not found");
        not_found_advice = "The cluster does not exist, or you have no role in it.";
        navigation = "Cluster";
        workloads = "Workloads";
        check_access = "Check access to this cluster";
    }

    /// The states of clusters and their nodes.
    cluster_states: ClusterStates {
        health(health: Health) -> &'static str = health.label();
        summary(summary: &Summary) = summary.to_string();
        node_problem(problem: &NodeProblem) = problem.to_string();
    }

    /// The authorized endpoint of a cluster.
    endpoint: Endpoint {
        title = "Authorized endpoint";
        purpose = "Direct access: users send requests to the API servers of the cluster, without Drover's server.";
        disabled = "disabled";
        disabled_help = "The API servers accept no tokens of Drover. Enable the endpoint to allow direct access.";
        load_balancer = "Load balancer";
        offline_limit = "Offline limit";
        api_servers = "API servers";
        no_api_servers = "No API servers yet. Node agents on control-plane nodes report their API server.";
        calls_webhook = "Calls the webhook";
        failed = "Cannot read the authorized endpoint.";
        enable = "Enable";
        enable_effect = "The server writes hashes of the tokens that are limited to this cluster into the cluster. After this step, set up the API servers.";
        enabled(name: &str) = format!("Enabled the authorized endpoint of {name}. Set up the API servers.");
        saved(name: &str) = format!("Saved the authorized endpoint of {name}.");
        load_balancer_help = "Host name, optionally with a port. Empty: kubeconfigs contain each control-plane node.";
        ca_bundle_help = "PEM. Certificate authorities of the load balancer. Empty: certificate authority of the cluster.";
        offline_help = "The cluster accepts the tokens for this time while it is not connected. 5m to 30d. Empty: 1d.";
        offline_range = "At least 5m, at most 30d.";
        disable_title = "Disable authorized endpoint?";
        disable = "Disable";
        disable_effect = "The server removes the tokens from the cluster. The API servers refuse direct requests after the time of their cache. If the cluster is not connected, the API servers accept the tokens until the next connection, at the latest until the end of the offline limit. Requests through the server still work.";
        disabled_endpoint(name: &str) = format!("Disabled the authorized endpoint of {name}.");
        set_up_menu = "Set up…";
        set_up_title = "Set up API servers";
        set_up_help = "Do these steps on each control-plane node, one node after the other.";
        managed_services = "Managed Kubernetes services such as EKS, GKE and AKS do not support the authorized endpoint. The provider does not permit flags of the API server.";
        no_webhook_config = "The server has not written the tokens into the cluster yet. The steps appear here after this.";
        distribution = "Distribution";
        write_webhook = "Write the webhook configuration";
        write_webhook_help(file: &str) -> Rich = Rich::from("The command writes the file ") + code(file.to_owned()) + ". The file contains no secret.";
        add_flags = "Add the flags of the API server";
        add_flags_help(file: &str) -> Rich = Rich::from("Add these lines to the command in ") + code(file.to_owned())
            + ". The kubelet then restarts the API server. Add the flags also to " + code("apiServer.extraArgs")
            + " in the ConfigMap " + code("kubeadm-config") + ", so that " + code("kubeadm upgrade") + " keeps the flags.";
        set_flags = "Set the flags of the API server";
        set_flags_help(file: &str) -> Rich = Rich::from("The command writes the file ") + code(file.to_owned()) + ".";
        restart = "Restart the API server";
        restart_help = "The API server reads the flags at its start.";
        checks = "Node agents check each API server every 15 seconds. This page updates automatically.";
    }

    /// The dialogs that change labels of clusters.
    cluster_labels: ClusterLabels {
        labels = "Edit labels…";
        labels_title = "Labels";
        selected(count: usize) = format!("{clusters} selected.", clusters = counted(count, "cluster", "clusters"));
        set = "Set";
        set_help = "Example: env=prod team=shop. Existing labels get the new value.";
        none_removable = "The selected clusters have no labels to remove.";
        empty_value = "empty";
        value_on(value: &str, count: usize) = format!("{value} on {clusters}", clusters = counted(count, "cluster", "clusters"));
        all_help = "Example: env=prod team=shop. Labels that this field does not contain are removed.";
        changed(count: usize) = format!("Changed the labels of {clusters}.", clusters = counted(count, "cluster", "clusters"));
        no_changes = "No changes";
        change(count: usize) = format!("Change {clusters}", clusters = counted(count, "cluster", "clusters"));
        plan = "Planned changes";
        kubectl_context() -> Rich = Rich::from("Before you run the command, add the context of the hub to your kubeconfig: ") + code("drover cluster kubeconfig local --merge");
        not_key_value(text: &str) = format!("“{text}” does not have the form key=value.");
        reserved(text: &str) = format!("“{text}” is reserved for Drover. Use another prefix.");
        duplicate(text: &str) = format!("Duplicate key “{text}”.");
        no_name(text: &str) = format!("“{text}” has no name after the prefix.");
        bad_prefix(key: &str, prefix: &str) = format!("The prefix “{prefix}” of “{key}” must be a domain such as example.com.");
        key_too_long(key: &str, limit: usize) = format!("The key “{key}” is too long: at most {limit} characters without the prefix.");
        bad_key(key: &str) = format!("The key “{key}” is invalid: use letters, digits, “-”, “_” and “.”, with a letter or digit at both ends.");
        value_too_long(key: &str, limit: usize) = format!("The value of “{key}” is too long: at most {limit} characters.");
        bad_value(key: &str, value: &str) = format!("The value “{value}” of “{key}” is invalid: use letters, digits, “-”, “_” and “.”, with a letter or digit at both ends.");
        set_and_removed(key: &str) = format!("The dialog both sets and removes the label “{key}”. Remove one of the entries.");
        already_set(label: &str, count: usize) = format!("{label} is already set on {clusters}", clusters = counted(count, "cluster", "clusters"));
        changes(label: &str, count: usize, previous_values: &str) = format!("changes the label to {label} on {clusters} ({previous_values})", clusters = counted(count, "cluster", "clusters"));
        sets(label: &str, count: usize) = format!("sets {label} on {clusters}", clusters = counted(count, "cluster", "clusters"));
        sets_and_changes(label: &str, new: usize, changed: usize, previous_values: &str) = format!("sets {label} on {clusters}, changes the label on {changed} ({previous_values})", clusters = counted(new, "cluster", "clusters"));
        and_already_set(count: usize) = format!("; already set on {count}");
        not_present(key: &str) = format!("no selected cluster has the label {key}");
        removes(key: &str, count: usize, previous_values: &str) = format!("removes {key} from {clusters} ({previous_values})", clusters = counted(count, "cluster", "clusters"));
        and_without(count: usize) = format!("; {count} without this label");
        before(values: &str) = format!("before: {values}");
    }

    /// The screen that imports a cluster.
    import: Import {
        forbidden = "No permission to import clusters";
        purpose(cluster: &str) = format!("The import command connects the cluster {cluster} to this server.");
        new_token = "Each command has its own token. The tokens of earlier commands stay valid until they expire.";
        create_command = "Create command";
        name_help = "Lowercase letters, digits and “-”. The name cannot be changed.";
        labels_help = "Example: env=prod team=shop. Optional.";
        next = "Create cluster and show command";
        run_command = "Run this command with a kubeconfig of the cluster";
        download = "Download manifest";
        token_note(expires: &LocalTime) = format!("The command and the manifest contain a token. The token registers this cluster once, expires at {expires}, and is not shown again.");
        ready = "The cluster is connected.";
        waiting = "Waiting for the agent. Updates automatically.";
        incomplete = "The agent is registered, but the cluster is not ready:";
        deleting = "The cluster is being deleted.";
        status = "Status";
        open_cluster = "Open cluster";
    }

    /// The access check.
    access: Access {
        why = "Why do I not have this permission?";
        title = "Check access";
        verb = "Verb";
        verb_help = "Example: get, list, create, delete.";
        resource_help = "As in kubectl: pods, po, pods/log, deployments.apps, or a path such as /metrics.";
        object = "Object";
        object_help = "Name of the object. Empty: all objects.";
        namespace_help = "Empty: all namespaces and cluster-scoped objects.";
        user_help(wildcard: &str) = format!("User name. Empty: yourself. {wildcard}: all users.");
        check = "Check access";
        binding = "Binding";
        denied_user = "No role of this user in this cluster allows this request. A cluster owner or an administrator can grant a role.";
        denied = "No role granted in this cluster allows this request.";
        more = "The list is incomplete. It contains only the first 500 bindings.";
        bindings = "Bindings";
        user_denied(user: &str) = format!("{user} is not allowed to send this request");
        user_unknown(user: &str) = format!("{user} may be allowed to send this request");
        user_allowed(user: &str) = format!("{user} is allowed to send this request");
        all_denied = "No user is allowed to send this request";
        all_unknown = "Some users may be allowed to send this request";
        all_allowed = "Users who are allowed to send this request";
        resource_name(name: &str) = format!("Resource: {name}");
        resource_unresolved(name: &str, cause: &str) = format!("Resource: {name} (built in to Kubernetes). Cannot read the resources of the cluster: {cause}.");
        bindings_unknown(cause: &str) = format!("Cannot read the RoleBindings of the cluster: {cause}.");
        own_rule = "rule of this role";
        cluster_role(name: &str) = format!("ClusterRole {name} of Kubernetes");
        unknown_cluster_role(name: &str) = format!("unknown; depends on the ClusterRole {name} in the cluster");
    }

    /// The lists of members of projects, clusters and all clusters.
    members: Members {
        grant = "Grant role";
        roles_missing = "Cannot read the roles. You can grant and remove roles after the list of roles is loaded.";
        empty = "No members";
        empty_advice = "Users and groups appear here when a role is granted to them. Administrators and members of all clusters have access without an entry in this list.";
        membership(role: &str, subject: &str) = format!("{role} from {subject}");
        granted = "Granted";
        remove(membership: &str) = format!("Remove {membership}");
        grant_in_cluster(name: &str) = format!("Grant role in cluster {name}");
        grant_in_project(name: &str) = format!("Grant role in project {name}");
        grant_everywhere = "Grant global role";
        granted_to(subject: &str) = format!("Granted the role to {subject}.");
        grant_limit = "You can grant only permissions that you have.";
        show_role = "Show permissions of this role";
        remove_effect_in_cluster(subject: &str, name: &str) = format!("{subject} loses the permissions of this role in the cluster {name} within seconds. Open watches, logs and shells that need these permissions are closed. Other roles of {subject} stay.");
        remove_effect_in_project(subject: &str, name: &str) = format!("{subject} loses the permissions of this role in the project {name} within seconds. Open watches, logs and shells that need these permissions are closed. Other roles of {subject} stay.");
        remove_effect_everywhere(subject: &str) = format!("{subject} loses the permissions of this role on the hub and in all clusters within seconds. Open watches, logs and shells that need these permissions are closed. Other roles of {subject} stay.");
        removed(subject: &str) = format!("Removed the role from {subject}.");
        remove_title(role: &str, subject: &str) = format!("Remove {role} from {subject}?");
        remove_role = "Remove role";
        subject_help = "User name, or group name in the form drover:<provider>:<id>.";
        choose_user = "Select one of the users with this name.";
        searching_users = "Searching for users with this name…";
        search_failed(cause: &str) = format!("Cannot search for users with this name. {cause}");
        user_found(user: &str, count: usize) = match count {
            0 => format!("{user}."),
            1 => format!("{user}. One more user has this name."),
            count => format!("{user}. {count} more users have this name."),
        };
        users_found(count: usize) = match count {
            0 => "No user has this name. Drover creates a user of an identity provider at the first sign-in.".to_owned(),
            1 => "No user has this user name, but one user has this login name. Select the user.".to_owned(),
            count => format!("{count} users have this name. Select a user."),
        };
        local_password = "local password";
        with_local_password(user: &str) = format!("{user}, local password");
        group_members = "all members of this group";
    }

    /// The screens of roles and their rules.
    roles: Roles {
        bindings = "Bindings";
        delete_title(role: &str) = format!("Delete role {role}?");
        deleted(role: &str) = format!("Deleted role {role}.");
        global_roles = "Global roles";
        global_members_help = "A global role applies to the hub and to all clusters. Administrators without a global role are not listed.";
        all_roles = "All roles";
        actions = "Role actions";
        create = "Create role";
        create_global = "Create global role";
        empty = "No roles";
        empty_advice = "The server creates the built-in roles within seconds. The list updates automatically.";
        not_found(name: &str) = format!("Role {name} not found");
        forbidden = "No permission to read this role";
        failed = "Cannot read the role";
        no_rules = "No rules.";
        rules_of(scope: &str) = format!("Rules: {scope}");
        api_groups = "API groups";
        resources_or_paths = "Resources or paths";
        other_verbs = "Other verbs";
        names = "Names";
        add_rule = "Add rule";
        add_paths = "Add path rule";
        merge_rules = "Merge rules";
        paths = "Paths";
        remove_rule(rule: &str) = format!("Remove rule {rule}");
        verb(verb: &str, rule: &str) = format!("{verb}: {rule}");
        implied_verb(verb: &str, rule: &str) = format!("{verb}, included in *: {rule}");
        field_of_rule(field: &str, rule: &str) = format!("{field}: {rule}");
        conflict = "Edit conflict";
        conflict_help = "Another user changed this role. Your changes are shown, but not saved.";
        field = "Field";
        before = "Before your edit";
        now = "Now";
        overwrite = "Overwrite with my changes";
        discard_mine = "Discard mine, load the newer version";
        in_clusters = "Clusters";
        in_projects = "Projects";
        rules_moved(count: usize) = match count {
            1 => "A role for clusters has no separate rules for the project's cluster, so one rule was moved. Select “Projects” to restore the rule.".to_owned(),
            count => format!("A role for clusters has no separate rules for the project's cluster, so {count} rules were moved. Select “Projects” to restore the rules."),
        };
        created(role: &str) = format!("Created role {role}.");
        built_in_help = "Built-in roles cannot be changed. Copy this role, or create a role that inherits from this role.";
        inherited_by = "Inherited by";
        saved(role: &str) = format!("Saved role {role}.");
        unsaved_changes = "Unsaved changes";
        discard_title = "Discard changes?";
        discard_effect = "The stored role is loaded. Discarded changes cannot be restored.";
        effective_rules = "Effective permissions, including inherited roles";
        yaml_help = "The spec of the role. Comments are deleted when you edit a field outside the YAML.";
        yaml = "YAML";
        yaml_error(line: usize, message: &str) = format!("Line {line}: {message}");
        rules = "Rules";
        views = "Role editor";
        yaml_invalid = "The YAML is invalid. The fields show the last valid version. Correct the YAML to edit them.";
        hub_namespaces = "The role also has rules for individual namespaces of the hub. Only the YAML shows these rules.";
        cluster_roles = "ClusterRoles of the cluster, such as view";
        inherits = "Inherited roles";
        granted_everywhere = "Roles granted in all clusters";
        no_roles = "No roles.";
        roles_missing = "Cannot read the roles. You can add roles after the list of roles is loaded.";
        add_role = "Add role";
        remove_role(name: &str) = format!("Remove {name}");
        everywhere = "All clusters";
        locked = "locked";
        built_in = "built-in";
        custom = "custom";
        delete_effect(bindings: Option<u32>) = match bindings {
            None => "Users with this role lose the permissions of the role within seconds. Open watches, logs and shells that need these permissions are closed.".to_owned(),
            Some(0) => "No binding uses this role.".to_owned(),
            Some(1) => "1 binding uses this role. Users lose the permissions of the role within seconds. Open watches, logs and shells that need these permissions are closed.".to_owned(),
            Some(count) => format!("{count} bindings use this role. Users lose the permissions of the role within seconds. Open watches, logs and shells that need these permissions are closed."),
        };
        on_hub = "Hub";
        in_whole_cluster = "Cluster";
        in_project_namespaces = "Namespaces of the project";
        in_project_cluster = "Cluster of the project";
        in_cluster = "Cluster";
        in_every_cluster = "All clusters";
        locked_help = "Locked: the role cannot be granted";
        new_user_default = "Grant this role to new users at their first sign-in";
        page_outdated(field: &str) = format!("The server is newer than this page. Saving would lose the unknown field {field}. Reload the page to edit or copy this role.");
        external(name: &str) = format!("all rules of the ClusterRole {name} in the cluster");
        named(names: &str) = format!(" named {names}");
        unknown_field(path: &str) = format!("unknown field {path}");
        empty_rule = "empty rule";
        inherit = "Create derived role";
        inherited_help(roles: &str) = format!("This role cannot be deleted while other roles inherit it: {roles}.");
        binding_count(count: u32) = counted(count as usize, "binding", "bindings");
    }

    /// The screens of projects.
    projects: Projects {
        create = "Create project";
        empty = "No projects yet";
        empty_for_user = "No projects in which you have a role";
        empty_advice = "A project is a set of namespaces with members and quotas. Create a project here, or ask an administrator for a role in a project.";
        namespaces_ready(ready: usize, total: usize) = format!("{ready} of {total}");
        delete_title(name: &str) = format!("Delete project {name}?");
        deleting(name: &str) = format!("Deleting project {name}.");
        delete_effect() -> Rich = Rich::from("Members lose the permissions of their roles in this project, and its quotas are removed. ")
            + strong("The namespaces and their workloads stay in the cluster") + ", without a project.";
        pod_security_level(level: PodSecurity) -> &'static str = match level {
            PodSecurity::Privileged => "Privileged: no restrictions",
            PodSecurity::Baseline => "Baseline: blocks known privilege escalations",
            PodSecurity::Restricted => "Restricted: hardened pods only",
        };
        created(name: &str) = format!("Created project {name}.");
        cluster_help = "The cluster of the project's namespaces. The cluster cannot be changed.";
        pod_security_unset = "Default of the cluster";
        display_name_help = "Shown instead of the name. Optional.";
        description_help = "Purpose of the project. Optional.";
        created_namespaces = "Namespaces to create";
        created_namespaces_help = "One per line. Namespaces removed from the project stay in the cluster.";
        adopted_namespaces = "Namespaces to adopt";
        adopted_namespaces_help = "Existing namespaces, one per line.";
        quota = "Quota";
        project_total = "Project total";
        per_namespace = "Per namespace";
        defaults = "Default requests and limits";
        request = "Request";
        limit = "Limit";
        pod_security = "Pod security";
        edit_title = "Edit project";
        saved(name: &str) = format!("Saved project {name}.");
        conflict = "Another user changed the project. Your changes are not saved. The form now contains your changes and the changes of the other user. Check the form and save again.";
        not_found(name: &str) = format!("Project {name} not found");
        not_found_advice = "The project does not exist, or you have no role in it.";
        no_namespaces = "No namespaces. Edit the project to add a namespace.";
        resource_help = "Resource name as in a ResourceQuota, such as services.";
        resource_pending = "Add the resource or clear this field before saving.";
        resource_duplicate = "Duplicate; clear this field.";
        add_resource = "Additional resource";
        amount_of(resource: &str, amount: &str) = format!("{resource}: {amount}", amount = amount.to_lowercase());
        own_namespace = "ready";
        pending_namespace = "pending";
        leaving_namespace = "being removed";
        quantity_help = "Example: 500m, 2, 512Mi, 10Gi.";
        part_namespace(name: &str) = format!("Namespace {name}");
        part_quota(name: &str) = format!("Quota of {name}, project total");
        part_namespace_quota(name: &str) = format!("Quota of {name}, per namespace");
        part_request(name: &str) = format!("Default {name} request");
        part_limit(name: &str) = format!("Default {name} limit");
        part_changed(field: &str, new_value: &str, old_value: &str) = format!("{field}: {new_value}, before: {old_value}");
        part_set(field: &str, new_value: &str) = format!("{field}: {new_value}");
        part_removed(field: &str) = format!("{field}: removed");
        part_yours(value: Option<&str>) = format!("; your value: {value}", value = value.unwrap_or("removed"));
        adopted = "adopted";
        to_create = "created";
    }

    /// The sign-in page.
    sign_in: SignIn {
        local_user = "Sign in as a local user";
        with_provider(provider: &str) = format!("Sign in with {provider}");
        bad_address = "the browser rejects the sign-in address";
        sign_in = "Sign in";
        with_password_of(provider: &str) -> Rich = Rich::from("Enter your user name and password of ") + strong(provider.to_owned()) + ".";
        user_name = "User name";
        password = "Password";
        providers_unknown(cause: &str) = format!("Cannot read the identity providers: {cause}");
    }

    /// The form that changes the user's own password.
    password: Password {
        choose = "Choose a password";
        choose_help = "The initial password is valid only for this step. Choose a new password.";
        sign_out_instead = "Sign out";
        at_provider_help = "Change your password at the identity provider.";
        at_provider(provider: &str) = format!("You sign in with {provider}");
        effect = "Your sessions in other browsers and in command lines end. This session continues.";
        differs = "The passwords differ.";
        changed = "Changed your password.";
        current = "Current password";
        new_password = "New password";
        repeat = "Repeat new password";
    }

    /// The approval of a CLI login.
    device: Device {
        title = "Approve a CLI login";
        help = "Type the code that drover login shows. The next step shows the request before you approve it.";
        code = "Code";
        code_help = "Example: BCDF-GHJK.";
        show_request = "Show request";
        request = "Login request";
        source = "Source address";
        requested = "Requested";
        warning(user: &str) -> Rich = Rich::from("The command line that sent this request will get all permissions of ") + strong(user.to_owned()) + ". Approve the request only if you started this login.";
        approve = "Approve";
        reject = "Reject";
        approved = "Approved";
        approved_help = "The command line is signed in within seconds. The list of your tokens then contains its token.";
        your_tokens = "Your tokens";
        rejected = "Rejected";
        rejected_help(expires: &LocalTime, source: &str) -> Rich = Rich::from(format!("The login was not approved. The code expires at {expires}. If you did not start this login, report the address ")) + code(source.to_owned()) + " to an administrator.";
    }

    /// The screen of API tokens.
    tokens: Tokens {
        session = "login";
        password_change = "password change";
        api = "API";
        session_help = "Created by drover login.";
        browser_help = "Browser session.";
        password_change_help = "Allows only a password change.";
        api_help = "Used by programs.";
        kubeconfig_help = "Stored in a kubeconfig.";
        credential_help = "Used by kubectl, created by drover credential or for a kubectl shell.";
        session_end = "The command line is signed out.";
        browser_end = "The browser is signed out.";
        password_change_end = "The user must sign in again to change the password.";
        api_end = "Programs with this token lose access.";
        kubeconfig_end = "kubectl loses access with this kubeconfig.";
        credential_end = "kubectl requests a new token if the login on the command line is still valid. A kubectl shell loses its access.";
        browser = "browser";
        kubeconfig = "kubeconfig";
        kubectl = "kubectl";
        create = "Create token";
        filter_by_purpose = "Filter by purpose";
        mine_only = "Only my tokens";
        empty = "No tokens";
        empty_advice = "Programs sign in with tokens. Create a token here or with this command.";
        lifetime_help(default: &str, limit: &str) = format!("Example: 30d, 12h. Empty: {default}. At most {limit} (setting token-max-ttl).");
        lifetime_help_unknown = "Example: 30d, 12h. Empty: default of the server. The setting token-max-ttl is the limit.";
        create_help = "The token has your permissions until it expires. The token is shown once.";
        description_help = "Example: backup job. Administrators can read the description.";
        lifetime = "Lifetime";
        all_clusters = "all your clusters";
        scope_help = "Limits the token to one cluster. Empty: all your clusters.";
        only_cluster(name: &str) = format!("only cluster {name}");
        stored = "I stored the token";
        copy_now = "Copy the token now. Drover stores only its hash and cannot show it again.";
        token = "Token";
        usage = "Usage";
        purpose = "Purpose";
        last_used = "Last used";
        this_session = "this session";
        everywhere = "all clusters";
        expired(time: &str) = format!("expired {time}");
        expires_soon(time: &str) = format!("expires soon: {time}");
        delete_named(name: &str) = format!("Delete {name}");
        delete_and_sign_out = "Delete and sign out";
        delete_effect = "The tokens are rejected immediately. Open watches, logs and shells close within seconds. Deleted tokens cannot be restored.";
        delete_own = "The selection includes the session of this browser. If you delete this session, you are signed out.";
        delete_title(count: usize) = format!("Delete {}?", counted(count, "token", "tokens"));
        deleted(count: usize) = format!("Deleted {}.", counted(count, "token", "tokens"));
        more(count: usize) = format!("and {count} more");
    }

    /// The screen of settings.
    settings: Settings {
        address_and_agent = "Address and agent";
        token_lifetimes = "Token lifetimes";
        logs = "Logs";
        other = "Other settings";
        no_bounds = "";
        unknown = "Unknown setting: the server is newer than this page.";
        lifetime_bounds = "A number and d, h, m or s: 60s to 3650d.";
        server_url_bounds = "Host without a path: https://host or https://host:port.";
        server_url_effect = "New imports and kubeconfigs use this address. If clients cannot reach the address, new clusters do not connect and new kubeconfigs do not work. Existing clusters and kubeconfigs keep their address.";
        agent_image_bounds = "An image reference with a tag or digest; no spaces, no https://.";
        agent_image_effect = "Connected clusters with automatic upgrades run this agent image within a minute. If a cluster cannot pull the image, its new agent does not start.";
        agent_image_registry_bounds = "A registry and a path; no spaces, no https://.";
        agent_image_registry_effect = "Clusters pull the agent image with the server's version from this registry. The setting agent-image takes precedence.";
        agent_image_pull_policy_bounds = "IfNotPresent, Always or Never.";
        agent_image_pull_policy_effect = "Applies to new manifests. With Never, every node must already have the image. With Always, the agent cannot start while the registry is unavailable.";
        token_max_ttl_effect = "Applies to new tokens. A stolen token is valid until it expires.";
        token_default_ttl_effect = "Applies to new tokens without a lifetime. The limit is token-max-ttl.";
        kubeconfig_token_ttl_effect = "Applies to new kubeconfigs with tokens. kubectl loses access when the token expires. The limit is token-max-ttl.";
        session_ttl_effect = "Applies to new sign-ins, in the browser and with drover login. Users must sign in again after this time.";
        session_idle_ttl_effect = "Applies to new browser sessions. A session without requests ends after this time.";
        groups_refresh_bounds = "A number and h, m or s: 5m to 6h.";
        groups_refresh_effect = "Applies to users of identity providers. Group changes take effect within this time.";
        provider_grace_bounds = "A number and d, h, m or s: 12h to 30d.";
        provider_grace_effect = "Applies to users of an identity provider that does not respond. Their access ends after this time.";
        log_filter_bounds = "A level (error, warn, info, debug, trace), or comma-separated levels by target.";
        log_filter_effect = "Levels debug and trace produce many more log lines and slow the server down. Level error hides warnings.";
        edit_named(name: &str) = format!("Edit {name}");
        read_only(cause: &str) = format!("Read-only: {cause}.");
        not_applied = "not applied";
        by_default = "default";
        not_found(name: &str) = format!("Setting {name} not found");
        not_found_advice = "Check the name, or wait until the list is loaded.";
        edit_title = "Edit setting";
        saved(name: &str, value: &str) = match value {
            "" => format!("Saved {name}. The value is empty."),
            value => format!("Saved {name}. The value is {value}."),
        };
        reset = "Reset to default";
        value = "Value";
        duration(duration: &str) = format!("Equals {duration}.");
        bounds(allowed_values: &str) = format!("{allowed_values} Empty: default.");
        in_effect = "Effective value";
        default = "Default";
        allowed = "Allowed values";
        not_applied_label = "Not applied";
        temporary = "Temporary log filter";
        temporary_help = "Applies until the server restarts or the setting changes. This filter does not change the setting.";
        filter_applied = "Applied the log filter.";
        log_filter = "Log filter";
        log_filter_help = "Example: debug, or info,drover_proxy=trace.";
        apply_filter = "Apply filter";
    }

    /// The audit log.
    audit: Audit {
        administrators_only = "Only administrators can read the audit log";
        time_help = "Example: 1h, 7d, 2026-11-22T10:00:00Z.";
        open = "open";
        complete = "complete";
        refused = "refused";
        client_gone = "client disconnected";
        cluster_gone = "cluster disconnected";
        revoked = "revoked";
        unauthenticated(count: u64) = format!("{count} unauthenticated requests");
        time = "Time";
        duration = "Duration";
        request = "Request ID";
        user_uid = "User UID";
        token = "Token";
        impersonated = "Impersonated user";
        source = "Source";
        cluster_uid = "Cluster UID";
        method = "Method";
        path = "Path";
        path_length = "Path length";
        requests = "Requests";
        outcome = "Outcome";
        reason = "Reason";
        bytes_in = "Bytes in";
        bytes_out = "Bytes out";
        record = "Record";
        code_help = "Status code, for example 403.";
        search = "Search";
        changes_only = "Only changes";
        with_reads = "Include reads";
        show_all = "Show all";
        filter_help = "Example: user:ann verb:delete since:2h. Names must match completely.";
        request_column = "Request";
        impersonating(user: &str) = format!("as {user}");
        unknown_user = "unauthenticated";
        kept_since(time: &LocalTime, in_memory: bool) = if in_memory {
            format!("Records since {time}, from the memory of the server. The server writes the audit log to standard output.")
        } else {
            format!("Records since {time}, from the log of the server.")
        };
        no_records_in(in_memory: bool) = if in_memory {
            "No records in the memory of the server yet. The server writes the audit log to standard output.".to_owned()
        } else {
            "No records in the log of the server yet.".to_owned()
        };
        failed = "Cannot read the audit log";
        invalid = "Invalid query";
        invalid_advice = "Correct the query above.";
        stopped = "Search stopped";
        stopped_advice = "Press “Search” to start again.";
        no_match_yet = "No results yet";
        no_match_yet_advice = "Only the newest part of the log was searched.";
        table = "Audit log";
        no_match = "No results";
        no_match_advice = "Remove filters, or search from an earlier time.";
        empty = "No records yet";
        empty_advice = "Requests to clusters and changes in Drover are recorded here.";
        show_older = "Show older records";
        stop = "Stop";
        shown_more(count: &str) = format!("{count} records shown, older records exist");
        shown_all(count: &str) = format!("All {count} stored records shown");
        shown_matching(count: &str) = format!("All {count} matching records shown");
        unreadable(lines: &str) = format!("Cannot parse {lines} lines of the log.");
        query = "Query";
        unknown_term(term: &str) = format!("Unknown term {term}. Use user, cluster, verb, outcome, code, path, object, since or until.");
        empty_term(name: &str) = format!("The term {name} has no value.");
        open_quote = "A quotation mark is missing.";
        repeated_term(name: &str) = format!("The query contains {name} more than once.");
        unknown_outcome(outcome: &str, all: &str) = format!("Unknown outcome {outcome}. Use one of: {all}.");
        user_term = "Exact user name";
        cluster_term = "Exact cluster name";
        verb_term = "Kubernetes verb, changes or any";
        outcome_term = "Result of the request";
        path_term = "Part of the request path";
        object_term = "Exact name of the object";
    }

    /// The page about this server.
    about: About {
        embedded_hub(version: &str) = format!("embedded, Kubernetes API {version}");
        server = "Server";
        you = "Your account";
        address = "Address";
        commit = "Commit";
        page_version = "Version of this page";
        agent_protocols = "Agent protocols";
        rest_api = "REST API";
        openapi = "OpenAPI document";
        hub = "Hub";
        administrator = "administrator: all permissions";
        by_roles = "permissions from roles";
        idle_timeout(minutes: u32) = format!(", or after {minutes} minutes without a request");
        user_name = "User name";
        kubernetes_user = "Kubernetes user";
        session_expires = "Session expires";
    }

    /// The screens of identity providers.
    providers: Providers {
        oidc = "OpenID Connect";
        client_secret = "Client secret";
        bind_password = "Bind password";
        sign_out_github = "revokes the token of Drover at the provider";
        sign_out_elsewhere = "ends the session at the provider";
        not_checked = "not checked yet";
        ca_bundle = "CA certificates";
        ca_bundle_help = "PEM. Drover trusts only these certificate authorities. Empty: certificate authorities of the operating system.";
        issuer = "Issuer";
        issuer_help = "Exact issuer URL of the provider: https://…";
        client_id = "Client ID";
        client_id_help = "Client ID of Drover at the provider.";
        scopes = "Scopes";
        scopes_help = "Additional scopes.";
        groups_claim = "Groups claim";
        groups_claim_help = "A dot in the name selects a nested field. Empty: groups.";
        login_claim = "Login claim";
        login_claim_help = "Claim with the login name at the provider. Empty: preferred_username.";
        server = "Server";
        server_help = "URL of a GitHub Enterprise Server: https://host. Empty: github.com.";
        github_client_id_help = "Client ID of an OAuth app. A GitHub App does not work.";
        servers = "Servers";
        servers_help = "One per line, in order of preference: ldaps://host, or ldap://host with StartTLS.";
        bind_dn = "Bind DN";
        bind_dn_help = "Distinguished name of an account that can read users and groups.";
        users_base = "User base DN";
        users_base_help = "Distinguished name of the entry that contains all users.";
        users_filter = "User filter";
        users_filter_help = "Example: (memberOf=CN=staff,DC=acme,DC=example). Empty: all users.";
        login_attribute = "Login attribute";
        login_attribute_help = "Empty: uid, or sAMAccountName in Active Directory.";
        user_id_attribute = "User ID attribute";
        id_attribute_help = "An attribute that is unique and never changes. Empty: entryUUID, or objectGUID.";
        groups_filter = "Group filter";
        groups_filter_help = "Empty: all groups.";
        member_attribute = "Member attribute";
        member_attribute_help = "member, uniqueMember or memberUid. Empty: member.";
        group_id_attribute = "Group ID attribute";
        groups_base = "Group base DN";
        groups_base_help = "Distinguished name of the entry that contains all groups. Empty: no groups.";
        schema = "Directory type";
        no_help = "";
        nested_groups = "Members of a nested group are also members of its parent group";
        posix = "POSIX: OpenLDAP and others";
        active_directory = "Active Directory";
        create = "Create identity provider";
        empty = "No identity providers yet";
        empty_advice = "Users sign in with local passwords. With an identity provider (OpenID Connect, GitHub, LDAP or Active Directory), users sign in with their existing accounts, and groups can have roles.";
        edit_title = "Edit identity provider";
        unknown_protocol = "Unknown protocol. Reload the page: the server may have been upgraded.";
        no_user_allowed = "Enter at least one user or group. To block all sign-ins, disable the provider.";
        saved(name: &str) = format!("Saved identity provider {name}.");
        edit_effect = "Users who no longer match lose access within seconds.";
        own_provider = "You are signed in with this provider. Make sure that the new settings allow you to sign in, or that you have a second sign-in method.";
        conflict = "Another user changed this provider. Close the dialog, check the change and start again.";
        enable_effect = "The provider appears on the sign-in page. The first sign-in creates a user. The user has no permissions until a role is granted to the user or to a group of the user.";
        disable_effect = "Users cannot sign in with the provider. Its sessions, tokens and groups are rejected until the provider is enabled. Open streams close within seconds.";
        delete_effect = "Users cannot sign in with the provider. Its sessions, tokens and groups are invalid permanently, and open streams close within seconds. A new provider with the same name does not restore the sessions, tokens and groups. To block the users of this provider temporarily, disable the provider.";
        ends_own_session = "You are signed in with this provider and will be signed out. Make sure that an administrator has a different sign-in method.";
        test_failed = "The last test failed: users cannot sign in.";
        untested = "Not tested since the last change. Run the test to check whether users can sign in.";
        affected_unknown = "Signed-in users of this provider lose access immediately.";
        affected_none = "No user is signed in with this provider.";
        affected(users: usize, tokens: usize) = format!("Immediate loss of access for {users} with {tokens} of this provider.", users = counted(users, "user", "users"), tokens = counted(tokens, "token", "tokens"));
        created(name: &str) = format!("Created identity provider {name}. Run the test, then enable it.");
        name_help = "Lowercase letters, digits and “-”. The name is part of group names and cannot be changed.";
        protocol = "Protocol";
        disabled_help = "Not enabled yet. Run the test, then enable it.";
        callback_help = "Register this exact redirect URI at the provider.";
        callback_url = "Redirect URI";
        fixed_help = "These settings cannot be changed, because the IDs of users and groups depend on them.";
        secret_kept = "Stored and never shown. Empty: unchanged.";
        secret_new = "Stored on the hub and never shown again.";
        secret_optional = "Stored on the hub and never shown again. Empty: public client.";
        button_label = "Button label";
        button_label_help = "Shown after “Sign in with”. Empty: name of the provider.";
        sign_out_label(effect: &str) = format!("Signing out of Drover {effect}");
        limited = "Allow only listed users and groups";
        users = "Users";
        users_help = "User IDs at the provider, one per line. Names can be reused; IDs cannot.";
        groups_help = "Group IDs at the provider, one per line. Example for GitHub: org:9919.";
        sign_in = "Sign-in";
        last_answer = "Last response";
        not_found(name: &str) = format!("Identity provider {name} not found");
        secret_stored = "stored on the hub";
        no_secret = "none (public client)";
        sign_out_both(effect: &str) = format!("ends the Drover session and {effect}");
        sign_out_drover = "ends only the Drover session";
        secret = "Secret";
        sign_out = "Sign-out";
        is_set = "set";
        all_allowed = "All users of the provider.";
        none_allowed = "No users: the list is empty.";
        group_members = "Members of groups";
        allowed = "Allowed users";
        test = "Test";
        test_help = "Sends the same requests as a sign-in, also while the provider is disabled. No user is signed in.";
        test_login = "Login for the test";
        test_login_help = "Tests a complete sign-in. Optional.";
        test_password = "Password for the test";
        test_password_help = "Sent to the directory and not stored.";
        test_outdated = "The provider has changed since the test. Run the test again.";
        works = "Works";
        fails = "Does not work";
        check_passed = "passed";
        check_failed = "failed";
        checks = "Checks";
    }

    /// The screens of users.
    users: Users {
        disabled = "disabled";
        must_change_password = "must change password";
        enabled = "enabled";
        confirmed = "confirmed";
        refused = "refused";
        unreachable = "unreachable";
        role_in_cluster(role: &str, cluster: &str) = format!("{role} in cluster {cluster}");
        role_in_project(role: &str, project: &str) = format!("{role} in project {project}");
        role_everywhere(role: &str) = format!("{role} in all clusters");
        password = "password";
        no_credential = "not set";
        administrator = "administrator";
        create = "Create user";
        rename_menu = "Edit display name…";
        set_password_menu = "Set password…";
        password_sent = "I sent the password";
        copy_password = "Copy the password now. It cannot be shown again.";
        password_of(user: &str) = format!("Password of {user}");
        send_password(user: &str) -> Rich = Rich::from("Send the password to ") + strong(user.to_owned()) + " over a private channel. The user must choose a new password at the first sign-in.";
        display_name_of(user: &str) = format!("Display name of {user}");
        renamed(user: &str) = format!("Saved the display name of {user}.");
        rename_help = "Shown to other users. The user name does not change.";
        make_administrator_menu = "Make administrator…";
        remove_administrator_menu = "Remove administrator…";
        revoke_tokens_menu = "Revoke all tokens…";
        make_administrator = "Make administrator";
        remove_administrator = "Remove administrator";
        revoke_tokens = "Revoke all tokens";
        disable = "Disable";
        enable = "Enable";
        delete = "Delete";
        make_administrator_title(user: &str) = format!("Make {user} an administrator?");
        remove_administrator_title(user: &str) = format!("Remove administrator {user}?");
        revoke_tokens_title(user: &str) = format!("Revoke all tokens of {user}?");
        disable_title(user: &str) = format!("Disable {user}?");
        enable_title(user: &str) = format!("Enable {user}?");
        delete_title(user: &str) = format!("Delete {user}?");
        make_administrator_effect = "Administrators have all permissions on all clusters, users, tokens and settings.";
        remove_administrator_effect = "The user keeps only the permissions of its roles. Open streams that need the permissions of an administrator close within seconds.";
        revoke_tokens_effect = "Sessions, API tokens and kubeconfig tokens of the user are deleted. Open streams close within seconds. The user can sign in again.";
        disable_effect = "The user cannot sign in, and its tokens are rejected. Open watches, logs and shells close within seconds. The tokens are valid again when the user is enabled.";
        enable_effect = "The user can sign in again. Tokens that have not expired are valid again.";
        delete_effect = "The user cannot sign in, and all its tokens are deleted. Open streams close within seconds. A new user with the same name does not get the permissions of the deleted user. To block a user temporarily, disable the user.";
        made_administrator(user: &str) = format!("{user} is now an administrator.");
        removed_administrator(user: &str) = format!("{user} is no longer an administrator.");
        revoked_tokens(user: &str) = format!("Revoked all tokens of {user}.");
        disabled_user(user: &str) = format!("Disabled {user}.");
        enabled_user(user: &str) = format!("Enabled {user}.");
        deleted_user(user: &str) = format!("Deleted {user}.");
        last_administrator = "This is the last administrator. Make another user an administrator first.";
        own_account = "This is your own account. Ask another administrator to do this action.";
        set_password_title(user: &str) = format!("Set password of {user}");
        password_set(user: &str) = format!("Set the password of {user}.");
        revoke_with_password = "Revoke all tokens of this user";
        set_password = "Set password";
        tokens_revoked = "API and kubeconfig tokens are revoked, and open streams close within seconds.";
        tokens_stay = "API and kubeconfig tokens stay valid.";
        set_password_effect = "The sessions of the user end, in browsers and command lines. The user must choose a new password at the next sign-in.";
        set_own_password() -> Rich = Rich::from("This is your account: setting the password signs you out. ") + link("Change your password", "/password") + " instead.";
        created(user: &str) = format!("Created user {user}.");
        name_help = "Lowercase letters, digits, “.” and “-”. The name cannot be changed.";
        display_name_help = "Shown to other users. Optional.";
        create_administrator = "Administrator (all permissions)";
        first_password_help = "The user must choose a new password at the first sign-in.";
        signs_in_with = "Sign-in method";
        last_sign_in = "Last sign-in";
        actions = "Actions";
        more = "Actions";
        by_roles = "permissions from roles";
        actions_of(user: &str) = format!("Actions for {user}");
        no_random = "The browser cannot generate a password. Type a password.";
        generate_password = "Generate a password and show it once";
        type_password_help(minimum: usize) = format!("At least {minimum} characters. Send it to the user over a private channel.");
        not_found(name: &str) = format!("User {name} not found");
        not_found_advice = "Not found. It was deleted, or never existed.";
        check_access = "Check this user's access";
        tokens_of_user = "Tokens of this user";
        audit_of_user = "Audit log of this user";
        groups = "Groups";
        local_only = "No identity provider is linked. The user can sign in only with a local password.";
        no_sign_in = "Cannot sign in: the user is disabled, and no identity provider is linked.";
        refreshed(user: &str) = format!("Refreshed the identities of {user}.");
        refresh = "Refresh from providers";
        link_menu = "Link identity…";
        unlink_named(provider: &str) = format!("Unlink {provider}");
        unlink_menu = "Unlink…";
        ignored_groups(count: u32) = format!("{count} more groups are ignored: their IDs contain characters that are invalid in group names.");
        login(name: &str) -> Rich = Rich::from("as ") + strong(name.to_owned());
        last_confirmed(ago: &str) = format!("Last confirmed {ago}");
        group = "Group";
        last_state = "Last state";
        no_groups = "No groups reported by an identity provider";
        link_title(user: &str) = format!("Link identity to {user}");
        linked(user: &str) = format!("Linked the identity to {user}.");
        identity = "Identity";
        link_effect(user: &str) -> Rich = Rich::from("The identity is unlinked from its current user and linked to this user. The next sign-in with the identity signs in as ") + strong(user.to_owned()) + ".";
        link_from = "From user";
        link_from_help = "Lists users whose identity provider confirmed them in the last 24 hours. Users that are not listed must sign in first.";
        link_warning = "Make sure that both users are the same person. The sessions and tokens of the identity end immediately.";
        link = "Link";
        former_disabled(user: &str) = format!("The user {user} is disabled, because the user has no other sign-in method. Check this user, then delete it.");
        roles_stay(former: &str) -> Rich = Rich::from("Drover does not move the roles of ") + strong(former.to_owned()) + ". Grant the required roles to the new user of the identity:";
        remaining_roles = "Remaining roles";
        merged(user: &str, former: &str) -> Rich = Rich::from("The identity of ") + strong(former.to_owned()) + " is now linked to " + strong(user.to_owned()) + ".";
        page_of(user: &str) = format!("Open {user}");
        unlink_title(provider: &str, user: &str) = format!("Unlink {provider} from {user}?");
        unlink_last(user: &str) = format!("{user} has no other identity and can sign in only with a local password.");
        unlinked(provider: &str) = format!("Unlinked the identity of {provider}.");
        unlink = "Unlink";
        unlink_effect = "The sessions and tokens of the identity end immediately. The next sign-in with the identity creates a new user. To block a user, disable the user.";
        you = "you";
    }

    /// The page of an object.
    object: Object {
        no_page(kind: &str) = format!("No page for {kind}");
        no_page_advice = "Drover has no page for this kind. Use kubectl.";
        not_found(kind: &str, name: &str, namespace: Option<&str>) = match namespace {
            Some(namespace) => format!("{kind} {name} not found in namespace {namespace}"),
            None => format!("{kind} {name} not found"),
        };
        not_found_advice = "The object was deleted, or never existed. The object appears here when it is created.";
        all(kind: &str) = format!("All {kind}");
        in_namespace(kind: &str, namespace: &str) = format!("{kind} in {namespace}");
        deleted_at(time: &LocalTime) = format!("The object was deleted at {time}. Its last known state is shown.");
        replaced = "The object was deleted and recreated. The new object is shown.";
        events = "Events";
        views = "Object views";
        forbidden(resource: &str) = format!("No permission to read {resource}");
        retrying = "Retrying automatically.";
        cluster_offline = "The cluster does not respond";
        cluster_offline_advice = "The overview of the cluster shows the cause. Retrying automatically.";
        agent_refused = "The cluster does not accept the agent's credentials";
        agent_refused_advice = "The API server rejects the agent's service account. Check the log of the agent.";
        missing(resource: &str) = format!("Not found: {resource}");
        missing_advice = "Not found. It was deleted, or never existed.";
        failed(resource: &str) = format!("Cannot read {resource}");
        more_crashes_of_pod(count: usize) = format!("{crashing_containers}. Check the containers below.", crashing_containers = counted(count, "more crashing container", "more crashing containers"));
        more_crashes(count: usize) = format!("{crashing_containers}. Check the pods below.", crashing_containers = counted(count, "more crashing container", "more crashing containers"));
        open_previous_log = "Open previous log";
        open_log = "Open log";
        crash(state: &str, container: &str, pod: Option<(&str, &str)>, exit_and_restarts: &str, age: Option<&str>, meaning: Option<&str>) -> Rich = {
            let mut text = strong(state.to_owned()) + format!(": container {container}");
            if let Some((name, href)) = pod {
                text = text + " of " + link(name.to_owned(), href);
            }
            text = match age {
                Some(age) => text + format!(" ({exit_and_restarts}, {age} ago)."),
                None => text + format!(" ({exit_and_restarts})."),
            };
            match meaning {
                Some(meaning) => text + format!(" Meaning: {meaning}."),
                None => text,
            }
        };
        the_events = "the events";
        no_events = "No events";
        no_events_advice = "Kubernetes keeps events for one hour by default. New events appear here automatically.";
        older_events(count: usize) = format!("{older_events} not shown.", older_events = counted(count, "older event", "older events"));
        times_in(count: u64, age: &str) = format!("{count} times in {age}");
        none_related(kind: &str) = format!("No {kind}.");
        more_related(count: usize) = format!("{count} more objects not shown.");
        ready(count: &str) = format!("{count} ready");
        on_node = "on";
        the_manifest = "the manifest";
        changed_since(time: &LocalTime) = format!("The object has changed since {time}. ");
        yaml_note = "YAML from the API server";
        json_note = "JSON: the API server does not provide YAML";
        managed_fields = "Managed fields";
        find = "Find in manifest";
        manifest = "Manifest";
        owners = "Owner";
        metadata = "Metadata";
        annotations = "Annotations";
        containers = "Containers";
        previous_run = "Previous run";
        image = "Image";
        ports = "Ports";
        requests = "Requests";
        limits = "Limits";
        long_value(key: &str, bytes: usize) = format!("{key} ({bytes} bytes)");
        probe(name: &str) = format!("{name} probe");
    }

    /// Fields of the overview of objects.
    facts: Facts {
        name = "Name";
        namespace = "Namespace";
        kind = "Kind";
        key = "Key";
        value = "Value";
        size = "Size";
        data = "Data";
        binary = "binary data";
        immutable = "Immutable";
        secret_type = "Type";
        service_type = "Type";
        cluster_ip = "Cluster IP";
        load_balancer = "Load balancer";
        external_ips = "External IPs";
        external_name = "External name";
        ip_families = "IP families";
        session_affinity = "Session affinity";
        traffic_policy = "External traffic policy";
        no_address = "waiting for an address";
        no_address_help = "No load balancer has assigned an address yet. Check the events of the Service.";
        port = "Port";
        target_port = "Target port";
        node_port = "Node port";
        protocol = "Protocol";
        class = "Class";
        default_backend = "Default backend";
        host = "Host";
        hosts = "Hosts";
        path = "Path";
        path_type = "Path type";
        backend = "Backend";
        rules = "Rules";
        endpoints = "Endpoints";
        addresses_of_endpoints = "Addresses of the endpoints";
        address = "Address";
        ready = "Ready";
        not_ready = "Not ready";
        terminating = "Terminating";
        endpoint_ready = "ready";
        endpoint_not_ready = "not ready";
        endpoint_terminating = "terminating, still serving";
        selected_pods = "Selected pods";
        policy_types = "Policy types";
        direction = "Direction";
        allowed_peers = "Allowed peers";
        any_peer = "all peers";
        any_port = "all ports";
        denied = "no peers: all traffic is denied";
        all_pods = "all pods";
        min_available = "Min available";
        max_unavailable = "Max unavailable";
        healthy_pods = "Healthy pods";
        required_pods = "Required healthy pods";
        expected_pods = "Expected pods";
        allowed_disruptions = "Allowed disruptions";
        unhealthy_eviction = "Eviction of unhealthy pods";
        budget_without_pods = "selects no pods";
        no_disruption = "no disruption allowed";
        no_disruption_help = "Evictions of the selected pods fail. Wait until more pods are healthy, or change the budget.";
        replicas = "Replicas";
        scale_target = "Scale target";
        current = "Current";
        target = "Target";
        minimum = "Minimum";
        maximum = "Maximum";
        last_scaling = "Last scaling";
        metric = "Metric";
        metrics = "Metrics";
        cannot_scale = "cannot scale";
        scaling_limited = "at the replica limit";
        scales = "scaling";
        volume = "Volume";
        claim = "Claim";
        requested = "Requested";
        access_modes = "Access modes";
        volume_mode = "Volume mode";
        data_source = "Data source";
        claim_lost = "The volume of the claim does not exist any more. Restore the data from a backup.";
        claim_pending = "The claim waits for a volume. Check its events and its storage class.";
        reclaim_policy = "Reclaim policy";
        source = "Source";
        volume_released = "The claim was deleted, and the volume still has its data. Delete the volume, or remove its claim reference to use the volume again.";
        provisioner = "Provisioner";
        default_class = "Default class";
        binding_mode = "Volume binding";
        expansion = "Volume expansion";
        parameters = "Parameters";
        mount_options = "Mount options";
        aggregation = "Aggregation";
        aggregates = "Aggregates roles with labels";
        resources = "Resources";
        api_groups = "API groups";
        verbs = "Verbs";
        names = "Names";
        core_group = "core";
        role = "Role";
        subjects = "Subjects";
        mounts_token = "Mounts a token into pods";
        pull_secrets = "Image pull Secrets";
        token_secrets = "Token Secrets";
        holder = "Holder";
        renewed = "Renewed";
        acquired = "Acquired";
        lease_duration = "Lease duration";
        transitions = "Transitions";
        objects = "Objects";
        group = "Group";
        scope = "Scope";
        plural = "Plural";
        singular = "Singular";
        short_names = "Short names";
        categories = "Categories";
        version = "Version";
        versions = "Versions";
        served = "Served";
        stored = "Stored";
        deprecated = "Deprecated";
        established = "established";
        not_established = "not established";
        listener = "Listener";
        listeners = "Listeners";
        routes = "Attached routes";
        parent = "Parent";
        parents = "Parents";
        matches = "Matches";
        filters = "Filters";
        quotas = "Resource quotas";
        limit_ranges = "Limit ranges";
        resource = "Resource";
        used = "Used";
        limit = "Limit";
        default_limit = "Default limit";
        default_request = "Default request";
        not_condition(condition: &str) = format!("not {condition}");
        bytes(count: usize) = counted(count, "byte", "bytes");
        more_rows(count: usize) = format!("{count} more rows not shown. The YAML tab shows the complete object.");
        pods_with(terms: &str) = format!("pods with {terms}");
        in_this_namespace(pods: &str) = format!("{pods} in this namespace");
        in_all_namespaces(pods: &str) = format!("{pods} in all namespaces");
        in_namespaces_with(pods: &str, terms: &str) = format!("{pods} in namespaces with {terms}");
        except(range: &str, ranges: &str) = format!("{range} except {ranges}");
        all_ports_of(protocol: &str) = format!("all {protocol} ports");
        disruptions(count: i64) = format!("disruptions allowed: {count}");
        metric_of(metric: &str, object: &str) = format!("{metric} of {object}");
        average(value: &str) = format!("{value} on average");
        weight(weight: &str) = format!("weight {weight}");
        all_of(kind: &str) = format!("All objects of the kind {kind}");
    }

    /// The values of Secrets.
    secrets: Secrets {
        hidden = "hidden";
        help = "Values are hidden. “Reveal” reads the Secret again, and the audit log records the read. The page removes the value after one minute.";
        binary = "Binary data in Base64";
        missing_key = "The Secret does not contain this key any more.";
        reveal_values = "Reveal values";
        hide_values = "Hide values";
        values_hidden = "The values of the Secret are hidden. “Edit” reads and shows the values.";
        values_shown = "The page shows the values of the Secret for one minute.";
        no_keys = "The Secret has no keys.";
        hidden_bytes(count: usize) = format!("hidden ({bytes})", bytes = counted(count, "byte", "bytes"));
        reveal_key(key: &str) = format!("Reveal {key}");
        hide_key(key: &str) = format!("Hide {key}");
        value_of(key: &str) = format!("Value of {key}");
    }

    /// Charts.
    chart: ChartTexts {
        cores(amount: &str) = match amount {
            "1" => "1 core".to_owned(),
            _ => format!("{amount} cores"),
        };
        summary(newest: &str, highest: &str) = format!("now {newest}, highest {highest}");
        at(time: &str, value: &str) = format!("{time}: {value}");
    }

    /// The charts of CPU and memory.
    metrics: Metrics {
        metrics = "Metrics";
        period = "Period";
        hour = "Last hour";
        six_hours = "Last 6 hours";
        day = "Last day";
        week = "Last 7 days";
        allocatable = "Allocatable";
        the_usage = "usage of CPU and memory";
        none = "No usage of CPU and memory";
        none_advice = "The cluster measures running pods about one minute after their start. Without measurements, install metrics-server in the cluster.";
        no_prometheus = "Samples of metrics-server since you opened this page. For earlier usage, install Prometheus: its Service needs the label app.kubernetes.io/name=prometheus, and a port with the name http or web, or with the number 9090.";
        no_series(service: &str) = format!("Samples of metrics-server since you opened this page. The Prometheus {service} has no metrics of cAdvisor for this object.");
        of_prometheus(service: &str) = format!("Source: Prometheus {service}");
        not_updated(service: &str, reason: &str) = format!("Source: Prometheus {service}. The last update failed: {reason}");
        search_forbidden = "Samples of metrics-server since you opened this page. Earlier usage requires the permission to list services in all namespaces.";
        query_forbidden(service: &str) = format!("Samples of metrics-server since you opened this page. Earlier usage requires the permission to get services/proxy for {service}.");
        only_samples(reason: &str) = format!("Samples of metrics-server since you opened this page. No earlier usage: {reason}");
        prometheus_failed(error: &str) = format!("Prometheus: {error}");
    }

    /// The section with related objects.
    relations: Relations {
        related = "Related objects";
        object = "Object";
        relation = "Relation";
        none = "No related objects.";
        checked = "The page does not update these objects automatically.";
        owner = "owner of this object";
        owned = "owned by this object";
        mount = "mounted as a volume";
        mounts = "mounts this object";
        environment = "source of environment variables";
        has_environment = "reads environment variables from this object";
        pull_secret = "pull secret for images";
        pulls = "pulls images with this Secret";
        account = "service account of the pods";
        runs_as = "runs as this service account";
        node = "node of this pod";
        runs_here = "runs on this node";
        backend = "receives the requests";
        routes_here = "sends requests to this Service";
        certificate = "contains the certificate";
        serves_certificate = "uses the certificate of this Secret";
        class = "class of this object";
        has_class = "has this class";
        parent = "parent of this route";
        attached = "attached to this object";
        volume = "volume of this claim";
        claims = "claims this volume";
        claim = "claim of this volume";
        provides = "provides this claim";
        scale_target = "scaled by this autoscaler";
        scales = "scales this object";
        role = "granted role";
        grants = "grants this role";
        subject = "receives the role";
        grants_to = "grants a role to this account";
        service = "names the pods";
        named_by = "names its pods with this Service";
        selected = "selected by this object";
        selects = "selects the pods";
        forbidden_in(kind: &str, resource: &str, namespace: &str) = format!("{kind}: missing permission to list {resource} in namespace {namespace}. Ask an administrator for a role that allows it.");
        forbidden(kind: &str, resource: &str) = format!("{kind}: missing permission to list {resource} in all namespaces. Ask an administrator for a role that allows it.");
        failed(kind: &str, message: &str) = format!("{kind}: {message}");
        incomplete(kind: &str, limit: usize) = format!("{kind}: only the first {limit} objects were checked.");
    }

    /// The field managers of an object.
    ownership: Ownership {
        show = "Show owners";
        managers = "Field managers";
        manager = "Manager";
        operation = "Operation";
        changed = "Last change";
        subresource = "Subresource";
        none = "The object has no field managers.";
        owned(manager: &str, operation: &str) = format!("{manager} ({operation})");
    }

    /// Validation errors that several forms use.
    forms: Forms {
        too_long(limit: usize, count: usize) = format!("At most {limit} characters. The text has {count}.");
        too_short(minimum: usize) = format!("At least {minimum} characters.");
    }

    /// The progress of actions on several objects.
    batch: Batch {
        progress(done: usize, total: usize, failed: usize, cancelled: usize) = match (failed, cancelled) {
            (0, 0) => format!("{done} of {total} done"),
            (failed, 0) => format!("{done} of {total} done, {failed} failed"),
            (0, cancelled) => format!("{done} of {total} done, {cancelled} cancelled"),
            (failed, cancelled) => format!("{done} of {total} done, {failed} failed, {cancelled} cancelled"),
        };
        progress_label = "Progress";
        retry = "Retry remaining actions";
    }

    /// Actions on several Kubernetes objects.
    bulk: Bulk {
        title(verb: &str, count: usize, kind: &str) = format!("{verb} {count} {kind}");
        verb(verb: &str, count: usize) = format!("{verb} ({count})");
        select_matching(count: &str) = format!("Select all {count} matches");
        select_first(limit: usize, count: &str) = format!("Select the first {limit} of {count} matches");
        selecting = "Selecting…";
        too_many(limit: usize) = format!("Select at most {limit} objects");
        reading = "Reading the selected objects…";
        not_available = "The object does not support this action in its current state.";
        unchanged = "No change: the object already has this state.";
        plan = "Planned requests";
        plan_summary(sent: usize, all: usize) = format!("{sent} of {objects} will change.", objects = counted(all, "object", "objects"));
        object = "Object";
        request = "Request";
        result = "Result";
        waiting = "not started";
        done = "done";
        failed = "failed";
        cancelled = "cancelled";
        commands = "Commands";
        set_labels = "Labels to set";
        remove_labels = "Labels to remove";
        remove_labels_help = "Keys, for example: env team";
        cancel = "Cancel remaining";
        finished(verb: &str, count: usize) = format!("{verb}: {objects} done.", objects = counted(count, "object", "objects"));
        undone(count: usize) = format!("Restored the previous state of {objects}.", objects = counted(count, "object", "objects"));
        cannot_undo(count: usize, message: &str) = format!("Cannot undo the change of {objects}: {message}", objects = counted(count, "object", "objects"));
    }

    /// The keys of lists.
    keys: Keys {
        title = "Keyboard shortcuts";
        menu = "Keyboard shortcuts…";
        scope = "The keys apply to lists of Kubernetes objects, unless a text field, a menu or a dialog has the focus.";
        single = "Single-character keys";
        single_help = "Turn them off if you use speech control or a screen reader with its own keys.";
        keys = "Keys";
        action = "Action";
        space = "Space";
        down = "Next row";
        up = "Previous row";
        first = "First row";
        last = "Last row";
        open = "Open the object";
        filter = "Focus the filter";
        select = "Select the row";
        clear = "Clear the selection";
        describe = "Open the overview";
        yaml = "Open the YAML";
        logs = "Open the logs";
        shell = "Open a terminal";
        edit = "Edit the YAML";
        delete = "Delete the selected objects, or the object of the row";
        restart = "Restart the selected workloads, or the workload of the row";
        palette = "Open the command palette";
        help = "Show all keys";
    }

    /// The page for unknown addresses.
    not_found: NotFound {
        title = "Not found";
        heading = "Page not found";
        advice = "Check the address, or open the list of clusters.";
    }

    /// Errors of requests.
    problems: Problems {
        offline_title = "The server cannot be reached";
        retrying(cause: &str) = format!("{cause} Retrying automatically.");
        offline = "Cannot reach the server. Check your network connection, and check that the server is running.";
        unexpected(problem: &str) = format!("Unexpected response from the server: {problem}. Reload the page: the server may have been upgraded.");
        status_only(code: u16) = format!("The server responded with status {code} without a message.");
        bad_header = "invalid request header";
        endless_list = "the list has too many pages";
        no_body = "no body";
        bad_stream = "invalid stream";
        endless_line = "a line is too long";
        no_version = "a list without a resource version";
    }

    /// Formats of durations and ages.
    durations: Durations {
        ago(age: &str) = format!("{age} ago");
        lasting(age: &str) = format!("for {age}");
        of(count: u64, unit: Unit) = {
            let (one, other) = match unit {
                Unit::Day => ("day", "days"),
                Unit::Hour => ("hour", "hours"),
                Unit::Minute => ("minute", "minutes"),
                Unit::Second => ("second", "seconds"),
            };
            format!("{count} {unit}", unit = if count == 1 { one } else { other })
        };
        format_help = "Enter a number and d, h, m or s. Example: 30d, 12h.";
        minimum = "At least one minute: 60s.";
        maximum(limit: &str) = format!("At most {limit} (setting token-max-ttl).");
        short(count: i64, unit: Unit) = match unit {
            Unit::Day => format!("{count}d"),
            Unit::Hour => format!("{count}h"),
            Unit::Minute => format!("{count}m"),
            Unit::Second => format!("{count}s"),
        };
        short_years(count: i64) = format!("{count}y");
        seconds(count: i64) = format!("{count} s");
        milliseconds_rounded(count: f64) = format!("{count:.0} ms");
        seconds_rounded(count: f64) = format!("{count:.1} s");
        minutes_rounded(count: f64) = format!("{count:.0} min");
        until(age: &str) = format!("in {age}");
        old(age: &str) = format!("{age} old");
    }

    /// Separators in numbers.
    numbers: Numbers {
        thousands = ",";
        decimal = ".";
    }

    /// Names of states.
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
        not_set = "not set";
        deleting = "being deleted";
        not_ready = "not ready";
        pending = "pending";
        ready = "ready";
        none = "none";
    }

    /// The states and fields of pods and containers.
    pods: Pods {
        init = "init";
        sidecar = "sidecar";
        ephemeral = "ephemeral";
        probe_failed = "The readiness or startup probe has not succeeded. Check the events.";
        running_not_ready = "Running, not ready";
        ended(reason: &str, code: i64) = format!("{reason}, exit code {code}");
        exit_code(code: i64, meaning: &str) = format!("Exit code {code}: {meaning}.");
        crash_loop = "The container keeps exiting, and the kubelet delays its restart. Check the logs of the previous run.";
        image_pull = "The image cannot be pulled. Check its name and tag, the node's access to the registry, and the pull secret.";
        invalid_image = "The image name is invalid. Correct the image name.";
        image_never_pulled = "The image is not on the node, and the pull policy forbids pulling it.";
        config_error = "A referenced ConfigMap, Secret or key is missing. Create it, or correct the reference.";
        create_error = "The container cannot be created. Check its command, mounts and image.";
        host_port(port: i64) = format!(", host port {port}");
        startup = "Startup";
        readiness = "Readiness";
        liveness = "Liveness";
        http_probe(path: &str, port: &str, scheme: &str) = format!("GET {path} on port {port} ({scheme})");
        tcp_probe(port: &str) = format!("TCP port {port}");
        grpc_probe(port: &str) = format!("gRPC health on port {port}");
        exec_probe(command: &str) = format!("runs {command}");
        probe(action: &str, period: i64, timeout: i64, failures: i64) = format!("{action}, every {period} s, timeout {timeout} s, fails after {failures}", failures = counted(usize::try_from(failures).unwrap_or_default(), "consecutive failure", "consecutive failures"));
        crash(code: Option<i64>, restarts: i64) = {
            let restarts = counted(usize::try_from(restarts).unwrap_or_default(), "restart", "restarts");
            match code {
                Some(code) => format!("exit code {code}, {restarts}"),
                None => restarts,
            }
        };
        exit_oom = "out of memory. Raise the memory limit, or reduce the memory use";
        exit_not_started = "the container could not be started. Check its command and its image";
        exit_deadline = "the deadline was exceeded";
        exit_success = "success";
        exit_error = "general error. Check the logs";
        exit_usage = "wrong usage, or a panic. Check the logs";
        exit_runtime = "the container runtime failed";
        exit_not_executable = "the command is not executable. Check the permissions of the file";
        exit_not_found = "command not found. Check the image and the command";
        exit_interrupted = "interrupted (SIGINT)";
        exit_illegal = "illegal instruction (SIGILL). Check the processor architecture of the image";
        exit_aborted = "aborted (SIGABRT). Check the logs";
        exit_bus = "bus error (SIGBUS)";
        exit_arithmetic = "arithmetic error (SIGFPE)";
        exit_killed = "killed (SIGKILL): the node ran out of memory, the liveness probe failed, or the container did not stop in time";
        exit_segfault = "segmentation fault (SIGSEGV)";
        exit_pipe = "broken pipe (SIGPIPE)";
        exit_terminated = "terminated (SIGTERM)";
        exit_out_of_range = "exit status out of range";
        exit_custom = "error code of the program";
        exit_signal(signal: i64) = format!("ended by signal {signal}");
        succeeded = "All containers ended without an error.";
        unknown = "The node does not respond, so the state is unknown. Check the node.";
        evicted = "The node was short of a resource and evicted the pod.";
        deadline = "The pod exceeded activeDeadlineSeconds.";
        node_lost = "The node does not respond.";
        node_rejected = "The node rejected the pod.";
        containers_ready = "Containers ready";
        restarts = "Restarts";
        pod_ip = "Pod IP";
        node_ip = "Node IP";
        qos = "QoS class";
        service_account = "Service account";
        restart_policy = "Restart policy";
        priority_class = "Priority class";
        volumes = "Volumes";
        node = "Node";
        deleting_now = "The pod is being deleted without a grace period.";
        deleting_within(seconds: i64) = format!("The pod is being deleted. Its containers have {seconds} s to stop.");
        deleting = "The pod is being deleted.";
        container(name: &str) = format!("Container {name}");
        container_of_role(container_role: &str, name: &str) = format!("{container_role} container {name}");
        some_ready(ready: usize, all: usize) = format!("{ready} of {all} containers ready");
        unschedulable(cause: &str) = format!("No node fits the pod: {cause}");
        initializing(container: &str) = format!("Pending: init container {container}");
        not_accepted(node: &str) = format!("The kubelet of node {node} has not accepted the pod yet. If the pod stays in this state, check whether the node is Ready.");
        on_lost_node(node: &str) = format!("Node {node} is not Ready, so the state below is the last reported state. Check the machine and its network.");
        ready_of(ready: usize, all: usize) = format!("{ready} of {all}");
        guaranteed = "Guaranteed: evicted last under node pressure";
        burstable = "Burstable: evicted before Guaranteed pods under node pressure";
        best_effort = "BestEffort: evicted first under node pressure";
    }

    /// The states and fields of workloads, jobs and nodes.
    workloads: Workloads {
        deployment_by_replica_set(deployment: &str, replica_set: &str) = format!("Deployment {deployment}, by ReplicaSet {replica_set}");
        complete = "complete";
        failed = "failed";
        suspended = "suspended";
        waiting_for_pods = "waiting for pods";
        job_running(completed: i64, desired: i64) = format!("running: {completed} of {desired} completed");
        job_running_parallel(active: i64) = format!("running: {active} in parallel");
        job_failures(failures: i64, limit: i64) = format!("{failures} failed; the job stops after {limit} failures. Check the logs of the pods.", failures = counted(usize::try_from(failures).unwrap_or_default(), "pod", "pods"));
        completions = "Completions";
        active = "Active";
        failed_pods = "Failed";
        started = "Started";
        completed = "Completed";
        duration = "Duration";
        parallelism = "Parallelism";
        backoff_limit = "Backoff limit";
        active_deadline = "Active deadline";
        ttl_after_finished = "TTL after finished";
        images = "Images";
        runs = "Runs";
        schedule = "Schedule";
        time_zone = "Time zone";
        cluster_time_zone = "time zone of the cluster";
        last_run = "Last run";
        last_success = "Last success";
        running_jobs = "Running jobs";
        concurrency_policy = "Concurrency policy";
        starting_deadline = "Starting deadline";
        successful_history = "Successful jobs kept";
        failed_history = "Failed jobs kept";
        done_of(completed: i64, desired: i64) = format!("{completed} of {desired}");
        done_first_success(completed: i64) = format!("{completed}; the first success completes the job");
        cron_suspended = "The cron job is suspended. Set suspend to false to start jobs.";
        scheduled = "scheduled";
        jobs_running(count: usize) = counted(count, "job running", "jobs running");
        concurrency_allow = "Allow: jobs run concurrently";
        concurrency_forbid = "Forbid: the next run is skipped";
        concurrency_replace = "Replace: the next run replaces the running job";
        cordoned = "The node is cordoned: no new pods are scheduled. Run kubectl uncordon to allow new pods.";
        runtime = "Container runtime";
        operating_system = "Operating system";
        kernel = "Kernel";
        architecture = "Architecture";
        node_roles = "Roles";
        addresses = "Addresses";
        taints = "Taints";
        pod_cidr = "Pod CIDR";
        provider_id = "Provider ID";
        capacity = "Capacity";
        local_disk = "Ephemeral storage";
        allocatable(allocatable: &str, capacity: &str) = format!("{allocatable} of {capacity} allocatable");
        finalizers(names: &str) = format!("Finalizers delay the deletion: {names}. If the finalizers stay, check the logs of their controllers.");
        not_observed = "updating";
        not_observed_help = "The controller has not processed the last change yet.";
        paused = "paused";
        paused_help = "The rollout is paused. Resume it with kubectl rollout resume.";
        no_node = "no matching node";
        no_node_help = "No node matches the node selector, so no pods run.";
        scaled_to_zero = "scaled to 0";
        check_pods = "Check the pods below that are not ready.";
        rollout_stuck = "rollout stuck";
        pods_rejected = "pods cannot be created";
        desired = "Desired";
        ready = "Ready";
        updated = "Updated";
        available = "Available";
        misscheduled = "Misscheduled";
        strategy = "Strategy";
        selector = "Selector";
        service = "Service";
        pod_management = "Pod management";
        node_selector = "Node selector";
        volume_claims = "Volume claims";
        revision = "Revision";
        revision_history = "Revision history limit";
        rolling_update = "rolling update";
        recreate = "recreate: old pods stop before new pods start";
        on_delete = "on delete: a pod is updated when it is deleted";
        max_unavailable = "max unavailable";
        max_surge = "max surge";
        partition = "partition";
        ordered_ready = "in order: each pod waits until the previous pod is ready";
        parallel = "parallel";
        default_class = "default storage class";
        rolling_out(updated: i64, desired: i64) = format!("rolling out: {updated} of {desired} updated");
        some_available(available: i64, desired: i64) = format!("{available} of {desired} available");
        all_ready(ready: i64, desired: i64) = format!("{ready} of {desired} ready");
        kubelet_not_ready = "kubelet reports not ready";
        kubelet_silent = "kubelet does not report";
        no_schedule = "no new pods";
        prefer_no_schedule = "avoids new pods";
        no_execute = "evicts pods";
        taint(key: &str, effect: &str) = format!("Pods that tolerate the taint {key}:{effect} are exempt.");
    }

    /// Advice for conditions of objects.
    conditions: Conditions {
        node_unknown = "The kubelet does not report. Check the machine, its network and the kubelet's log.";
        pod_unknown = "The state is unknown. Check whether the pod's node is Ready.";
        rollout_paused = "The rollout is paused. Resume it with kubectl rollout resume.";
        not_reported = "The controller does not report this condition. Check the events.";
        scheduling_gated = "Scheduling gates block the pod. Kubernetes schedules the pod after all gates are removed.";
        unschedulable = "No node fits the pod. Add nodes, lower its requests, or check its node selector, affinity, tolerations and volumes.";
        init_running = "An init container still runs. Check its state and its logs.";
        containers_not_ready = "Some containers are not ready. Check their state, logs and readiness probes.";
        sandbox_pending = "The node prepares the network and the volumes of the pod. If the pod stays in this state, check the events.";
        disruption = "The pod is being evicted. Its controller creates a replacement.";
        rollout_stuck = "The new pods do not become ready. Check the pods below, or roll back with kubectl rollout undo.";
        too_few_available = "Too few pods are available. Check the pods below that are not ready.";
        replica_failure = "Pods cannot be created: a quota, a webhook or a missing service account rejects them. The message shows the cause.";
        backoff_limit = "The pods failed too often. Check their logs, then delete and recreate the job.";
        deadline = "The job exceeded activeDeadlineSeconds. Raise the limit, or reduce the work.";
        suspended = "The job is suspended. Set suspend to false to start it.";
        node_not_ready = "The kubelet does not report the node as ready. Check the machine, its network and the kubelet's log.";
        memory_pressure = "The node is short of memory and evicts pods. Lower requests on this node, or add nodes.";
        disk_pressure = "The disk is nearly full. Remove images and logs, or enlarge the disk.";
        pid_pressure = "Too many processes run on the node. Find the pod that starts them.";
        network_unavailable = "The network of the node is not set up. Check the network plugin's pods on this node.";
    }

    /// The log view.
    log: Log {
        end = "End of the log.";
        pod_deleted = "The pod was deleted. The log is complete.";
        ended(cause: &str) = format!("The container ended. {cause}");
        restarting(cause: &str) = format!("The container ended and will be restarted. {cause}");
        waiting(cause: &str) = format!("The container is waiting to restart. {cause}");
        cut_line(bytes: usize) = format!(" … ({bytes} more bytes of this line)");
        no_pods = "No pods";
        no_pods_advice = "The logs of the pods appear here after pods are created.";
        pod_gone = "Pod not found";
        pod_gone_advice = "The pod and its logs were deleted. Select another pod.";
        the_pods = "the pods";
        pod = "Pod";
        gone(pod: &str) = format!("{pod} (deleted)");
        since_start = "start";
        lines(count: usize) = counted(count, "line", "lines");
        container = "Container";
        since = "Since";
        tail = "Line limit";
        options = "Log options";
        follow = "Follow";
        previous = "Previous run";
        times = "Timestamps";
        wrap = "Wrap lines";
        missing_lines(count: &str) = format!("{count} lines are missing: the page read the log too slowly.");
        cannot_download = "The browser cannot save files. Copy the text.";
        interrupted(time: &LocalTime, cause: &str) = format!("The stream was interrupted at {time}. {cause} Retrying automatically; no lines are lost.");
        state_loading = "loading";
        state_waiting = "waiting for the container";
        state_following = "following";
        state_interrupted(time: &LocalTime) = format!("interrupted since {time}");
        state_refused = "refused";
        state_complete = "complete";
        newest_lines(lines: &str, limit: usize, dropped: u64) = format!("{lines} shown (maximum {limit}), {dropped} older lines dropped");
        find = "Find in log";
        show_new(lines: usize) = match lines {
            0 => "Go to the end".to_owned(),
            lines => format!("Show {}", counted(lines, "new line", "new lines")),
        };
        paused = "Paused";
        no_lines_yet = "No lines yet";
        no_lines_yet_advice = "The container has not written any lines yet. New lines appear here.";
        not_running = "The container is not running";
        no_lines = "No lines";
        not_found = "Log not found";
        the_log = "the log";
        log = "Log";
        interruption_note = "The stream was interrupted. The log continues here.";
        all_pods(count: usize) = format!("All pods ({count})");
        all_containers = "All containers";
        level = "Level";
        level_all = "all";
        level_info = "info and above";
        level_warning = "warnings and errors";
        level_error = "errors";
        filter = "Filter (regular expression)";
        bad_filter = "Not a regular expression";
        hidden_lines(lines: usize) = format!("{} hidden by the filter", counted(lines, "line", "lines"));
        too_many(limit: usize) = format!("This workload has more than {limit} containers. The log shows {limit} containers: select a container or a pod.");
        of_source(source: &str, words: &str) = format!("{source}: {words}");
    }

    /// The log of pods of several clusters.
    several_logs: SeveralLogs {
        title = "Logs of several clusters";
        action = "Logs";
        no_selection = "No pods selected";
        no_selection_advice = "Enter clusters and labels, or select pods or workloads in a list and press “Logs”.";
        clusters = "Clusters";
        clusters_help = "Names of clusters, separated by commas.";
        selector = "Label selector";
        selector_help = "For example app=web,tier!=test. The log also contains new pods.";
        show = "Show logs";
        target_without_pods = "no pods found.";
        too_many(limit: usize) = format!("The selected pods have more than {limit} containers. The log shows {limit} containers: select fewer pods or a container.");
        too_many_selected(limit: usize) = format!("Select at most {limit} objects for a log.");
        failed(count: usize) = format!("and {count} more");
    }

    /// Terminals in containers and on nodes.
    terminal: Terminal {
        terminals = "Terminals";
        terminal = "Terminal";
        shell = "Shell (bash or sh)";
        attach = "Attach to the first process";
        custom = "Command";
        program = "Program";
        custom_help = "A shell runs the command: /bin/sh -c COMMAND.";
        open = "Open terminal";
        open_node = "Open node shell";
        no_containers = "No running container";
        no_containers_advice = "A terminal needs a running container. See the events of the pod.";
        no_exec = "Requires the permission: create pods/exec in this namespace";
        no_attach = "Requires the permission: create pods/attach in this namespace";
        pod_changed(pod: &str) = format!("Another user changed or replaced the pod {pod}.");
        no_node_shell = "Requires the permissions: create pods and pods/attach in this namespace";
        image = "Image";
        image_help = "The image must contain /bin/sh.";
        node_help = "Drover creates a pod with the node's network, processes and files (in /host). The pod is deleted when you close the terminal.";
        starting(reason: &str) = format!("Starting the pod. {reason}");
        not_started(reason: &str) = format!("The pod did not start: {reason}");
        too_slow = "the container did not start within two minutes";
        not_deleted(pod: &str, cause: &str) = format!("Cannot delete the pod {pod}: {cause} Delete it with kubectl.");
        connecting = "Connecting";
        connected = "Connected";
        lost = "Connection lost. Reconnecting; the terminal continues.";
        discarded = "The container did not read the input. Some input was discarded.";
        replaced = "another window took over this terminal.";
        gone = "the terminal no longer exists. The server restarted, or no browser was connected for two minutes.";
        signed_out = "the session has ended. Sign in again.";
        no_module = "the page could not load the terminal. Reload the page.";
        ended(reason: &str) = format!("Closed: {reason}");
        close(title: &str) = format!("Close terminal {title}");
        minimize = "Minimize";
        restore = "Show terminals";
        larger_sign = "A+";
        smaller_sign = "A−";
        larger = "Larger text";
        smaller = "Smaller text";
        find = "Find in terminal";
    }

    /// A shell with kubectl in a pod of the cluster.
    kubectl_shell: KubectlShell {
        menu = "kubectl shell…";
        title(cluster: &str) = format!("kubectl shell in {cluster}");
        help = "Drover creates a pod with kubectl in the cluster, and a token with your permissions in this cluster. Both end when you close the terminal, and after 4 hours.";
        warning = "Users who may change pods of the namespace, or run commands in them, can use your permissions until you close the shell. Select a namespace that only you can use.";
        image_help = "The image must contain kubectl and sh, and the cluster must be able to pull it.";
        missing = "Requires the permissions: get, create and delete pods, and get and create pods/exec in this namespace";
        open = "Open kubectl shell";
        no_kubeconfig = "The response contains no kubeconfig.";
        not_written(cause: &str) = format!("Cannot write the kubeconfig into the pod: {cause}");
        not_revoked(cause: &str) = format!("Cannot revoke the token of the kubectl shell: {cause} Delete it on the page “Tokens”.");
        cancelled = "The kubectl shell was cancelled.";
    }

    /// Port forwards in the browser.
    forwards: Forwards {
        title = "Port forwards";
        menu = "Forward port…";
        help = "Opens the port in a new tab, on a host name of its own. The program in the pod must use HTTP without TLS.";
        port = "Port";
        other = "Other port";
        number = "Port number";
        number_help = "A number from 1 to 65535.";
        open = "Forward and open";
        opened(pod: &str) = format!("The port of the pod {pod} opens in a new tab.");
        blocked = "The browser blocked the new tab. Open the link within one minute.";
        open_link = "Open the port forward";
        list_help = "Only the browser that opened a port forward has access. A port forward ends after 15 minutes without a byte, and when you sign out.";
        target = "Target";
        since = "Created";
        last_use = "Last use";
        transferred = "Transferred";
        bytes(sent: &str, received: &str) = format!("{sent} sent, {received} received");
        actions = "Actions";
        stop = "Stop";
        stopped(target: &str) = format!("Stopped the port forward to {target}.");
        empty = "No port forwards";
        empty_advice = "Open a pod or Service, and select “Forward port…”.";
    }

    /// Download and upload of files of a container.
    transfer: Transfer {
        download_menu = "Download file…";
        upload_menu = "Upload file…";
        download = "Download";
        upload = "Upload";
        container = "Container";
        path = "Path of the file or folder";
        path_help = "A folder is saved as an archive (.tar). The container needs the program cat, and tar for folders.";
        invalid_path = "Enter the path of a file or folder. The path must not end with “..”.";
        folder = "Target folder";
        folder_help = "The folder must exist. A file with the same name is replaced. The container needs the programs sh, cat and wc.";
        files = "Files";
        invalid_name(name: &str) = format!("A container cannot contain a file with the name {name}.");
        received(bytes: &str) = format!("{bytes} received");
        sent(name: &str, sent: &str, size: &str) = format!("{name}: {sent} of {size}");
        progress = "Progress of the transfer";
        cancel = "Cancel transfer";
        cancelled = "The download was cancelled.";
        upload_cancelled = "The upload was cancelled. The container can contain an incomplete file.";
        saved(name: &str) = format!("Downloaded {name}.");
        uploaded(count: usize, folder: &str) = match count {
            1 => format!("Uploaded 1 file to {folder}."),
            _ => format!("Uploaded {count} files to {folder}."),
        };
        incomplete(name: &str, problem: &str) = format!("{name}: {problem}");
        not_running_title = "No running container";
        not_running_advice = "A transfer needs a running container. See the events of the pod.";
        no_program(program: &str) = format!("The container does not contain the program {program}, which the transfer needs.");
        not_found = "The path does not exist in the container.";
        no_permission = "The user of the container may not access the path, or a file in the folder.";
        is_folder = "The path is a folder.";
        not_folder = "The path contains a file instead of a folder.";
        read_only = "The file system of the path is read-only. Select a folder in a volume.";
        no_space = "The file system of the container is full.";
        not_running = "The container does not run. Select a running container.";
        too_large(limit: &str) = format!("The file or archive is larger than {limit}. Use kubectl cp.");
        not_opened = "Cannot open the connection to the container. Check that the container runs, and that the cluster has Kubernetes 1.30 or newer.";
        lost = "The connection was lost before the end of the transfer. Try again.";
        incomplete_upload = "The container did not receive all bytes of the file. Try again.";
        unreadable(name: &str) = format!("The browser cannot read the file {name}. Select the file again.");
        not_saved = "The browser cannot save the file. Free some space, and try again.";
        failed(message: &str) = format!("The transfer failed: {message}");
    }

    /// Actions on Kubernetes objects.
    actions: Actions {
        menu = "Actions";
        scale_menu = "Scale…";
        restart_menu = "Restart…";
        set_image_menu = "Change image…";
        roll_back_menu = "Roll back…";
        pause_menu = "Pause rollout…";
        resume_menu = "Resume rollout…";
        suspend_menu = "Suspend…";
        unsuspend_menu = "Resume…";
        trigger_menu = "Run now…";
        evict_menu = "Evict…";
        debug_menu = "Debug…";
        cordon_menu = "Cordon…";
        uncordon_menu = "Uncordon…";
        drain_menu = "Drain…";
        taints_menu = "Edit taints…";
        labels_menu = "Edit labels…";
        right(verb: &str, resource: &str) = format!("{verb} {resource}");
        right_in(verb: &str, resource: &str, namespace: &str) = format!("{verb} {resource} in namespace {namespace}");
        missing_right(right: &str) = format!("Requires the permission: {right}. An owner of the project or of the cluster can grant a role with this permission");
        missing_cluster_right(right: &str) = format!("Requires the permission: {right}. An owner of the cluster can grant a role with this permission");
        title(verb: &str, kind: &str, name: &str) = format!("{verb} {kind} {name}");
        scale = "Scale";
        replicas = "Replicas";
        replicas_help(current: &str) = format!("Now {current}. 0 stops all pods.");
        invalid_replicas = "Enter a whole number from 0.";
        autoscaled(name: &str) = format!("The HorizontalPodAutoscaler {name} changes the number of replicas again.");
        scaled(name: &str, replicas: u32) = format!("Scaled {name} to {replicas}.");
        restart = "Restart";
        restart_effect = "Kubernetes replaces the pods step by step, according to the update strategy.";
        restarted(name: &str) = format!("Restarting {name}.");
        set_image = "Change image";
        container = "Container";
        image = "Image";
        image_help(current: &str) = format!("Now {current}");
        set_image_done(container: &str, image: &str) = format!("Container {container} uses the image {image}.");
        roll_back = "Roll back";
        revision = "Revision";
        revision_words(number: i64, images: &str, cause: Option<&str>) = match cause {
            Some(cause) => format!("{number}: {cause} ({images})"),
            None => format!("{number}: {images}"),
        };
        no_revisions = "The workload has no earlier revision.";
        changes = "Changes";
        no_changes = "The revision has the same pod template as the workload.";
        rolled_back(name: &str, number: i64) = format!("Rolled back {name} to revision {number}.");
        restored(name: &str) = format!("Restored {name}.");
        pause = "Pause rollout";
        pause_effect = "Changes of the pod template have no effect until the rollout is resumed. Running pods continue.";
        paused(name: &str) = format!("Paused the rollout of {name}.");
        resume = "Resume rollout";
        resume_effect = "Kubernetes applies all changes of the pod template since the pause.";
        resumed(name: &str) = format!("Resumed the rollout of {name}.");
        suspend = "Suspend";
        suspend_effect = "A suspended CronJob creates no Jobs. A suspended Job deletes its running pods and creates no pods.";
        suspended(name: &str) = format!("Suspended {name}.");
        unsuspend = "Resume";
        unsuspend_effect = "The object creates Jobs or pods again.";
        unsuspended(name: &str) = format!("Resumed {name}.");
        trigger = "Run now";
        trigger_effect = "Creates a Job from the template of the CronJob. The schedule does not change.";
        job_name = "Name of the Job";
        triggered(job: &str) = format!("Created the Job {job}.");
        evict = "Evict";
        evict_effect = "Kubernetes deletes the pod if its PodDisruptionBudgets allow the disruption. The controller of the pod creates a new pod.";
        evict_blocked(budgets: &str) = format!("These PodDisruptionBudgets allow no disruption now: {budgets}");
        evicted(name: &str) = format!("Evicted {name}.");
        debug = "Add container";
        debug_effect = "Adds an ephemeral container to the pod. Kubernetes cannot remove the container before the pod is deleted.";
        debug_name = "Name of the new container";
        debug_target = "Container whose processes are visible";
        debug_no_target = "None";
        debug_added(container: &str) = format!("Added the container {container}.");
        cordon = "Cordon";
        cordon_effect = "Kubernetes schedules no new pods on the node. Running pods stay.";
        cordoned(name: &str) = format!("Cordoned {name}.");
        uncordon = "Uncordon";
        uncordon_effect = "Kubernetes schedules pods on the node again.";
        uncordoned(name: &str) = format!("Uncordoned {name}.");
        save_taints = "Save taints";
        taints = "Taints";
        taints_help = "One taint per line: key=value:effect. The effects are NoSchedule, PreferNoSchedule and NoExecute.";
        taints_effect = "NoExecute evicts pods that do not tolerate the taint, regardless of PodDisruptionBudgets.";
        invalid_taint(line: &str) = format!("Not a taint: {line}. Example: dedicated=database:NoSchedule");
        duplicate_line(line: &str) = format!("Duplicate; remove this line: {line}");
        taints_saved(name: &str) = format!("Changed the taints of {name}.");
        save_labels = "Save labels";
        labels_help = "One label per line: key=value. Selectors of Services and controllers use labels.";
        invalid_label(line: &str) = format!("Not a label: {line}. Example: tier=web");
        labels_saved(name: &str) = format!("Changed the labels of {name}.");
        delete_effect = "This cannot be undone.";
        delete_dangerous(kind: &str) = match kind {
            "Namespace" => "Kubernetes deletes all objects in the namespace.".to_owned(),
            "CustomResourceDefinition" => "Kubernetes deletes all objects of the kind, in all namespaces.".to_owned(),
            "PersistentVolumeClaim" | "PersistentVolume" => "The data of the volume can be lost.".to_owned(),
            "Node" => "Kubernetes deletes the pods of the node. The kubelet of a running machine can register the node again.".to_owned(),
            "StatefulSet" => "The claims of the pods stay, unless the retention policy deletes the claims.".to_owned(),
            _ => "Other objects can depend on this object.".to_owned(),
        };
        cascade = "Dependents";
        cascade_background = "Delete in the background";
        cascade_foreground = "Delete before the object";
        cascade_orphan = "Keep";
        deleting(kind: &str, name: &str) = format!("Deleting {kind} {name}.");
        rejected_by_policy = "A quota or an admission policy of the cluster rejects the change. Change the values, or ask an owner of the cluster.";
        recreated = "The object was deleted and created again. Close the dialog and open the object again.";
        conflict = "The object was changed at the same time. Check the current state, and try again.";
        gone = "The object was deleted. Close the dialog and open the list.";
        invalid = "Change the values, and try again.";
        unknown_outcome = "The cluster can have applied the change. Check the object before you try again.";
        later = "Try again later.";
        undo = "Undo";
        undone(name: &str) = format!("Restored the previous state of {name}.");
        cannot_undo(reason: &str) = format!("Cannot undo the change: {reason}");
    }

    /// The drain of a node.
    drain: Drain {
        title(node: &str) = format!("Drain Node {node}");
        effect = "Cordons the node and evicts its pods. The drain runs on this page: keep the page open.";
        evicted = "Evicted: the controller creates a new pod on another node";
        finished = "Finished: deleted";
        empty_dir = "With an emptyDir volume: evicted, and the data is deleted";
        unmanaged = "Without a controller: evicted, and no controller creates the pod again";
        daemon_set = "Of a DaemonSet: stays on the node";
        mirror = "Mirror pod: stays on the node";
        budgets(names: &str) = format!("These PodDisruptionBudgets allow no disruption now: {names}. The drain retries until the budgets allow the eviction.");
        budgets_of_pod(names: &str) = format!(" (PodDisruptionBudget {names})");
        budgets_unknown(reason: &str) = format!("Cannot read the PodDisruptionBudgets: {reason}");
        delete_empty_dir = "Delete the data of emptyDir volumes";
        force = "Evict pods without a controller";
        nothing = "No pods to evict.";
        start = "Drain";
        pause = "Pause";
        resume = "Resume";
        stop = "Cancel drain";
        progress_label = "Drained pods";
        progress(done: usize, count: usize) = format!("{done} of {pods}", pods = counted(count, "pod", "pods"));
        waiting = "waiting";
        blocked(reason: &str) = format!("blocked, retrying: {reason}");
        terminating = "terminating";
        gone = "gone";
        failed(reason: &str) = format!("failed: {reason}");
        timeout = "The pod did not leave the node in time. Check its finalizers and its PodDisruptionBudgets, and drain the node again.";
        cancelled = "The drain was cancelled. The node stays cordoned.";
        complete(node: &str) = format!("Drained {node}. The node stays cordoned.");
        incomplete = "Some pods are still on the node. Check the errors, and drain the node again.";
    }

    /// The history of an object.
    history: ObjectHistory {
        history = "History";
        help = "The server records versions while a user views this tab or a list of this kind. It keeps up to 20 versions for 7 days, until it restarts.";
        no_kind = "No history of this kind";
        no_kind_advice(kinds: &str) = format!("The server records only kinds that users configure: {kinds}. It records no other objects, because controllers change most of them often, and never Secrets.");
        only_one = "No changes recorded yet. The list contains the first version that the server read.";
        first = "First recorded version";
        deleted = "Deleted";
        recreated = "Deleted and created again";
        too_large = "The version is larger than 512 KiB, so its content was not stored.";
        last_manager(managers: &str) = format!("Last changed by {managers}");
        user_with(users: &str, managers: &str) = format!("{users} with {managers}");
        unknown = "Unknown author";
        added(path: &str, value: &str) = format!("{path} added: {value}");
        removed(path: &str, value: &str) = format!("{path} removed: {value}");
        further(count: usize) = format!("and {}", counted(count, "further changed field", "further changed fields"));
        show_diff = "Show changes";
        hide_diff = "Hide changes";
        show_object = "Show version";
        hide_object = "Hide version";
        versions = "Versions";
        revert = "Revert to this version…";
        reverting(time: &LocalTime) = format!("The editor contains the version of {time}. Review the changes before you save.");
        the_history = "the history";
        not_reverted = "Cannot create the manifest of this version.";
    }

    /// The editor of manifests.
    editor: Editor {
        edit = "Edit";
        label(name: &str) = format!("Manifest of {name}");
        cannot_load = "Cannot load the editor. Reload the page.";
        review = "Review changes";
        review_title = "Changes after validation by the cluster";
        no_changes = "The cluster would not change the object.";
        back = "Back to the editor";
        save = "Save";
        cancel = "Cancel";
        saved(name: &str) = format!("Saved {name}.");
        merged = "The object was changed in the cluster. The editor contains the changes of the cluster and your changes. Review the changes again.";
        conflicts(count: usize) = format!("The object was changed in the cluster, and {} with your changes. Choose the lines between the markers <<<<<<< and >>>>>>>, and remove the markers.", match count {
            1 => "1 change conflicts".to_owned(),
            count => format!("{count} changes conflict"),
        });
        unresolved = "The text contains conflict markers. Choose the lines between <<<<<<< and >>>>>>>, and remove the markers.";
        keyboard = "Tab leaves the editor. Ctrl+Space completes fields. Ctrl+F opens the search.";
    }

    /// The creation of objects from manifests.
    create: Create {
        menu = "Create from YAML…";
        title(cluster: &str) = format!("Create objects in {cluster}");
        label = "Manifests";
        help = "Separate objects with lines that contain ---. Objects without a namespace are created in the namespace default.";
        create = "Create";
        done(count: usize) = format!("Created {}.", counted(count, "object", "objects"));
        invalid(number: usize, reason: &str) = format!("Document {number}: {reason}");
        missing_field(number: usize, field: &str) = format!("Document {number}: the field {field} is missing.");
        no_objects = "Enter the manifest of an object.";
        not_served(kind: &str, version: &str) = format!("The cluster does not serve the kind {kind} in {version}.");
        rejected = "The cluster rejects some objects. No object was created.";
        partial = "The cluster created only some objects. Remove the created objects from the text, and try again.";
        valid = "valid";
        created = "created";
        results = "Results";
    }

    /// The form that writes the manifests of a workload.
    workload_form: WorkloadFormTexts {
        title = "Write a workload with a form";
        write = "Write YAML";
        replicas = "Replicas";
        port = "Port";
        port_help = "A Service makes the port available in the cluster. Leave the field empty for no port.";
        schedule = "Schedule";
        schedule_help = "Minute, hour, day, month and weekday, for example 0 3 * * *, or @daily";
        shell_command = "Command";
        command_help = "A shell in the container runs the command. Leave the field empty to run the program of the image.";
        variables = "Environment variables";
        variables_help = "One per line: NAME=value";
        cpu = "Requested CPU";
        cpu_help = "For example 100m";
        memory = "Memory";
        memory_help = "Request and limit, for example 128Mi";
        invalid_name = "Use at most 63 lowercase letters, digits and hyphens. Start and end with a letter or a digit.";
        invalid_service_name = "A port needs a Service, whose name starts with a letter. Start the name with a letter.";
        invalid_image = "Enter an image, for example nginx:1.27";
        invalid_replicas = "Enter a number from 0 to 65535";
        invalid_port = "Enter a number from 1 to 65535";
        invalid_schedule = "Enter five fields, for example 0 3 * * *, or a name such as @daily";
        invalid_amount = "Enter an amount above 0, for example 100m or 128Mi";
    }

    /// Texts that name the permission that an action requires.
    rights: Rights {
        import_clusters = "Requires the permission: create clusters (global role Import Clusters)";
        update_cluster = "Requires the permission: update this cluster (role Cluster Owner)";
        update_clusters = "Requires the permission: update clusters on the hub (global role Administrator)";
        delete_cluster = "Requires the permission: delete clusters (role Cluster Owner)";
        list_users = "Requires the permission: list users (global role Manage Users)";
        create_users = "Requires the permission: create users (global role Manage Users)";
        update_user = "Requires the permission: update users (global role Manage Users). Only administrators can change administrators";
        set_password = "Requires the permission: update users (global role Manage Users), and all permissions of this user";
        delete_user = "Requires the permission: delete users (global role Manage Users). Only administrators can delete administrators";
        list_providers = "Requires the permission: list authproviders (global role Viewer)";
        list_settings = "Requires the permission: list settings (global role Viewer)";
        update_settings = "Requires the permission: update settings (global role Administrator)";
        administer = "Requires the global role Administrator";
    }
}
